"""Meetings of iterations at an element when they run as lanes: updates of memory, and the sums that
the loop carries."""

from __future__ import annotations

from collections.abc import Callable

from mlirad.analysis.lanes.strides import Strides
from mlirad.analysis.lanes.updates import FLOAT_STEPS, STEPS, TAKES_FIRST, Update, Updates
from mlirad.bindings import ir
from mlirad.ir.marks.rounding import is_exact
from mlirad.ir.ops import Arith, Func, Memref
from mlirad.ir.structured import For, If, is_branch
from mlirad.ir.walk import block_operations, defining_op, enclosing, operations, users_of

_EXTREMES = (Arith.MAXIMUMF, Arith.MINIMUMF)


def may_meet(op: ir.Operation, indices: list[ir.Value], strides: Strides) -> bool:
    """Return whether several lanes may be at one element in an access."""
    return not any(map(strides.is_distinct, indices))


class Meetings:
    """The updates of a loop whose elements several lanes may update at once, and why the loop
    cannot be run in lanes, where that is so."""

    def __init__(self, strides: Strides, may_reorder: bool) -> None:
        self.strides, self.may_reorder = strides, may_reorder
        self.updates: dict[ir.Operation, Update] = {}  # by store
        self.combined: set[ir.Operation] = set()  # what is done at those stores
        self.reason = ""
        # what an op, with what is in it, uses and loads from
        self._used: dict[ir.Operation, tuple[list[ir.Value], set[ir.Value]]] = {}
        updates = Updates()
        self._loads: dict[ir.Value, list[ir.Operation]] = {}
        self._stores: dict[ir.Value, list[ir.Operation]] = {}
        for op in strides.non_arithmetic:
            if op.name == Memref.LOAD:
                self._loads.setdefault(op.operands[0], []).append(op)
            elif op.name == Memref.STORE:
                self._stores.setdefault(op.operands[1], []).append(op)
        for memref, stores in self._stores.items():
            if memref not in strides.private and memref in self._loads:
                for store in stores:
                    self._store(memref, store, updates.update_of(store))
        self.combined |= {
            op for update in self.updates.values() for op in (update.load, *update.steps)
        }

    def _store(self, memref: ir.Value, store: ir.Operation, update: Update | None) -> None:
        indices = list(store.operands)[2:]
        meets = may_meet(store, indices, self.strides)
        if update is not None and not self._is_free(update) and not self._is_own(memref):
            self.reason = "the order of updates of one element matters"
        elif meets and update is not None:
            self.updates[store] = update
        elif meets and self._depends(store.operands[0], memref):
            self.reason = "an element that several iterations read and write"

    def _is_free(self, update: Update) -> bool:
        """Return whether lanes may make an update in another order than iterations."""
        if not update.steps:
            return self.may_reorder
        return is_free(update.steps[0], self.may_reorder)

    def _is_own(self, memref: ir.Value) -> bool:
        """Return whether each iteration has elements of its own: one index is that of the loop in
        all accesses."""
        accesses = [
            list(op.operands)[1:] for op in self._loads[memref] if op.operands[0] == memref
        ] + [list(op.operands)[2:] for op in self._stores[memref]]
        return any(
            len(set(column)) == 1 and self.strides.is_distinct(column[0])
            for column in zip(*accesses)
        )

    def _depends(self, value: ir.Value, memref: ir.Value) -> bool:
        """Return whether a value is made of what is loaded from a memref."""
        pending, visited = [value], {value}
        while pending:
            value = pending.pop()
            op = defining_op(value)
            if op is None:
                op = _owner_of(value)
            if op is None or value not in self.strides.known:
                continue
            sources, loaded = self._uses(op)
            if memref in loaded:
                return True
            new = [source for source in sources if source not in visited]
            visited.update(new)
            pending += new
        return False

    def _uses(self, op: ir.Operation) -> tuple[list[ir.Value], set[ir.Value]]:
        """The values that an op and those in it use, and the memrefs that they load from."""
        if op not in self._used:
            sources, loaded = list(op.operands), set[ir.Value]()
            if op.name == Memref.LOAD:
                loaded.add(op.operands[0])
            for inner in operations(op):
                sources += inner.operands
                if inner.name == Memref.LOAD:
                    loaded.add(inner.operands[0])
            self._used[op] = list(dict.fromkeys(sources)), loaded
        return self._used[op]


def _owner_of(value: ir.Value) -> ir.Operation | None:
    """The structured op that a block argument belongs to."""
    return value.owner.owner.operation if isinstance(value, ir.BlockArgument) else None


