"""mlirad: differentiable programming for simulation in Python, compiled through MLIR.

import mlirad as ti

ti.init()
x = ti.field(ti.f32, shape=16, needs_grad=True)
loss = ti.field(ti.f32, shape=(), needs_grad=True)

@ti.kernel
def compute():
    for i in x:  # the outermost loop runs in parallel
        loss[None] += (x[i] - 1.0) ** 2

with ti.ad.Tape(loss):
    compute()
print(x.grad.to_numpy())  # the derivative of the loss with respect to each x[i]: -2
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from mlirad import loading as _loading

# isort: split
from mlirad import ad
from mlirad.errors import (
    TaichiAssertionError,
    TaichiCompilationError,
    TaichiIndexError,
    TaichiMemoryError,
    TaichiNameError,
    TaichiRuntimeError,
    TaichiRuntimeTypeError,
    TaichiSyntaxError,
    TaichiTypeError,
)
from mlirad.frontend.python.calls.sparse import *
from mlirad.frontend.python.calls.specials import *
from mlirad.frontend.python.values.annotations import Reference as ref
from mlirad.frontend.python.values.elementary import *
from mlirad.frontend.python.values.functions import (
    abs,
    bit_cast,
    bit_not,
    bit_shr,
    cast,
    ceil,
    floor,
    logical_and,
    logical_not,
    logical_or,
    max,
    min,
    one,
    pow,
    randn,
    random,
    raw_div,
    raw_mod,
    round,
    select,
    trunc,
    zero,
)
from mlirad.lang import graph
from mlirad.lang import sparse_grids as sparse
from mlirad.lang import types_namespace as types
from mlirad.lang.arguments.packs import ArgPack
from mlirad.lang.colours import hex_to_rgb, rgb_to_hex
from mlirad.lang.field.declaration import field
from mlirad.lang.field.kinds import Field, MatrixField, ScalarField
from mlirad.lang.field.struct_field import StructField
from mlirad.lang.kernels.kernel import data_oriented, func, kernel, real_func
from mlirad.lang.layout.axes import NAMED_AXES as _NAMED_AXES
from mlirad.lang.layout.axes import axes
from mlirad.lang.layout.builder import FieldsBuilder
from mlirad.lang.layout.deactivation import deactivate_all_snodes
from mlirad.lang.layout.member_order import Layout
from mlirad.lang.layout.tree import SNode
from mlirad.lang.math import functions as math
from mlirad.lang.math.decompositions import eig, polar_decompose, solve, svd, sym_eig
from mlirad.lang.matrix import Matrix, Vector
from mlirad.lang.ndarray import Ndarray, ndarray
from mlirad.lang.start import (
    amdgpu,
    arm64,
    cpu,
    cuda,
    dx11,
    dx12,
    gles,
    gpu,
    init,
    metal,
    opengl,
    python,
    reset,
    root,
    simt,
    sync,
    vulkan,
    x64,
)
from mlirad.lang.struct import Struct, dataclass
from mlirad.lang.taichi_names import extension
from mlirad.lang.taichi_names import register as _register
from mlirad.types import f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64

if _TYPE_CHECKING:
    from mlirad import algorithms, linalg, profiler, tools, ui
    from mlirad.gui.gui import GUI

__version__ = "0.1.0"
# loaded when they are asked for
_LATER = {
    "GUI": "gui.gui",
    "algorithms": "algorithms",
    "linalg": "linalg",
    "mlir": "mlir",
    "profiler": "profiler",
    "tools": "tools",
    "ui": "ui",
}
_MISSING = {
    "Format": "textures",
    "MeshInstance": "meshes",
    "Texture": "textures",
    "mesh_local": "meshes",
}

template = types.template
pyfunc = func
uint1 = u1
x86_64 = x64
ScalarNdarray = VectorNdarray = MatrixNdarray = Ndarray
float16, float32, float64 = f16, f32, f64
int8, int16, int32, int64 = i8, i16, i32, i64
uint8, uint16, uint32, uint64 = u8, u16, u32, u64
TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL = "trace", "debug", "info", "warn", "error", "critical"
clear_all_gradients = ad.clear_all_gradients
Tape = ad.Tape
globals().update(_NAMED_AXES)
_register(__name__)
_PUBLIC_MODULES = ("ad", "graph", "math", "sparse", "types")
__all__ = sorted([*_loading.public_names(globals()), *_PUBLIC_MODULES, *_LATER])


def __getattr__(name: str) -> _Any:
    if name in _MISSING:
        raise AttributeError(f"ti.{name}: mlirad has no {_MISSING[name]} (docs/compatibility.md)")
    if name not in _LATER:
        from mlirad.lang.names_elsewhere import CURES

        if name in CURES:
            raise AttributeError(f"ti has no '{name}': {CURES[name]}", name=name)
    return _loading.later(__name__, _LATER, name)


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
