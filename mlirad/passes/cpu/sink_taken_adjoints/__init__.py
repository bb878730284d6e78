"""Reverse an iteration only where it takes an adjoint.

A minimum over a loop (`nearest = min(nearest, distance(s))`) has its adjoint from one iteration,
whichever that was: going backwards, each takes what is carried, or hands it on. An adjoint of 0
passes 0 on, whatever it would be multiplied by (docs/gradients.md), so what an iteration makes of
such an adjoint runs where that is not 0, with all its tangents; and what only that uses, with it.

Assumes memory of memrefs that do not alias, as `insert-lanes` does, in front of which this stands:
lanes that take nothing go along where another takes something. A sum of a 0 and -0 may be -0 then.
"""

from __future__ import annotations

from typing import Annotated

from mlirad.bindings import ir
from mlirad.ir.limits import Range
from mlirad.ir.ops import Arith
from mlirad.ir.structured import For, is_for
from mlirad.ir.walk import block_operations, defining_op, functions, is_zero, operations


def sink_taken_adjoints(
    module: ir.Operation, *, fewest: Annotated[int, Range(1, 1_000_000)] = 24
) -> None:
    """If a single iteration receives an adjoint, run the code that depends on it only where the
    adjoint is not 0.

    Not where that is less than the `fewest` operations.
    """
    for function in functions(module):
        for loop in [op for op in operations(function) if is_for(op)]:
            adjoints = _taken_values(loop)
            if adjoints:
                from mlirad.passes.cpu.sink_taken_adjoints.adjoints import (
                    sink,  # few loops have such
                )

                sink(loop, adjoints, fewest)


def _taken_values(loop: ir.Operation) -> list[ir.Value]:
    """Return what an iteration takes of carried values that it takes or hands on."""
    box, taken_values = For(loop), dict[ir.Value, None]()
    ends = block_operations(box.body)[-1].operands
    for carried, end in zip(box.carried, ends):
        handed = defining_op(end)
        if handed is None or handed.name != Arith.SELECT or handed.block != box.body:
            continue
        for use in carried.uses:
            other = use.owner.operation
            is_choice = other.name == Arith.SELECT and other.block == box.body
            if is_choice and _are_exclusive(handed, other, carried):
                taken_values[other.results[0]] = None
    return list(taken_values)


def _are_exclusive(first: ir.Operation, other: ir.Operation, carried: ir.Value) -> bool:
    """Return whether of two choices one gives a carried value where the other gives 0."""
    (test, *ways), (other_test, *other_ways) = first.operands, other.operands
    return (
        test == other_test
        and carried in ways
        and all(
            {carried} == {v for v in pair if not is_zero(v)} and any(map(is_zero, pair))
            for pair in zip(ways, other_ways)
        )
        and any(map(is_zero, ways))
    )
