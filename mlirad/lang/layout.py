"""Layout trees as a user builds them: `ti.root.dense(ti.ij, (n, m)).place(x, y)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mlirad.bindings import ir
from mlirad.dialect import snode
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.autodiff_mode import SNodeGradType
from mlirad.runtime.derivative_kind import ADJOINT, DerivativeKind, tangent
from mlirad.runtime.memory.field import allocate
from mlirad.runtime.program import Program, program

if TYPE_CHECKING:
    from mlirad.lang.field.field import Field


@dataclass(frozen=True)
class Axes:
    """Index axes, like `ti.ij`."""

    numbers: tuple[int, ...]


i, j, k, l = (Axes((n,)) for n in range(4))
NAMED_AXES = {
    name: Axes(tuple("ijkl".index(c) for c in name))
    for name in (
        "i",
        "j",
        "k",
        "l",
        "ij",
        "ik",
        "il",
        "ji",
        "jk",
        "jl",
        "ki",
        "kj",
        "kl",
        "li",
        "lj",
        "lk",
        "ijk",
        "ijl",
        "ikl",
        "jkl",
        "kij",
        "jki",
        "kji",
        "ikj",
        "jik",
        "ijkl",
    )
}


def axes(*numbers: int) -> Axes:
    """Axes by number."""
    return Axes(tuple(numbers))


def sizes_of(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple. Raises TaichiRuntimeError where an extent is not positive."""
    sizes = (shape,) if isinstance(shape, int | float | np.number) else tuple(shape)
    if any(int(size) != size for size in sizes):
        raise TaichiRuntimeError(f"the extents of a field must be integers, not {sizes}")
    if any(size <= 0 for size in sizes):
        raise TaichiRuntimeError(
            f"Every dimension of a Taichi field should be positive, not {sizes}"
        )
    return tuple(int(size) for size in sizes)


class SNode:
    """A block of a layout tree: the root, or cells over some axes."""

    def __init__(
        self,
        program: Program,
        parent: SNode | None,
        axes_: tuple[int, ...],
        extents: tuple[int, ...],
    ) -> None:
        self.program, self.parent_node, self.axes, self.extents = program, parent, axes_, extents
        self.children: list[SNode | Field] = []

    @in_turn
    def dense(self, axes_: Axes | Sequence[Axes], dimensions: Any) -> SNode:
        """A dense block over some axes. `dimensions` is one extent for all of them, or one for
        each."""
        numbers = (
            axes_.numbers if isinstance(axes_, Axes) else tuple(n for a in axes_ for n in a.numbers)
        )
        sizes = sizes_of(dimensions)
        if len(sizes) == 1:
            sizes = sizes * len(numbers)
        if len(sizes) != len(numbers):
            raise TaichiRuntimeError(f"{len(sizes)} dimensions for {len(numbers)} axes")
        child = SNode(self.program, self, numbers, sizes)
        self.children.append(child)
        self._changed()
        return child

    def pointer(self, *_: Any) -> SNode:
        raise TaichiRuntimeError("sparse layouts (pointer) are not supported yet")

    def bitmasked(self, *_: Any) -> SNode:
        raise TaichiRuntimeError("sparse layouts (bitmasked) are not supported yet")

    def dynamic(self, *_: Any) -> SNode:
        raise TaichiRuntimeError("sparse layouts (dynamic) are not supported yet")

    @in_turn
    def place(self, *fields: Any, offset: Any = None) -> SNode:
        """Put fields, or their gradients, into every cell. `offset` shifts their indices."""
        from_user = [
            f for item in fields for f in (item if isinstance(item, list | tuple) else [item])
        ]
        for field in from_user:
            field.put_into(self, offset)
            self.children.append(field)
        self._changed()
        return self

    def lazy_grad(self) -> None:
        """Give every float field below that has none a gradient, laid out as the field is."""
        for field in self.fields():
            field.want(ADJOINT)

    def lazy_dual(self) -> None:
        """Give every float field below that has none a dual, laid out as the field is."""
        for field in self.fields():
            field.want(tangent(0))

    def fields(self) -> Iterator[Field]:
        """The fields placed below."""
        for child in self.children:
            if isinstance(child, SNode):
                yield from child.fields()
            else:
                yield child

    def parent(self, n: int = 1) -> SNode | None:
        """The block `n` levels up, or None above the root."""
        node: SNode = self
        for _ in range(n):
            if node.parent_node is None:
                return None
            node = node.parent_node
        return node

    def path(self) -> list[SNode]:
        """The blocks from below the root to this one."""
        above = [] if self.parent_node is None else self.parent_node.path()
        return above + ([] if self.parent_node is None else [self])

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each index axis, down to this block."""
        sizes: dict[int, int] = {}
        for node in self.path():
            for axis, extent in zip(node.axes, node.extents):
                sizes[axis] = sizes.get(axis, 1) * extent
        return tuple(sizes[axis] for axis in sorted(sizes))

    def _changed(self) -> None:
        root = self
        while root.parent_node is not None:
            root = root.parent_node
        if isinstance(root, Root):
            root.schedule()


class PlacedField:
    """A field as the leaf of a layout tree."""

    def __init__(self, field: Field, block: SNode) -> None:
        self.field, self.block = field, block

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each index axis."""
        return self.block.shape

    @property
    def _name(self) -> str:
        return self.field.symbol

    @property
    def ptr(self) -> PlacedField:
        """This leaf, as programs that know Taichi's insides ask for it."""
        return self

    def get_snode_grad_type(self) -> SNodeGradType:
        """Whether this is a field, its gradient or its dual."""
        primal = self.field.primal
        if primal is None:
            return SNodeGradType.PRIMAL
        return (
            SNodeGradType.ADJOINT if primal.existing(ADJOINT) is self.field else SNodeGradType.DUAL
        )

    def has_adjoint_checkbit(self) -> bool:
        """Whether `ti.ad.Tape(validation=True)` watches the elements of this field."""
        return bool(self.field.program.config.debug) and self.field.has(ADJOINT)

    def parent(self, n: int = 1) -> Any:
        """The block `n` levels up, or None above the root."""
        return self if n == 0 else self.block.parent(n - 1)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, PlacedField) and other.field is self.field

    def __hash__(self) -> int:
        return id(self.field)

    def __str__(self) -> str:
        blocks = " => ".join(
            ["ti.root", *(f"dense {list(node.shape)}" for node in self.block.path())]
        )
        return f"{blocks} => place {list(self.shape)}"


