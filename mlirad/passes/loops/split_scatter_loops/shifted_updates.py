"""Finding the updates of a parallel loop that lie at constant offsets from its indices."""

import msgspec

from mlirad.analysis.linear import Linear, linear_form, number
from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind, RandomOp, atomic_kind, is_atomic, is_load, split_access
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.structured import is_serial_loop
from mlirad.ir.walk import (
    Array,
    accesses,
    array_root,
    block_operations,
    constant_integer,
    enclosing,
    has_uses,
    is_defined_in,
    is_inside,
    operations,
)

LONGEST_BODY = 400  # operations; every update computes anew what it needs of them


class Range(msgspec.Struct):
    """Bounds of one loop variable."""

    lower: list[ir.Value] = msgspec.field(default_factory=list)
    upper: list[ir.Value] = msgspec.field(default_factory=list)


class Update(msgspec.Struct, eq=False):
    """An update at constant offsets from the loop's indices, under some guards."""

    op: ir.Operation
    offsets: list[int]
    guards: list[tuple[ir.Value, bool]]
    # of the loop variables, under the guards that are bounds
    ranges: list[Range] = msgspec.field(default_factory=list)
    left: list[tuple[ir.Value, bool]] = msgspec.field(default_factory=list)  # the other guards


class ShiftedUpdates:
    """The updates of one loop that may be done first, in any order."""

    def __init__(self, loop: ir.Operation) -> None:
        self.loop = loop
        self.body = loop.regions[0].blocks[0]
        self.ivs = list(self.body.arguments)
        self.rank = len(self.ivs)
        operands = list(loop.operands)
        self.lower, self.upper = operands[: self.rank], operands[self.rank : 2 * self.rank]
        self.steps = operands[2 * self.rank : 3 * self.rank]

    def find(self) -> list[Update]:
        """The updates, with their bounds made in front of the loop; none where that would change
        what the loop does."""
        if any(constant_integer(s) != 1 for s in self.steps):
            return []
        inner = list(operations(self.loop))
        if len(inner) > LONGEST_BODY or any(
            is_serial_loop(op) or RandomOp.holds(op) for op in inner
        ):
            return []
        return self._movable()

    def _movable(self) -> list[Update]:
        groups: dict[Array, list[Update]] = {}
        for op, root, indices in accesses(self.loop):
            if is_atomic(op) and not has_uses(op.results[0]) and atomic_kind(op) == AtomicKind.ADD:
                offsets = self._offsets(indices)
                if offsets is not None:
                    groups.setdefault(root, []).append(Update(op, offsets, self._guards(op)))
        moved: list[Update] = []
        for group in groups.values():
            targets = {tuple(u.offsets) for u in group}
            if len(targets) > 1:
                moved += group
        return moved if moved and self._is_legal(moved) else []

    def _offsets(self, indices: list[ir.Value]) -> list[int] | None:
        """The constant distance of the target from each loop index, or None where it is not one."""
        forms = [linear_form(i) for i in indices]
        offsets = []
        for iv in self.ivs:
            along = [form for form in forms if form.coefficient(iv)]
            if len(along) != 1 or along[0].coefficient(iv) != 1 or along[0].without(iv).terms:
                return None
            offsets.append(along[0].constant)
        fixed_forms = [form for form in forms if not any(form.coefficient(iv) for iv in self.ivs)]
        if any(is_defined_in(leaf, self.loop) for form in fixed_forms for leaf in form.names):
            return None
        return offsets

    def _guards(self, op: ir.Operation) -> list[tuple[ir.Value, bool]]:
        guards: list[tuple[ir.Value, bool]] = []
        current = op
        while enclosing(current) != self.loop:
            parent = enclosing(current)
            is_then = any(c.operation == current for c in parent.regions[0].blocks[0].operations)
            guards.insert(0, (parent.operands[0], is_then))
            current = parent
        return guards

    def _is_legal(self, moved: list[Update]) -> bool:
        """Return whether doing the updates first, in any order, changes nothing for what else the
        loop does."""
        ops = {u.op for u in moved}
        everything = list(accesses(self.loop))
        for update in moved:
            root = array_root(split_access(update.op)[0])
            for op, other, indices in everything:
                if op in ops:
                    continue
                if other == root and not self._never_meet(split_access(update.op)[1], indices):
                    return False
                if other != root and not (isinstance(root, str) or isinstance(other, str)):
                    return False
        slices = {op for update in moved for op in self.slice(update)}
        if any(is_atomic(op) for op in slices):
            return False
        for load in [op for op in slices if is_load(op)]:
            for op, other, _ in everything:
                if (
                    not is_load(op)
                    and op not in ops
                    and other == array_root(load.operands[0])
                    and not _precedes(load, op, self.body)
                ):
                    return False
        return True

    def _never_meet(self, left: list[ir.Value], right: list[ir.Value]) -> bool:
        for form, other in zip(left, right):
            a, c = linear_form(form), linear_form(other)
            if (
                a.terms == c.terms
                and a.constant != c.constant
                and not any(is_defined_in(leaf, self.loop) for leaf in a.names)
            ):
                return True
        return False

    def slice(self, update: Update) -> list[ir.Operation]:
        """The operations of the body that an update depends on, in order."""
        needed_ops: set[ir.Operation] = set()
        pending = [*update.op.operands, *(guard for guard, _ in update.guards)]
        while pending:
            value = pending.pop()
            if isinstance(value, ir.BlockArgument) or not is_defined_in(value, self.loop):
                continue
            op = value.owner.operation
            if op in needed_ops:
                continue
            needed_ops.add(op)
            pending += list(op.operands)
            for inner in operations(op):
                pending += list(inner.operands)
        return [op for op in operations(self.loop) if op in needed_ops]

    # The loops that take their place.
    def ranges(self, update: Update) -> tuple[list[Range], list[tuple[ir.Value, bool]]]:
        """Bounds of the loop variables under an update's guards, and the guards that are not such
        bounds."""
        ranges = [Range([low], [high]) for low, high in zip(self.lower, self.upper)]
        left: list[tuple[ir.Value, bool]] = []
        for condition, holds in update.guards:
            conjuncts = _conjuncts(condition) if holds else [condition]
            for conjunct in conjuncts:
                if not holds or not self._bound(conjunct, ranges):
                    left.append((conjunct, holds))
        return ranges, left

    def _bound(self, test: ir.Value, ranges: list[Range]) -> bool:
        """Turn a comparison of one loop variable with something constant in the loop into a
        bound."""
        if isinstance(test, ir.BlockArgument) or test.owner.operation.name != Arith.CMPI:
            return False
        op = test.owner.operation
        kind = b.predicate_of(op)
        if kind not in (b.SLT, b.SLE, b.SGT, b.SGE):
            return False
        left, right = linear_form(op.operands[0]), linear_form(op.operands[1])
        if kind in (b.SGT, b.SGE):  # left > right is right < left
            left, right, kind = right, left, b.SLT if kind == b.SGT else b.SLE
        room = 0 if kind == b.SLT else 1
        for axis, iv in enumerate(self.ivs):
            if left.coefficient(iv) == 1 and not right.coefficient(
                iv
            ):  # iv + a < c: iv < c - a (+ 1)
                limit = self._limit(right.plus(left.without(iv), -1).plus(number(room)))
                if limit is not None:
                    ranges[axis].upper.append(limit)
                    return True
            if right.coefficient(iv) == 1 and not left.coefficient(
                iv
            ):  # a < iv + c: iv >= a - c + 1
                limit = self._limit(left.plus(right.without(iv), -1).plus(number(1 - room)))
                if limit is not None:
                    ranges[axis].lower.append(limit)
                    return True
        return False

    def _limit(self, form: Linear[ir.Value]) -> ir.Value | None:
        """A sum as a value in front of the loop, where its parts are there."""
        total = b.index(form.constant)
        for leaf, factor in form.terms:
            if not isinstance(leaf.type, ir.IndexType) or is_defined_in(leaf, self.loop):
                return None
            total = b.add(total, b.mul(leaf, b.index(factor)))
        return total


def _conjuncts(condition: ir.Value) -> list[ir.Value]:
    if isinstance(condition, ir.BlockArgument) or condition.owner.operation.name != Arith.ANDI:
        return [condition]
    return [
        conjunct
        for operand in condition.owner.operation.operands
        for conjunct in _conjuncts(operand)
    ]


def _precedes(first: ir.Operation, second: ir.Operation, block: ir.Block) -> bool:
    """Return whether an operation in a block, or in branches of it, runs before another one
    wherever both run."""
    for op in block_operations(block):
        sides = is_inside(first, op), is_inside(second, op)
        if all(sides):
            branches = [region.blocks[0] for region in op.regions if len(region.blocks)]
            common_branches = [
                branch for branch in branches if _holds(branch, first) and _holds(branch, second)
            ]
            return all(_precedes(first, second, branch) for branch in common_branches)
        if any(sides):
            return sides[0]
    return False


def _holds(block: ir.Block, op: ir.Operation) -> bool:
    return any(is_inside(op, inner) for inner in block_operations(block))
