"""`ti.graph`: sequences of launches that are built once and run with named arguments."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from mlirad.checks import instance, integer, text
from mlirad.errors import TaichiRuntimeError, TaichiTypeError, did_you_mean
from mlirad.lang.kernels.kernel import Kernel
from mlirad.runtime.program import program

if TYPE_CHECKING:
    from mlirad.types import TypeLike


class ArgKind(Enum):
    """The kind of an argument: a number, a matrix or an array."""

    SCALAR = 0
    MATRIX = 1
    NDARRAY = 2


class Arg:
    """A named argument of a graph, which its launches share: a number, a matrix or an array.

    The declared types are not checked. Each run checks its arguments against the parameters of the
    kernels.
    """

    def __init__(
        self,
        tag: ArgKind,
        name: str,
        dtype: TypeLike | None = None,
        ndim: int | None = None,
        field_dim: int | None = None,
        element_shape: tuple[int, ...] = (),
        **_: object,
    ) -> None:
        self.tag, self.name, self.dtype = tag, text(name, "an argument's name"), dtype
        self.ndim = ndim if ndim is not None else field_dim
        axes = instance(element_shape, tuple | list, "element_shape", "a tuple of integers")
        self.element_shape = tuple(integer(extent, "element_shape", low=0) for extent in axes)


class Sequential:
    """Launches in order."""

    def __init__(self) -> None:
        self.launches: list[tuple[Kernel, tuple[Any, ...]]] = []

    def dispatch(self, kernel: Kernel, *args: Any) -> None:
        """Add the launch of a kernel. Raises TaichiTypeError for what is none."""
        if not isinstance(kernel, Kernel):
            raise TaichiTypeError(
                f"a graph launches kernels: expected a kernel, got {type(kernel).__name__}"
            )
        self.launches.append((kernel, args))

    def append(self, other: Sequential) -> None:
        """Add the launches of another sequence. Raises TaichiTypeError for what is none."""
        self.launches += instance(other, Sequential, "what is appended", "a sequence").launches


class GraphBuilder(Sequential):
    """A graph under construction. `dispatch(kernel, *args)` adds a launch, `append(sequence)` adds
    the launches of a sequence. An argument is a value, or an `Arg` that stands for one that `run`
    is given."""

    def create_sequential(self) -> Sequential:
        """Return an empty sequence, which can be added several times."""
        return Sequential()

    def compile(self) -> Graph:
        """Return the graph of the launches added so far."""
        return Graph(self.launches)


class Graph:
    """A sequence of launches that `run` repeats. A tape records them like any others."""

    def __init__(self, launches: list[tuple[Kernel, tuple[Any, ...]]]) -> None:
        self._launches = list(launches)
        self._names = {a.name for _, args in launches for a in args if isinstance(a, Arg)}

    def run(self, args: Mapping[str, Any]) -> None:
        """Launch all kernels.

        Args:
            args: the arguments by name.

        Raises:
            TaichiRuntimeError: a name is missing or unknown.
            TaichiTypeError: `args` is not a dictionary of arguments by name.
        """
        instance(args, Mapping, "the arguments of a graph", "a dictionary by name")
        for name in args.keys() - self._names:
            raise TaichiRuntimeError(
                f"the graph has no argument '{name}'{did_you_mean(name, self._names)}"
            )
        for name in self._names - args.keys():
            raise TaichiRuntimeError(f"Missing runtime value for {name}: an argument of the graph")
        executor = program().executor
        executor.begin_sequence()
        try:
            for kernel, arguments in self._launches:
                kernel(*[args[a.name] if isinstance(a, Arg) else a for a in arguments])
        finally:
            executor.end_sequence()


__all__ = ["Arg", "ArgKind", "Graph", "GraphBuilder"]


def __dir__() -> list[str]:
    return __all__