def reduction_steps(carried: ir.BlockArgument, yielded: ir.Value) -> list[ir.Operation]:
    """The ops by which an iteration combines a sum that its loop carries with values; none where
    the sum is used in another way."""
    steps: list[ir.Operation] = []
    if not _follow(carried, yielded, steps) or len({STEPS[step.name] for step in steps}) > 1:
        return []
    return steps


def _follow(value: ir.Value, last: ir.Value, steps: list[ir.Operation]) -> bool:
    """Follow a sum from one value to another of the same block, noting the steps."""
    while value != last:
        uses = users_of(value)
        if len(uses) == 1 and uses[0].name in STEPS and uses[0].block == _block_of(last):
            step = uses[0]
            if step.name in TAKES_FIRST and step.operands[0] != value:
                return False
            steps.append(step)
            value = step.results[0]
            continue
        branch = _branch_of(uses, value, last)
        if branch is None:
            return False
        position = _position(branch, value, steps)
        if position is None:
            return False
        value = branch.results[position]
    return True


def _block_of(value: ir.Value) -> ir.Block:
    """The block that a value is defined in."""
    return value.owner if isinstance(value, ir.BlockArgument) else value.owner.operation.block


def _branch_of(uses: list[ir.Operation], value: ir.Value, last: ir.Value) -> ir.Operation | None:
    """The one branch of a block in which all uses of a value are."""
    branches: set[ir.Operation] = set()
    for user in uses:
        while user.block != _block_of(last):
            parent = enclosing(user)
            if parent.name == Func.FUNC:
                return None
            user = parent
        branches.add(user)
    branch = branches.pop() if len(branches) == 1 else None
    return branch if branch is not None and is_branch(branch) else None


def _position(branch: ir.Operation, value: ir.Value, steps: list[ir.Operation]) -> int | None:
    """The result that a branch gives a sum by; None where its blocks do not agree."""
    uses = len(list(value.uses))
    for position in range(len(branch.results)):
        noted: list[ir.Operation] = []
        ends = [block_operations(block)[-1].operands[position] for block in If(branch).blocks]
        passed = sum(1 for end in ends if end == value)
        if all(_within(value, end, noted) for end in ends) and uses == len(noted) + passed:
            steps += noted
            return position
    return None


def _within(value: ir.Value, end: ir.Value, steps: list[ir.Operation]) -> bool:
    """Follow a sum from before a branch to what a block of it yields."""
    if value == end:
        return True
    step = defining_op(end)
    if step is None or step.name not in STEPS or list(step.operands).count(value) != 1:
        return False
    if len(list(end.uses)) > 1:
        return False
    if step.name in TAKES_FIRST and step.operands[0] != value:
        return False
    steps.append(step)
    return True


def reductions_of(loop: ir.Operation, may_reorder: bool) -> list[ir.Operation] | None:
    """A step of each sum that a loop carries; None where one is not a sum that may be taken in
    another order."""
    box, reductions = For(loop), []
    ends = list(block_operations(box.body)[-1].operands)
    for carried, end in zip(box.carried, ends):
        steps = reduction_steps(carried, end)
        if not steps or not all(is_free(step, may_reorder) for step in steps):
            return None
        reductions.append(steps[0])
    return reductions


def are_vector_sums(loop: ir.Operation, is_free: Callable[[ir.Operation], bool]) -> bool:
    """Return whether LLVM has vectors for all that a loop carries: sums of steps that are free to
    be taken in another order, and maxima and minima, of which any order gives the same."""
    box = For(loop)
    ends = list(block_operations(box.body)[-1].operands)
    for carried, end in zip(box.carried, ends):
        steps = reduction_steps(carried, end)
        is_sum = steps and all(map(is_free, steps))
        if not is_sum and not _is_extreme(carried, end):
            return False
    return True


def _is_extreme(carried: ir.BlockArgument, yielded: ir.Value) -> bool:
    """Return whether a carried value becomes the greater one, or the lesser, of itself and
    another."""
    step = defining_op(yielded)
    return (
        step is not None
        and step.name in _EXTREMES
        and step.block == carried.owner
        and list(step.operands).count(carried) == 1
        and len(list(carried.uses)) == len(list(yielded.uses)) == 1
    )


def is_free(step: ir.Operation, may_reorder: bool) -> bool:
    """Return whether a step of a sum may be taken before or after others."""
    return step.name not in FLOAT_STEPS or (may_reorder and not is_exact(step))
