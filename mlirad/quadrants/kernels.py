"""`qd.kernel` and `qd.func`, with their options."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from mlirad.errors import TaichiSyntaxError
from mlirad.frontend.python.kernel import IS_GRAPH
from mlirad.frontend.python.source.function import Function
from mlirad.frontend.python.values.annotations import evaluate_annotations
from mlirad.lang.kernels.kernel import Kernel, real_func
from mlirad.quadrants.dispatch import IS_IMPLEMENTATION
from mlirad.runtime.program import program

IS_FASTCACHE = "__is_fastcache__"  # of a function whose kernel says where its code came from


class QuadrantsKernel(Kernel):
    """A kernel of which programs ask what was compiled and passed."""

    @property
    def _primal(self) -> Any:
        from mlirad.quadrants.statistics import KernelStatistics

        return KernelStatistics(self, is_fastcache=getattr(self.function, IS_FASTCACHE, False))


class GraphKernel(QuadrantsKernel):
    """A kernel whose loops a GPU is given together, once it has been launched before."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        executor = program().executor
        executor.begin_sequence()
        try:
            return super().__call__(*args, **kwargs)
        finally:
            executor.end_sequence()


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    pure: bool = False,
    fastcache: bool = False,
    graph: bool = False,
    gpu_graph: bool = False,
    checkpoints: bool = False,
) -> Any:
    """Compile a function when it is called, as `ti.kernel` does. `fastcache` (once `pure`) has
    `kernel._primal` say where the code came from: compiled kernels are kept on disk anyway. With
    `graph` it may have the parts of `qd.graph`; every kernel is launched by one call. With
    `checkpoints` launches may pause, see `PausingKernel`. Raises TaichiSyntaxError for a graph that
    returns something, and for `checkpoints` without `graph`."""
    is_graph = graph or gpu_graph
    if checkpoints and not is_graph:
        raise TaichiSyntaxError("@qd.kernel(checkpoints=True) requires graph=True")

    def mark(function: Callable[..., Any]) -> Any:
        if getattr(function, IS_IMPLEMENTATION, False):
            raise TaichiSyntaxError(
                f"KERNEL_ANNOTATION_ORDER: '{function.__name__}' is registered before it is a "
                "kernel: write register above @qd.kernel"
            )
        evaluate_annotations(function, sys._getframe(depth))
        if is_graph:
            refuse_results(function)
            setattr(function, IS_GRAPH, True)
        setattr(function, IS_FASTCACHE, pure or fastcache)
        if not checkpoints:
            return GraphKernel(function) if is_graph else QuadrantsKernel(function)
        from mlirad.quadrants.checkpoints import Checkpoints, PausingKernel

        passed = Checkpoints()
        setattr(function, IS_GRAPH, passed)
        return PausingKernel(QuadrantsKernel(function), passed)

    depth = 1 if function is None else 2
    return mark if function is None else mark(function)


def func(
    function: Callable[..., Any] | None = None,
    *,
    is_real_function: bool = False,
    requires_top_level: bool = False,
) -> Any:
    """Mark a function for use in kernels, as `ti.func` does, or (`is_real_function`) as
    `ti.real_func` does. One that `requires_top_level` is refused in loops and branches that are
    known only at run time."""

    def mark(function: Callable[..., Any]) -> Function:
        evaluate_annotations(function, sys._getframe(depth))
        marked = Function(function, is_real=is_real_function)
        marked.requires_top_level = requires_top_level
        return marked

    depth = 1 if function is None else 2
    return mark if function is None else mark(function)


def refuse_results(function: Callable[..., Any]) -> None:
    """Raise TaichiSyntaxError for a graph that returns something."""
    if function.__annotations__.get("return") is not None:
        raise TaichiSyntaxError(
            f"graph=True is not supported for kernels with a return value: '{function.__name__}'"
        )


def pure(kernel: Kernel) -> Kernel:
    """Mark a kernel as `fastcache` does, whose name this once was."""
    setattr(kernel.function, IS_FASTCACHE, True)
    return kernel


__all__ = ["func", "kernel", "pure", "real_func"]
