"""Layout trees as a user builds them: `ti.root.dense(ti.ij, (n, m)).place(x, y)`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Self

from mlirad.bindings import ir
from mlirad.dialect import snode
from mlirad.dialect.field_layout import Kind
from mlirad.dialect.layout_rules import extents_along
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiCompilationError, TaichiRuntimeError, TaichiTypeError
from mlirad.frontend.python.places.blocks import BlockRef
from mlirad.lang.layout.axes import Axes, Shape, numbers_of, sizes_of
from mlirad.lang.layout.kernel_blocks import block_ref
from mlirad.runtime.derivative_kind import ADJOINT, DerivativeKind, tangent
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.program import Program
from mlirad.types import DataType

Offset = int | Sequence[int] | None  # of indices, as users give it


class SNode:
    """A block of a layout tree: the root, or cells along some axes."""

    def __init__(
        self,
        program: Program,
        parent: SNode | None,
        axes_: tuple[int, ...],
        extents: tuple[int, ...],
        kind: Kind = Kind.DENSE,
    ) -> None:
        self.program, self.parent_node, self.axes, self.extents = program, parent, axes_, extents
        self.kind = kind
        # the field of which cells are active
        self.activity = program.trees.unique_name(f"${kind.value}") if kind.is_sparse else None
        self.children: list[SNode | Leaf] = []

    def dense(self, axes_: Axes | Sequence[Axes], dimensions: Shape) -> SNode:
        """Return a new dense block along some axes. `dimensions` is one extent for all axes, or one
        for each."""
        return self._block(Kind.DENSE, axes_, dimensions)

    def pointer(self, axes_: Axes | Sequence[Axes], dimensions: Shape) -> SNode:
        """Return a new block whose cells are inactive, and 0, until they are written."""
        return self._block(Kind.POINTER, axes_, dimensions)

    def bitmasked(self, axes_: Axes | Sequence[Axes], dimensions: Shape) -> SNode:
        """Return a new block whose cells are inactive until they are written. A deactivated cell
        keeps its values."""
        return self._block(Kind.BITMASKED, axes_, dimensions)

    def dynamic(
        self, axis: Axes | Sequence[Axes], dimension: Shape, chunk_size: int | None = None
    ) -> SNode:
        """Return a new block that holds a list of at most `dimension` items in each cell, along one
        axis. `chunk_size` has no effect: memory is allocated in pages."""
        return self._block(Kind.DYNAMIC, axis, dimension)

    @in_turn
    def _block(self, kind: Kind, axes_: Axes | Sequence[Axes], dimensions: Shape) -> SNode:
        numbers = numbers_of(axes_)
        if kind is Kind.DYNAMIC and len(numbers) != 1:
            raise TaichiRuntimeError(f"expected one axis for a dynamic block, got {len(numbers)}")
        sizes = sizes_of(dimensions)
        if len(sizes) == 1:
            sizes = sizes * len(numbers)
        if len(sizes) != len(numbers):
            raise TaichiRuntimeError(
                f"expected {len(numbers)} dimensions, one for each axis, got {len(sizes)}"
            )
        child = SNode(self.program, self, numbers, sizes, kind)
        self.children.append(child)
        self.root.schedule()
        return child

    def declaration(self, children: Sequence[ir.Operation]) -> ir.Operation:
        """The op of this block, around those of its children."""
        if self.activity is None:
            return snode.dense(self.axes, self.extents, children)
        name = f"snode.{self.kind.value}"
        return snode.sparse(name, self.axes, self.extents, self.activity, children)

    @in_turn
    def place(
        self, *fields: Leaf | LeafGroup | Sequence[Leaf | LeafGroup], offset: Offset = None
    ) -> SNode:
        """Place fields, or their gradients, in every cell. `offset` shifts their indices.

        The gradient of a field that may be inactive is stored with the gradients that you did not
        place. It can be nonzero only at elements whose field is active.
        """
        for field in [leaf for argument in fields for leaf in _leaves_of(argument)]:
            if self.is_sparse and isinstance(field, Leaf) and field.primal is not None:
                field.primal.want(field.kind)
                continue
            field.put_into(self, offset)
            self.children.append(field)
        self.root.schedule()
        return self

    def lazy_grad(self) -> None:
        """Give every float field below that has no gradient one with the layout of the field."""
        for field in self.fields():
            field.want(ADJOINT)

    def lazy_dual(self) -> None:
        """Give every float field below that has no dual one with the layout of the field."""
        for field in self.fields():
            field.want(tangent(0))

    def fields(self) -> Iterator[Leaf]:
        """Yield the fields placed below this block."""
        for child in self.children:
            if isinstance(child, SNode):
                yield from child.fields()
            else:
                yield child

    def sparse_blocks(self) -> Iterator[SNode]:
        """Yield this block and those below it that track activity, outermost first."""
        if self.activity is not None:
            yield self
        for child in self.children:
            if isinstance(child, SNode):
                yield from child.sparse_blocks()

    def parent(self, n: int = 1) -> SNode | None:
        """Return the block `n` levels up, or None above the root."""
        node: SNode = self
        for _ in range(n):
            if node.parent_node is None:
                return None
            node = node.parent_node
        return node

    def path(self) -> list[SNode]:
        """Return the blocks from below the root down to this one."""
        above = [] if self.parent_node is None else self.parent_node.path()
        return above + ([] if self.parent_node is None else [self])

    @property
    def is_sparse(self) -> bool:
        """Return whether this block, or a block around it, may have inactive cells."""
        return any(node.kind.is_sparse for node in self.path())

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of cells along each index axis, down to this block."""
        sizes = extents_along((node.axes, node.extents) for node in self.path())
        return tuple(sizes[axis] for axis in sorted(sizes))

    @property
    def root(self) -> SNode:
        """Return the root of the tree."""
        return self if self.parent_node is None else self.parent_node.root

    def loop_range(self) -> Self:
        """Return what a loop over the active cells of this block iterates over: the block
        itself."""
        return self

    def deactivate_all(self) -> None:
        """Deactivate all cells of this block and of the blocks below it. The values in cells of
        pointer and dynamic blocks become 0."""
        self.program.trees.deactivate(self)

    def __kernel_block__(self) -> BlockRef:
        """This block, in the kernel that is being compiled."""
        leaves = [child for child in self.children if not isinstance(child, SNode)]
        return block_ref(
            self.program,
            self.path(),
            self.shape,
            lambda: leaves,
            lambda: [field for field in self.fields() if field.memory is not None],
        )

    def __repr__(self) -> str:
        return f"<ti.SNode of type {self.kind.value if self.parent_node else 'root'}>"

    def __str__(self) -> str:
        blocks = [f"{node.kind.value} {list(node.shape)}" for node in self.path()]
        return " => ".join(["ti.root", *blocks])

    def schedule(self) -> None:
        """Allocate new fields below this root before the next access."""


