"""Updates of memory in a loop's body: an element is loaded, combined with a value, and stored; or
exchanged for a value, where what was there is used."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mlirad.bindings import ir
from mlirad.ir.ops import Arith, Memref
from mlirad.ir.walk import block_operations, defining_op, enclosing, has_uses

# What updates combine by, and whether it may be done in another order without a change.
FLOAT_STEPS = {Arith.ADDF: Arith.ADDF, Arith.SUBF: Arith.ADDF, Arith.MULF: Arith.MULF}
_INTEGER_STEPS = {
    Arith.ADDI: Arith.ADDI,
    Arith.SUBI: Arith.ADDI,
    Arith.MULI: Arith.MULI,
    Arith.ANDI: Arith.ANDI,
    Arith.ORI: Arith.ORI,
    Arith.XORI: Arith.XORI,
    Arith.MINSI: Arith.MINSI,
    Arith.MAXSI: Arith.MAXSI,
    Arith.MINUI: Arith.MINUI,
    Arith.MAXUI: Arith.MAXUI,
}
STEPS = {**FLOAT_STEPS, **_INTEGER_STEPS}
TAKES_FIRST = (Arith.SUBF, Arith.SUBI)
_CHOICES = (Arith.CMPF, Arith.CMPI, Arith.SELECT)


class Update(msgspec.Struct, frozen=True):
    """An element that is loaded, combined with a value, and stored: `steps` are the ops in
    between, none where it is exchanged."""

    load: ir.Operation
    steps: tuple[ir.Operation, ...]
    store: ir.Operation

    @property
    def is_sum(self) -> bool:
        """Return whether values may be combined with one another first, and nobody asks what was
        there."""
        if len(self.steps) != 1:
            return False
        (step,) = self.steps
        return (
            step.name in STEPS
            and len(list(self.load.results[0].uses)) == 1
            and (step.name not in TAKES_FIRST or step.operands[0] == self.load.results[0])
        )

    @property
    def value(self) -> ir.Value:
        """Return the value that is combined with the element."""
        operands = list(self.steps[0].operands)
        return operands[1] if operands[0] == self.load.results[0] else operands[0]


class _Order:
    """The operations of a block, with their positions, and the loads among them by element."""

    def __init__(self, block: ir.Block) -> None:
        self.ops = block_operations(block)
        self.places = {op: place for place, op in enumerate(self.ops)}
        self.loads: dict[tuple[ir.Value, ...], list[ir.Operation]] = {}
        for op in self.ops:
            if op.name == Memref.LOAD:
                self.loads.setdefault(tuple(op.operands), []).append(op)


class Updates:
    """Finds the updates of code that stays as it is meanwhile."""

    def __init__(self) -> None:
        self._orders: dict[ir.Block, _Order] = {}

    def update_of(self, store: ir.Operation) -> Update | None:
        """The update that ends in a store."""
        return self._combination(store) or self._exchange(store)

    def _combination(self, store: ir.Operation) -> Update | None:
        value = store.operands[0]
        last = defining_op(value)
        if last is None or last.block != store.block:
            return None
        steps = [last]
        if last.name == Arith.SELECT:
            test = defining_op(last.operands[0])
            if test is None or test.name not in _CHOICES or test.block != store.block:
                return None
            steps = [test, last]
        elif last.name not in STEPS:
            return None
        for operand in last.operands:
            load = defining_op(operand)
            if load is not None and _is_same_element(load, store):
                return self._between(load, steps, store)
        return None

    def _exchange(self, store: ir.Operation) -> Update | None:
        order = self._order(store.block)
        loads = order.loads.get(tuple(store.operands)[1:], [])
        before = [op for op in loads if order.places[op] < order.places[store]]
        if not before or not has_uses(before[-1].results[0]):
            return None
        return self._between(before[-1], [], store)

    def _between(
        self, load: ir.Operation, steps: list[ir.Operation], store: ir.Operation
    ) -> Update | None:
        """The update, where nothing happens between load and store, and who else wants what was
        loaded comes behind them."""
        order = self._order(load.block)
        first, last = order.places[load], order.places[store]
        between = order.ops[first + 1 : last]
        if any(op.regions or op.name.startswith(Memref.STORE) for op in between):
            return None
        for use in load.results[0].uses:
            user = use.owner.operation
            while user.block != load.block:
                user = enclosing(user)
            if user not in steps and order.places[user] < last:
                return None
        for step in steps:
            for use in step.results[0].uses:
                if use.owner.operation not in steps and use.owner.operation != store:
                    return None
        return Update(load, tuple(steps), store)

    def _order(self, block: ir.Block) -> _Order:
        order = self._orders.get(block)
        if order is None:
            order = self._orders[block] = _Order(block)
        return order


def _is_same_element(load: ir.Operation, store: ir.Operation) -> bool:
    return (
        load.name == Memref.LOAD
        and load.block == store.block
        and list(load.operands) == list(store.operands)[1:]
    )


def left_behind(ops: Sequence[ir.Operation]) -> set[ir.Operation]:
    """The loads of updates, among some ops, of which someone asks what was there: where lanes meet,
    each has the value that the lanes before it left."""
    stores = [op for op in ops if op.name == Memref.STORE]
    updates = [update for update in map(Updates().update_of, stores) if update is not None]
    return {update.load for update in updates if not update.is_sum}
