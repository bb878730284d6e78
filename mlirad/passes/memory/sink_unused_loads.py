"""Let loops read no elements of arrays that count as 0.

Behind `insert-first-updates`, an iteration adds to 0 or to what it has read, as a word of the
launch says, the same in all iterations. What is read then is read within a branch: the elements of
an iteration together, and those of a short loop over neighbors (`merge-iterations`) in front of
it, so that they are one access. No other access touches these elements, so loads may move.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect.field import is_load
from mlirad.ir import build as b
from mlirad.ir.gpu.blocks import free_loops
from mlirad.ir.ops import Arith
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.structured import For, is_for
from mlirad.ir.walk import (
    at_end,
    before,
    block_operations,
    clone,
    constant_integer,
    defining_op,
    enclosing,
    entry_of,
    functions,
    is_defined_in,
    is_zero,
    operations,
    replace,
)

REQUIRES = KERNELS

_MOST_TRIPS = 16  # of a loop whose loads are made in front of it: so many bytes of 1


def sink_unused_loads(module: ir.Operation) -> None:
    """Skip loads of elements that count as 0, by a branch."""
    for function in functions(module):
        if not is_private(function):
            for loop in free_loops(block_operations(entry_of(function))):
                for group in _groups(loop):
                    _sink(group)


def _groups(loop: ir.Operation) -> list[list[ir.Operation]]:
    """The selections in a loop of 0 or what was read, those together that one branch can make."""
    groups: list[list[ir.Operation]] = []
    for op in operations(loop):
        if op.name != Arith.SELECT or not _is_choice(op, loop):
            continue
        load = _load_of(op)
        for group in groups:
            first = _load_of(group[0])
            if (
                op.operands[0] == group[0].operands[0]
                and load.block == first.block
                and _is_known_at(load, first)
            ):
                group.append(op)
                break
        else:
            groups.append([op])
    return groups


def _is_choice(op: ir.Operation, loop: ir.Operation) -> bool:
    """Return whether an op gives 0 where a condition holds that the loop does not change, else what
    was read for nothing else."""
    condition, zero, other = op.operands
    load = defining_op(other)
    return (
        load is not None
        and is_load(load)
        and load.block == op.block
        and is_zero(zero)
        and not is_defined_in(condition, loop)
        and is_defined_in(other, loop)
        and len(list(other.uses)) == 1
    )


def _load_of(choice: ir.Operation) -> ir.Operation:
    load = defining_op(choice.operands[2])
    assert load is not None
    return load


def _is_known_at(load: ir.Operation, place: ir.Operation) -> bool:
    """Return whether all indices of a load are there at an op of its block."""
    order = {op: number for number, op in enumerate(block_operations(place.block))}
    makers = [op for op in map(defining_op, load.operands) if op is not None]
    return all(order.get(op, -1) < order[place] for op in makers)


def _sink(choices: list[ir.Operation]) -> None:
    owner = enclosing(choices[0])
    loads = [_load_of(choice) for choice in choices]
    condition, types = choices[0].operands[0], [choice.results[0].type for choice in choices]
    if is_for(owner) and _goes_over_neighbours(For(owner), loads):
        loop, trips = For(owner), constant_integer(owner.operands[1])
        assert trips is not None
        with before(owner):
            places = [b.index(trip) for trip in range(trips)]
            values = _read(condition, types * trips, loads, [{loop.induction: p} for p in places])
        for number, choice in enumerate(choices):
            with before(choice):
                replace(choice, [_pick(loop.induction, values[number :: len(choices)])])
    else:
        with before(loads[0]):
            values = _read(condition, types, loads, [{}])
        for choice, value in zip(choices, values):
            replace(choice, [value])
    for load in loads:
        load.erase()


def _goes_over_neighbours(loop: For, loads: Sequence[ir.Operation]) -> bool:
    """Return whether a loop from 0 on is short, carries nothing, and loads only elements whose
    indices are its own and what it does not change."""
    low, high, step = (constant_integer(bound) for bound in list(loop.op.operands)[:3])
    if (low, step) != (0, 1) or high is None or not 0 < high <= _MOST_TRIPS or loop.op.results:
        return False
    return all(_is_beside(index, loop) for load in loads for index in list(load.operands)[1:])


def _is_beside(index: ir.Value, loop: For) -> bool:
    op = defining_op(index)
    if not is_defined_in(index, loop.op):
        return True
    return (
        op is not None
        and all(
            value == loop.induction or not is_defined_in(value, loop.op) for value in op.operands
        )
        and op.name == Arith.ADDI
    )


def _read(
    condition: ir.Value,
    types: list[ir.Type],
    loads: Sequence[ir.Operation],
    trips: Sequence[dict[ir.Value, ir.Value]],
) -> list[ir.Value]:
    """The elements of some loads, for some values of what their indices are made of, or zeros where
    the condition holds."""
    branch = b.if_else(condition, types)
    with at_end(branch.then, ir.Location.current):
        b.yield_([b.number(0.0, type_) for type_ in types])
    with at_end(branch.otherwise, ir.Location.current):
        results: list[ir.Value] = []
        for values in trips:
            for load in loads:
                for index in list(load.operands)[1:] if values else ():
                    op = defining_op(index)
                    if op is not None and any(value in values for value in op.operands):
                        clone(op, values)
                clone(load, values)
                results.append(values[load.results[0]])
        b.yield_(results)
    return list(branch.results)


def _pick(number: ir.Value, values: Sequence[ir.Value]) -> ir.Value:
    """The value of a number, made at the insertion point."""
    picked = values[-1]
    for place in range(len(values) - 2, -1, -1):
        picked = b.select(b.compare(b.EQ, number, b.index(place)), values[place], picked)
    return picked
