"""Quadrants' names, as type checkers see them: mlirad's, and those of its own."""

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, overload

from mlirad import errors
from mlirad.frontend.python.translation.graphs import GraphPart
from mlirad.frontend.python.translation.graphs import stream_parallel as stream_parallel
from mlirad.lang.buffer_view import BufferView as BufferView
from mlirad.lang.kernels.streams import Event as Event
from mlirad.lang.kernels.streams import Stream as Stream
from mlirad.lang.tensors import Backend as Backend
from mlirad.lang.tensors import MatrixTensor as MatrixTensor
from mlirad.lang.tensors import Tensor as Tensor
from mlirad.lang.tensors import VectorTensor as VectorTensor
from mlirad.lang.tensors import tensor as tensor
from mlirad.lang.tensors import wrap as wrap
from mlirad.quadrants import graph as graph
from mlirad.quadrants import types as types
from mlirad.quadrants.checkpoints import GraphStatus as GraphStatus
from mlirad.quadrants.clocks import clock_counter as clock_counter
from mlirad.quadrants.clocks import clock_freq_hz as clock_freq_hz
from mlirad.quadrants.dispatch import perf_dispatch as perf_dispatch
from mlirad.quadrants.inner_names import is_extension_enabled as is_extension_enabled
from mlirad.quadrants.kernels import pure as pure
from mlirad.quadrants.machines import amdgpu as amdgpu
from mlirad.quadrants.machines import arm64 as arm64
from mlirad.quadrants.machines import cpu as cpu
from mlirad.quadrants.machines import cuda as cuda
from mlirad.quadrants.machines import gpu as gpu
from mlirad.quadrants.machines import init as init
from mlirad.quadrants.machines import metal as metal
from mlirad.quadrants.machines import python as python
from mlirad.quadrants.machines import vulkan as vulkan
from mlirad.quadrants.machines import x64 as x64
from mlirad.typed.kernels import Function, Kernel
from mlirad.typed.shared import *

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")

__version__: tuple[int, int, int]
__version_str__: str
cfg: Any
checkpoint: GraphPart
graph_do_while: GraphPart
graph_parallel: GraphPart
graph_parallel_context: GraphPart
x86_64 = x64
create_event = Event
create_stream = Stream
Template: TypeAlias = Any
QuadrantsAssertionError = errors.TaichiAssertionError
QuadrantsCompilationError = errors.TaichiCompilationError
QuadrantsIndexError = errors.TaichiIndexError
QuadrantsNameError = errors.TaichiNameError
QuadrantsRuntimeError = errors.TaichiRuntimeError
QuadrantsRuntimeTypeError = errors.TaichiRuntimeTypeError
QuadrantsSyntaxError = errors.TaichiSyntaxError
QuadrantsTypeError = errors.TaichiTypeError

class QuadrantsKernel(Kernel[P, R]):
    @overload
    def __get__(self, owner: None, kind: object = None) -> QuadrantsKernel[P, R]: ...
    @overload
    def __get__(
        self: QuadrantsKernel[Concatenate[Any, Q], R], owner: object, kind: object = None
    ) -> QuadrantsKernel[Q, R]: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, *args: Any, qd_stream: Stream, **kwargs: Any) -> R: ...

@overload
def kernel(function: Callable[P, R]) -> QuadrantsKernel[P, R]: ...
@overload
def kernel(
    function: None = None,
    *,
    pure: bool = False,
    fastcache: bool = False,
    graph: bool = False,
    gpu_graph: bool = False,
    checkpoints: bool = False,
) -> Callable[[Callable[P, R]], QuadrantsKernel[P, R]]: ...
@overload
def func(function: Callable[P, R]) -> Function[P, R]: ...
@overload
def func(
    function: None = None, *, is_real_function: bool = False, requires_top_level: bool = False
) -> Callable[[Callable[P, R]], Function[P, R]]: ...

pyfunc = func
