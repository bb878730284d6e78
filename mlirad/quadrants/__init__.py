"""`import mlirad.quadrants as qd`: Quadrants' names, on top of mlirad's."""

from importlib import import_module as _import_module
from typing import Any as _Any

import mlirad as _mlirad
from mlirad import loading as _loading

# isort: split
from mlirad.frontend.python.translation.graphs import checkpoint_part as checkpoint
from mlirad.frontend.python.translation.graphs import stream_parallel
from mlirad.lang.kernels.streams import Event, Stream
from mlirad.lang.start import reset, sync
from mlirad.lang.taichi_names import register as _register
from mlirad.lang.tensors import *
from mlirad.quadrants import graph, types
from mlirad.quadrants import machines as _machines
from mlirad.quadrants.dispatch import perf_dispatch
from mlirad.quadrants.exceptions import *
from mlirad.quadrants.inner_names import inner_modules as _inner_modules
from mlirad.quadrants.inner_names import is_extension_enabled
from mlirad.quadrants.kernels import func, kernel, pure, real_func
from mlirad.quadrants.machines import *

__version__ = (1, 3, 3)  # of the Quadrants whose names these are
__version_str__ = ".".join(map(str, __version__))
_LATER = {"algorithms", "linalg", "profiler", "tools", "GUI", "ui", "mlir"}
_WHEN_USED = {
    "GraphStatus": "mlirad.quadrants.checkpoints",
    "BufferView": "mlirad.lang.buffer_view",
    "clock_counter": "mlirad.quadrants.clocks",
    "clock_freq_hz": "mlirad.quadrants.clocks",
}
_MISSING = {
    "BitpackedFields": "types of few bits",
    "Mesh": "meshes",
    "MeshInstance": "meshes",
    "make_spd": "projections to positive matrices",
    "mesh_local": "meshes",
    "mesh_patch_idx": "meshes",
    "volatile_load": "volatile loads: atomics are seen by other threads",
}
_TAICHI_ONLY = ("Taichi", "vulkan", "opengl", "gles", "dx1")
globals().update(
    {
        name: getattr(_mlirad, name)
        for name in _mlirad.__all__
        if name not in _LATER and name not in globals() and not name.startswith(_TAICHI_ONLY)
    }
)
Template = types.Template
graph_do_while, graph_parallel = graph.do_while, graph.parallel
graph_parallel_context = graph.parallel_context
create_event, create_stream = Event, Stream
_Tensor, _VectorTensor, _MatrixTensor, _wrap = Tensor, VectorTensor, MatrixTensor, wrap
pyfunc = func
_register(__name__, _inner_modules(__name__))
__all__ = [*_loading.public_names(globals()), "ad", "math", "sparse", "types"]


def __getattr__(name: str) -> _Any:
    if name in _LATER:
        return getattr(_mlirad, name)
    if name in _WHEN_USED:
        return getattr(_import_module(_WHEN_USED[name]), name)
    if name == "cfg":
        return _machines.current_config()
    if name in _MISSING:
        raise AttributeError(f"qd.{name}: mlirad has no {_MISSING[name]}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
