"""Split updates of shifted elements out of parallel loops, so that every iteration owns the row that it updates.

The reverse of a stencil adds to `g[i - 1, j]`, `g[i + 1, j]`, `g[i, j - 1]` ... from iteration (i, j): neighbouring
iterations meet, so the updates would have to be atomic and no loop over them becomes lanes. All of them are sums, so
they may be done in any order: here, for every row p of the target, one inner loop for each update, run for the
iteration `i = p - offset` that reaches row p. Guards that are bounds of a loop variable become bounds of its loop.
"""
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from mlirad.bindings import ir
from mlirad.dialect.field import split_access
from mlirad.passes import _build as b
from mlirad.passes._affine import Affine, affine
from mlirad.passes._walk import (
    accesses,
    array_root,
    at_end,
    attributes_of,
    before,
    block_operations,
    constant_integer,
    functions,
    has_uses,
    is_defined_in,
    is_inside,
    operations,
)

LONGEST_BODY = 400  # operations; every update computes anew what it needs of them


def split_scatter_loops(module: ir.Operation) -> None:
    """Give each shifted update a loop of its own, over the rows it writes."""
    for function in functions(module):
        for loop in [op for op in operations(function) if op.name == "scf.parallel"]:
            _Scatter(loop).run()


@dataclass
class _Range:
    """Bounds of one loop variable."""

    lower: list[ir.Value] = field(default_factory=list)
    upper: list[ir.Value] = field(default_factory=list)


@dataclass(eq=False)
class _Update:
    """An update at constant offsets from the loop's indices, under some guards."""

    op: ir.Operation
    offsets: list[int]
    guards: list[tuple[ir.Value, bool]]
    ranges: list[_Range] = field(default_factory=list)  # of the loop variables, under the guards that are bounds
    left: list[tuple[ir.Value, bool]] = field(default_factory=list)  # the other guards


