"""Text of MLIR, line by line, and the values that a region sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random

LARGEST = 2.0  # of what memory, or a value that a loop carries, holds


@dataclass(frozen=True)
class Float:
    """A float whose absolute value is at most `bound`."""

    name: str
    type: str
    bound: float = LARGEST


@dataclass(frozen=True)
class Index:
    """An index in [low, high]; `is_affine` if affine maps may take it as a dimension."""

    name: str
    low: int
    high: int
    is_affine: bool = False


@dataclass(frozen=True)
class Memory:
    """A memref: `extents` are those of a run, `is_open` says which the type leaves out, `base` is
    the allocation that it is a view of. A stride or an offset is None if the type leaves it out;
    there are no strides if elements lie row by row."""

    name: str
    element: str
    extents: tuple[int, ...]
    is_open: tuple[bool, ...]
    base: str
    strides: tuple[int | None, ...] | None = None
    offset: int | None = 0
    is_result: bool = False  # an allocation that a function may return
    has_twins: bool = False  # two indices may be the same element

    @property
    def type(self) -> str:
        """The type in MLIR."""
        shape = "".join(f"{'?' if o else e}x" for e, o in zip(self.extents, self.is_open))
        if self.strides is None:
            return f"memref<{shape}{self.element}>"
        strides = ", ".join("?" if s is None else str(s) for s in self.strides)
        offset = "?" if self.offset is None else str(self.offset)
        place = f", offset: {offset}" if offset != "0" else ""
        return f"memref<{shape}{self.element}, strided<[{strides}]{place}>>"

    @property
    def steps(self) -> tuple[int | None, ...]:
        """The stride of each axis, as far as the type says it."""
        if self.strides is not None:
            return self.strides
        steps: list[int | None] = []
        step: int | None = 1
        for extent, is_open in reversed(list(zip(self.extents, self.is_open))):
            steps.insert(0, step)
            step = None if is_open or step is None else step * extent
        return tuple(steps)

    @property
    def size(self) -> int:
        """The number of elements."""
        total = 1
        for extent in self.extents:
            total *= extent
        return total


@dataclass(frozen=True)
class Scope:
    """What a region may use; `targets` are the memories that it may write to."""

    floats: list[Float] = field(default_factory=list)
    indices: list[Index] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    targets: list[Memory] = field(default_factory=list)
    integers: list[Memory] = field(default_factory=list)  # lines of indices
    is_parallel: bool = False
    depth: int = 0

    def inner(self, *, indices: Sequence[Index] = (), floats: Sequence[Float] = ()) -> Scope:
        """Return the scope of a region in this one."""
        return replace(
            self,
            floats=[*self.floats, *floats],
            indices=[*self.indices, *indices],
            memories=list(self.memories),
            targets=list(self.targets),
            depth=self.depth + 1,
        )

    def parallel(self, base: str, indices: Sequence[Index]) -> Scope:
        """Return the scope of iterations that write to no memory of this one, and read none of an
        allocation."""
        memories = [memory for memory in self.memories if memory.base != base]
        return replace(self.inner(indices=indices), memories=memories, targets=[], is_parallel=True)


class Writer:
    """The lines of a module so far."""

    def __init__(self, number: int) -> None:
        self.random = Random(number)
        self.lines: list[str] = []
        self._level, self._count = 0, 0

    def name(self) -> str:
        """Return a name for a value."""
        self._count += 1
        return f"%v{self._count}"

    def emit(self, text: str) -> None:
        """Write a line."""
        self.lines.append("  " * self._level + text)

    def value(self, text: str) -> str:
        """Write an operation with a result; its name."""
        name = self.name()
        self.emit(f"{name} = {text}")
        return name

    @contextmanager
    def block(self, first: str, last: str = "}") -> Iterator[None]:
        """Write what is done inside between two lines."""
        self.emit(first)
        self._level += 1
        yield
        self._level -= 1
        self.emit(last)

    @contextmanager
    def block_after(self) -> Iterator[None]:
        """Write what is done inside behind the first line of a region, which is written."""
        self._level += 1
        yield
        self._level -= 1
        self.emit("}")

    def chance(self, share: float) -> bool:
        """Return whether something of that probability happens."""
        return self.random.random() < share

    def index(self, number: int) -> str:
        """Write an index; its name."""
        return self.value(f"arith.constant {number} : index")

    def float(self, type_: str, low: float = -1.5, high: float = 1.5) -> Float:
        """Write a constant between two numbers."""
        number = round(self.random.uniform(low, high), 3)
        name = self.value(f"arith.constant {number:.3f} : {type_}")
        return Float(name, type_, abs(number))

    @property
    def text(self) -> str:
        """The module."""
        return "\n".join(self.lines) + "\n"