class Leaf(ABC):
    """A field, as the cells of a block hold it, with the derivatives that were asked for."""

    symbol: str
    program: Program
    dtype: DataType
    element_shape: tuple[int, ...]
    primal: Self | None  # of which this is a derivative

    def __init__(self) -> None:
        self.placed_in: SNode | None = None
        self.offset: tuple[int, ...] = ()
        self.memory: FieldMemory | None = None
        self.destroyed = False
        self.wanted: set[DerivativeKind] = set()
        self.derived: dict[DerivativeKind, Self] = {}

    @abstractmethod
    def put_into(self, node: SNode, offset: Offset) -> None:
        """Note the block that holds this. Raises TaichiRuntimeError when it already has one."""

    @property
    def kind(self) -> DerivativeKind:
        """Return the kind of derivative of its primal that this field is."""
        assert self.primal is not None
        return next(kind for kind, derivative in self.primal.derived.items() if derivative is self)

    @abstractmethod
    def want(self, kind: DerivativeKind) -> None:
        """Ask for a derivative, which is placed where the field is."""

    @abstractmethod
    def attach(self, memory: FieldMemory, declare: Callable[[], object]) -> None:
        """Take the memory that was allocated for this; `declare` makes its tree at the insertion
        point."""

    @abstractmethod
    def fill(self, value: Any) -> None:
        """Set every element."""

    @abstractmethod
    def declaration(self) -> ir.Operation:
        """The `snode.place` of this."""

    @abstractmethod
    def __kernel_ref__(self) -> object:
        """The array of this inside a kernel."""

    @abstractmethod
    def _derive(self, kind: DerivativeKind) -> Self:
        """A new field for a derivative."""

    # Derivatives.

    @property
    def is_dual(self) -> bool:
        """Return whether the elements are tangents."""
        return self.primal is not None and self.kind.is_tangent

    @property
    def is_gradient(self) -> bool:
        """Return whether the elements are the adjoints that programs see."""
        return self.primal is not None and self.primal.derived.get(ADJOINT) is self

    def derivative(self, kind: DerivativeKind) -> Self:
        """The field of a derivative, placed or not."""
        if kind.is_of_gradient:
            return self.derivative(ADJOINT).derivative(kind.alone)
        derivative = self.derived.get(kind)
        return derivative if derivative is not None else self._derive(kind)

    def existing(self, kind: DerivativeKind) -> Self | None:
        """The derivative, where it was ever spoken of."""
        if kind.is_of_gradient:
            adjoint = self.derived.get(ADJOINT)
            return None if adjoint is None else adjoint.existing(kind.alone)
        return self.derived.get(kind)

    def has(self, kind: DerivativeKind) -> bool:
        """Return whether a derivative is placed or asked for."""
        derivative = self.derived.get(kind)
        return kind in self.wanted or (derivative is not None and derivative.placed_in is not None)

    def missing_derivative(self, kind: DerivativeKind) -> Self | None:
        """The derivative that was asked for and has no memory yet."""
        if kind not in self.wanted:
            return None
        other = self.derivative(kind)
        is_new = other.memory is None and other.placed_in is None and not other.destroyed
        return other if is_new else None

    def tangents(self) -> list[Self]:
        """The duals that have memory, the first to the last."""
        duals: list[Self] = []
        while (
            dual := self.derived.get(tangent(len(duals)))
        ) is not None and dual.memory is not None:
            duals.append(dual)
        return duals

    def with_derivatives(self) -> Iterator[Self]:
        """Yield this leaf and every derivative that was created."""
        yield self
        for derivative in self.derived.values():
            yield from derivative.with_derivatives()


def offset_in(node: SNode, offset: int | Sequence[int]) -> tuple[int, ...]:
    """An offset of indices, an integer for each axis of a block. Raises TaichiCompilationError for
    another number of them."""
    shape, start = node.shape, (offset,) if isinstance(offset, int) else tuple(offset)
    if len(start) != len(shape):
        raise TaichiCompilationError(
            "The dimensionality of shape and offset must be the same "
            f"({len(shape)} != {len(start)})"
        )
    return start


class LeafGroup(ABC):
    """Fields that are placed together."""

    @abstractmethod
    def __leaves__(self) -> list[Leaf]:
        """The fields, in order."""


def _leaves_of(value: Any) -> list[Leaf]:
    if isinstance(value, LeafGroup):
        return value.__leaves__()
    if isinstance(value, list | tuple):
        return [leaf for entry in value for leaf in _leaves_of(entry)]
    if not hasattr(value, "put_into"):
        raise TaichiTypeError(f"expected a field to place, got {type(value).__name__}")
    return [value]