class Root(SNode):
    """The top of a builder's trees. Every child is a tree of its own, allocated when it is first
    needed."""

    def __init__(self, program: Program) -> None:
        super().__init__(program, None, (), ())
        self.scheduled = False
        self.done: set[int] = set()

    def schedule(self) -> None:
        """Have new trees allocated before the next access."""
        if not self.scheduled:
            self.scheduled = True
            self.program.pending.append(self.materialize)

    def materialize(self) -> None:
        """Allocate the trees that are new, and gradients asked for and not placed, each beside its
        primal's tree."""
        self.scheduled = False
        for child in list(self.children):
            if id(child) not in self.done and self._allocate(child, lambda field: field):
                self.done.add(id(child))
        for kind in sorted({kind for field in self.fields() for kind in field.wanted}):
            self._allocate_twins(kind)

    def _allocate_twins(self, kind: DerivativeKind) -> None:
        for child in list(self.children):
            self._allocate(child, lambda field: field.missing(kind), kind)

    def _allocate(
        self,
        tree: SNode | Field,
        choose: Callable[[Field], Field | None],
        kind: DerivativeKind | None = None,
    ) -> bool:
        """Allocate a tree with the chosen fields only; whether there are any."""
        found = [field for leaf in _leaves(tree) if (field := choose(leaf)) is not None]
        if not found:
            return False
        number = self.program.trees
        self.program.trees += 1
        members = set(found)

        def member(field: Field) -> Field | None:
            one = field if kind is None else field.existing(kind)
            return one if one in members else None

        def declare() -> None:
            snode.root(f"S{number}", _declared(tree, member))

        dtypes = {field.symbol: field.dtype.numpy for field in found}
        memory = allocate(declare, dtypes, self.program.executor.memory)
        for field in found:
            field.attach(memory[field.symbol], declare)
        return True


def _leaves(node: SNode | Field) -> Iterator[Field]:
    return node.fields() if isinstance(node, SNode) else iter((node,))


def _declared(node: SNode | Field, choose: Callable[[Field], Field | None]) -> list[ir.Operation]:
    """A tree as one op, with the chosen fields only; none where it has none of them."""
    if not isinstance(node, SNode):
        field = choose(node)
        return [] if field is None else [field.declaration()]
    inner = [op for child in node.children for op in _declared(child, choose)]
    return [snode.dense(node.axes, node.extents, inner)] if inner else []


class FieldsBuilder:
    """A set of trees with a life of its own: fields are placed, then `finalize()` allocates
    them."""

    def __init__(self) -> None:
        self._root = Root(program())
        self._finalized = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._root, name)

    @in_turn
    def finalize(self, raise_warning: bool = True) -> Trees:
        """Allocate the trees. Raises TaichiRuntimeError when called twice, or with nothing
        placed."""
        if self._finalized:
            raise TaichiRuntimeError("FieldsBuilder finalized")
        if not list(self._root.fields()):
            raise TaichiRuntimeError("nothing is placed in this FieldsBuilder")
        self._finalized = True
        self._root.materialize()
        return Trees(self._root)


class Trees:
    """What `FieldsBuilder.finalize()` gives back."""

    def __init__(self, root: Root) -> None:
        self._root: Root | None = root

    @in_turn
    def destroy(self) -> None:
        """Free the memory; the fields cannot be used any more. Raises TaichiRuntimeError when
        called twice."""
        if self._root is None:
            raise TaichiRuntimeError("SNode tree has been destroyed")
        for field in self._root.fields():
            for one in field.with_derivatives():
                if one.memory is not None:
                    one.memory = None
                    one.destroyed = True
                    self._root.program.forget(one.symbol)
        self._root = None