class _Scatter:
    def __init__(self, loop: ir.Operation) -> None:
        self.loop = loop
        self.body = loop.regions[0].blocks[0]
        self.ivs = list(self.body.arguments)
        self.rank = len(self.ivs)
        operands = list(loop.operands)
        self.lower, self.upper = operands[:self.rank], operands[self.rank:2 * self.rank]
        self.steps = operands[2 * self.rank:3 * self.rank]

    def run(self) -> None:
        """Move the updates that qualify in front of the loop."""
        if any(constant_integer(s) != 1 for s in self.steps):
            return
        inner = list(operations(self.loop))
        if len(inner) > LONGEST_BODY or any(op.name in ("scf.for", "scf.while", "field.random") for op in inner):
            return
        moved = self._movable()
        if not moved:
            return
        with before(self.loop):
            for update in moved:
                update.ranges, update.left = self._ranges(update)
            self._emit(moved)
        for update in moved:
            update.op.erase()

    # Which updates may move.

    def _movable(self) -> list[_Update]:
        groups: dict[object, list[_Update]] = {}
        for op, root, indices in accesses(self.loop):
            if op.name == "field.atomic" and not has_uses(op.results[0]) \
                    and ir.StringAttr(op.attributes["kind"]).value == "add":
                offsets = self._offsets(indices)
                if offsets is not None:
                    groups.setdefault(root, []).append(_Update(op, offsets, self._guards(op)))
        moved: list[_Update] = []
        for group in groups.values():
            targets = {tuple(u.offsets) for u in group}
            if len(targets) > 1:
                moved += group
        return moved if moved and self._is_legal(moved) else []

    def _offsets(self, indices: list[ir.Value]) -> list[int] | None:
        """The constant distance of the target from each loop index, or None where it is not one."""
        forms = [affine(i) for i in indices]
        offsets = []
        for iv in self.ivs:
            along = [form for form in forms if form.coefficient(iv)]
            if len(along) != 1 or along[0].coefficient(iv) != 1 or along[0].without(iv).terms:
                return None
            offsets.append(along[0].constant)
        rest = [form for form in forms if not any(form.coefficient(iv) for iv in self.ivs)]
        if any(is_defined_in(leaf, self.loop) for form in rest for leaf, _ in form.terms):
            return None
        return offsets

    def _guards(self, op: ir.Operation) -> list[tuple[ir.Value, bool]]:
        guards: list[tuple[ir.Value, bool]] = []
        current = op
        while current.parent.operation != self.loop:
            parent = current.parent.operation
            taken = any(c.operation == current for c in parent.regions[0].blocks[0].operations)
            guards.insert(0, (parent.operands[0], taken))
            current = parent
        return guards

    def _is_legal(self, moved: list[_Update]) -> bool:
        """Whether doing the updates first, in any order, changes nothing for what else the loop does."""
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
        slices = {op for update in moved for op in self._slice(update)}
        if any(op.name == "field.atomic" for op in slices):
            return False
        for load in [op for op in slices if op.name == "field.load"]:
            for op, other, _ in everything:
                if op.name != "field.load" and op not in ops and other == array_root(load.operands[0]) \
                        and not _precedes(load, op, self.loop):
                    return False
        return True

    def _never_meet(self, left: list[ir.Value], right: list[ir.Value]) -> bool:
        for mine, other in zip(left, right):
            a, c = affine(mine), affine(other)
            if a.terms == c.terms and a.constant != c.constant \
                    and not any(is_defined_in(leaf, self.loop) for leaf, _ in a.terms):
                return True
        return False

    def _slice(self, update: _Update) -> list[ir.Operation]:
        """The operations of the body that an update depends on, in order."""
        wanted: set[ir.Operation] = set()
        pending = [*update.op.operands, *(guard for guard, _ in update.guards)]
        while pending:
            value = pending.pop()
            if isinstance(value, ir.BlockArgument) or not is_defined_in(value, self.loop):
                continue
            op = value.owner.operation
            if op in wanted:
                continue
            wanted.add(op)
            pending += list(op.operands)
            for inner in operations(op):
                pending += list(inner.operands)
        return [op for op in operations(self.loop) if op in wanted]

    # The loops that take their place.

    def _emit(self, moved: list[_Update]) -> None:
        groups: dict[object, list[_Update]] = {}
        for update in moved:
            groups.setdefault(self._target(update), []).append(update)
        if self.rank == 1:
            for group in groups.values():
                self._gather_last(group, {}, parallel=True)
            return
        first, last = (extreme(u.offsets[0] for u in moved) for extreme in (min, max))
        rows, block = self._parallel(b.add(self.lower[0], b.index(first)), b.add(self.upper[0], b.index(last)))
        with at_end(block, rows.location):
            for group in groups.values():
                self._rows(group, [block.arguments[0]])
            b.effect("scf.reduce", [])

    def _parallel(self, low: ir.Value, high: ir.Value) -> tuple[ir.Operation, ir.Block]:
        loop = ir.Operation.create("scf.parallel", [], [low, high, b.index(1)], {
            **attributes_of(self.loop), "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 1, 0])}, regions=1)
        return loop, b.block(loop, 0, [b.index_type()])

    def _target(self, update: _Update) -> object:
        """What updates of one element have in common: the array, and the indices without their offsets."""
        array, indices = split_access(update.op)
        forms = [affine(i) for i in indices]
        return array_root(array), tuple(
            form.terms if any(form.coefficient(iv) for iv in self.ivs) else form for form in forms)

    def _rows(self, group: list[_Update], target: list[ir.Value]) -> None:
        """Loops over the target's further axes but the last; all updates of an element at once where all reach it."""
        axis = len(target)
        if axis < self.rank - 1:
            first, last = (extreme(u.offsets[axis] for u in group) for extreme in (min, max))
            loop = b.for_loop(b.add(self.lower[axis], b.index(first)), b.add(self.upper[axis], b.index(last)), b.index(1))
            block = loop.regions[0].blocks[0]
            with ir.InsertionPoint(block):
                self._rows(group, [*target, block.arguments[0]])
                b.yield_()
            return
        here = {update: self._sources(update, target) for update in group}
        reached = [self._reaches(update, here[update]) for update in group]
        if len(group) == 1 or sum(len(self._slice(u)) for u in group) > LONGEST_BODY:
            for update, test in zip(group, reached):
                self._if(test, partial(self._one, update, here[update]))
            return
        everywhere = b.if_else(_all(reached), [])
        with ir.InsertionPoint(everywhere.regions[0].blocks[0]):
            self._gather_last(group, here, parallel=False)
            b.yield_()
        with ir.InsertionPoint(everywhere.regions[1].blocks[0]):
            for update, test in zip(group, reached):
                self._if(test, partial(self._one, update, here[update]))
            b.yield_()

    def _if(self, test: ir.Value, body: Callable[[], None]) -> None:
        branch = b.if_else(test, [], with_else=False)
        with ir.InsertionPoint(branch.regions[0].blocks[0]):
            body()
            b.yield_()

    def _sources(self, update: _Update, target: list[ir.Value]) -> dict[ir.Value, ir.Value]:
        """The loop indices from which an update reaches a target."""
        return {iv: b.sub(q, b.index(offset)) for iv, q, offset in zip(self.ivs, target, update.offsets)}

    def _reaches(self, update: _Update, here: dict[ir.Value, ir.Value]) -> ir.Value:
        """Whether those indices lie in the loop and satisfy the guards."""
        tests = []
        for iv, bounds in zip(self.ivs, update.ranges):
            if iv in here:
                tests += [b.compare(b.SLE, low, here[iv]) for low in bounds.lower]
                tests += [b.compare(b.SLT, here[iv], high) for high in bounds.upper]
        return _all(tests)

    def _one(self, update: _Update, here: dict[ir.Value, ir.Value], low: ir.Value | None = None,
             high: ir.Value | None = None) -> None:
        """A loop over the last axis for one update; `low` and `high` narrow it, in coordinates of the target."""
        bounds, offset = update.ranges[-1], b.index(update.offsets[-1])
        lows = [*bounds.lower, *([b.sub(low, offset)] if low is not None else [])]
        highs = [*bounds.upper, *([b.sub(high, offset)] if high is not None else [])]
        loop = b.for_loop(_extreme(lows, "arith.maxsi"), _extreme(highs, "arith.minsi"), b.index(1))
        block = loop.regions[0].blocks[0]
        with ir.InsertionPoint(block), update.op.location:
            self._update(update, {**here, self.ivs[-1]: block.arguments[0]})
            b.yield_()

    def _gather_last(self, group: list[_Update], here: dict[_Update, dict[ir.Value, ir.Value]], *,
                     parallel: bool) -> None:
        """A loop over the last axis of the target for all updates where all reach it, and loops for the ends."""
        lows, highs = [], []
        for update in group:
            offset = b.index(update.offsets[-1])
            lows += [b.add(low, offset) for low in update.ranges[-1].lower]
            highs += [b.add(high, offset) for high in update.ranges[-1].upper]
        low = _extreme(lows, "arith.maxsi")
        high = _extreme([low, _extreme(highs, "arith.minsi")], "arith.maxsi")
        for update in group:
            self._one(update, here.get(update, {}), high=low)
            self._one(update, here.get(update, {}), low=high)
        if parallel:
            loop, block = self._parallel(low, high)
        else:
            loop = b.for_loop(low, high, b.index(1))
            block = loop.regions[0].blocks[0]
        with ir.InsertionPoint(block):
            self._sum(group, here, block.arguments[0])
            b.effect("scf.reduce" if parallel else "scf.yield", [])

    def _sum(self, group: list[_Update], here: dict[_Update, dict[ir.Value, ir.Value]], target: ir.Value) -> None:
        """All updates of one element: those without further guards as one."""
        total: ir.Value | None = None
        for update in group:
            mapping = {**here.get(update, {}), self.ivs[-1]: b.sub(target, b.index(update.offsets[-1]))}
            if update.left or any(op.parent.operation != self.loop for op in self._slice(update)):
                self._update(update, mapping)
                continue
            for op in self._slice(update):
                _clone(op, mapping)
            value = mapping.get(update.op.operands[0], update.op.operands[0])
            last = update, mapping
            name = "arith.addf" if b.is_float(value.type) else "arith.addi"
            total = value if total is None else b.make(name, value.type, [total, value])
        if total is not None:
            update, mapping = last
            mapping[update.op.operands[0]] = total
            _clone(update.op, mapping)

    def _update(self, update: _Update, mapping: dict[ir.Value, ir.Value]) -> None:
        """The update with what it depends on, under the guards that are not bounds of loops."""
        needed = self._slice(update)
        at_top = [op for op in needed if op.parent.operation == self.loop]
        for op in at_top:
            _clone(op, mapping)
        self._guarded(update, update.left, [op for op in needed if op not in at_top], mapping)

    def _guarded(self, update: _Update, guards: list[tuple[ir.Value, bool]], inner: list[ir.Operation],
                 mapping: dict[ir.Value, ir.Value]) -> None:
        """The update, with what is computed in its branch, under the guards that are left."""
        if not guards:
            for op in [*inner, update.op]:
                _clone(op, mapping)
            return
        (condition, taken), rest = guards[0], guards[1:]
        test = mapping.get(condition, condition)
        if not taken:
            test = b.make("arith.xori", test.type, [test, b.number(-1, test.type)])
        branch = b.if_else(test, [], with_else=False)
        with ir.InsertionPoint(branch.regions[0].blocks[0]):
            self._guarded(update, rest, inner, mapping)
            b.yield_()

    def _ranges(self, update: _Update) -> tuple[list[_Range], list[tuple[ir.Value, bool]]]:
        """Bounds of the loop variables under an update's guards, and the guards that are not such bounds."""
        ranges = [_Range([low], [high]) for low, high in zip(self.lower, self.upper)]
        left: list[tuple[ir.Value, bool]] = []
        for condition, taken in update.guards:
            parts = _conjuncts(condition) if taken else [condition]
            for part in parts:
                if not taken or not self._bound(part, ranges):
                    left.append((part, taken))
        return ranges, left

    def _bound(self, test: ir.Value, ranges: list[_Range]) -> bool:
        """Turn a comparison of one loop variable with something constant in the loop into a bound."""
        if isinstance(test, ir.BlockArgument) or test.owner.operation.name != "arith.cmpi":
            return False
        op = test.owner.operation
        kind = ir.IntegerAttr(op.attributes["predicate"]).value
        if kind not in (b.SLT, b.SLE, b.SGT, b.SGE):
            return False
        left, right = affine(op.operands[0]), affine(op.operands[1])
        if kind in (b.SGT, b.SGE):  # left > right is right < left
            left, right, kind = right, left, b.SLT if kind == b.SGT else b.SLE
        room = 0 if kind == b.SLT else 1
        for axis, iv in enumerate(self.ivs):
            if left.coefficient(iv) == 1 and not right.coefficient(iv):  # iv + a < c: iv < c - a (+ 1)
                limit = self._limit(right, left.without(iv), room)
                if limit is not None:
                    ranges[axis].upper.append(limit)
                    return True
            if right.coefficient(iv) == 1 and not left.coefficient(iv):  # a < iv + c: iv >= a - c + 1
                limit = self._limit(left, right.without(iv), 1 - room)
                if limit is not None:
                    ranges[axis].lower.append(limit)
                    return True
        return False

    def _limit(self, plus: Affine, minus: Affine, extra: int) -> ir.Value | None:
        """`plus - minus + extra` as a value in front of the loop, where its parts are there."""
        total = b.index(plus.constant - minus.constant + extra)
        for form, sign in ((plus, 1), (minus, -1)):
            for leaf, factor in form.terms:
                if not isinstance(leaf.type, ir.IndexType) or is_defined_in(leaf, self.loop):
                    return None
                total = b.add(total, b.mul(leaf, b.index(sign * factor)))
        return total


def _all(tests: list[ir.Value]) -> ir.Value:
    result = tests[0]
    for test in tests[1:]:
        result = b.make("arith.andi", result.type, [result, test])
    return result


def _conjuncts(condition: ir.Value) -> list[ir.Value]:
    if isinstance(condition, ir.BlockArgument) or condition.owner.operation.name != "arith.andi":
        return [condition]
    return [part for operand in condition.owner.operation.operands for part in _conjuncts(operand)]


def _extreme(values: list[ir.Value], name: str) -> ir.Value:
    result = values[0]
    for value in values[1:]:
        result = b.make(name, result.type, [result, value])
    return result


def _precedes(first: ir.Operation, second: ir.Operation, loop: ir.Operation) -> bool:
    """Whether an operation at the top of the loop's body comes before another one in it."""
    for op in block_operations(loop.regions[0].blocks[0]):
        if is_inside(first, op):
            return not is_inside(second, op)
        if is_inside(second, op):
            return False
    return False


def _clone(op: ir.Operation, mapping: dict[ir.Value, ir.Value]) -> None:
    copy = op.clone()
    stack = [copy]
    while stack:
        inner = stack.pop()
        for position, operand in enumerate(inner.operands):
            if operand in mapping:
                inner.operands[position] = mapping[operand]
        for region in inner.regions:
            for block in region.blocks:
                stack += [child.operation for child in block.operations]
    mapping.update(zip(op.results, copy.results))
