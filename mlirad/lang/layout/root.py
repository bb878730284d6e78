"""Roots of layout trees, which allocate them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from mlirad.bindings import ir
from mlirad.dialect import snode
from mlirad.lang.layout.activity import give_activity, sparse_block
from mlirad.lang.layout.tree import Leaf, SNode
from mlirad.runtime.derivative_kind import DerivativeKind
from mlirad.runtime.memory.field import allocate
from mlirad.runtime.memory.nesting import nesting_of
from mlirad.runtime.program import Program


class Root(SNode):
    """The top of a builder's trees. Every child is a tree of its own, allocated when it is first
    needed."""

    def __init__(self, program: Program) -> None:
        super().__init__(program, None, (), ())
        self.scheduled = False
        self.done: set[int] = set()

    def schedule(self) -> None:
        if not self.scheduled:
            self.scheduled = True
            self.program.trees.pending.append(self.materialize)

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
            if isinstance(child, SNode) and any(child.sparse_blocks()):
                for field in list(child.fields()):  # which is cleared by giving back its memory
                    self._allocate(child, partial(_missing_derivative, kind, field), kind)
            else:
                self._allocate(child, lambda field: field.missing_derivative(kind), kind)

    def _allocate(
        self,
        tree: SNode | Leaf,
        choose: Callable[[Leaf], Leaf | None],
        kind: DerivativeKind | None = None,
    ) -> bool:
        """Allocate a tree with the chosen fields only; whether there are any."""
        leaves = tree.fields() if isinstance(tree, SNode) else [tree]
        fields = [field for leaf in leaves if (field := choose(leaf)) is not None]
        if not fields:
            return False
        number = self.program.trees.count
        self.program.trees.count += 1
        members = set(fields)

        def member(field: Leaf) -> Leaf | None:
            leaf = field if kind is None else field.existing(kind)
            return leaf if leaf in members else None

        def declare() -> None:
            snode.root(f"S{number}", _declare(tree, member))

        dtypes = {field.symbol: field.dtype.numpy for field in fields}
        blocks = [] if not isinstance(tree, SNode) else list(tree.sparse_blocks())
        if kind is None:
            for block in blocks:
                give_activity(block)
        activities = {
            block.activity: sparse_block(block) for block in blocks if block.activity is not None
        }
        nestings = partial(nesting_of, activities=activities, is_derivative=kind is not None)
        memory = allocate(declare, dtypes, self.program.executor.memory, nestings)
        for field in fields:
            field.attach(memory[field.symbol], declare)
        self._note_activities(list(activities), fields, is_new=kind is None)
        return True

    def _note_activities(self, names: list[str], fields: Sequence[Leaf], *, is_new: bool) -> None:
        """Have the activities of a tree declared wherever its fields are, and the fields where the
        activities are."""
        for field in fields:
            self.program.trees.companions[field.symbol] = names
        if is_new:
            for name in names:
                self.program.trees.companions[name] = [field.symbol for field in fields]


def _missing_derivative(kind: DerivativeKind, chosen: Leaf, field: Leaf) -> Leaf | None:
    """The derivative of one field that was asked for and not placed."""
    return field.missing_derivative(kind) if field is chosen else None


def _declare(node: SNode | Leaf, choose: Callable[[Leaf], Leaf | None]) -> list[ir.Operation]:
    """A tree as one op, with the chosen fields only; none where it has none of them."""
    if not isinstance(node, SNode):
        field = choose(node)
        return [] if field is None else [field.declaration()]
    inner = [op for child in node.children for op in _declare(child, choose)]
    return [node.declaration(inner)] if inner else []
