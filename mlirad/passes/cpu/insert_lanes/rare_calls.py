"""Branches that hardly ever run, of iterations that run as lanes: what they call is called for one
lane after the other, and only where one of them goes there.

Vectors go to it and back by way of memory, in a function that all such branches share: so there is
little code where it hardly ever runs, and one call, which leaves registers as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.rare import CALL, RARE, rare_call
from mlirad.ir.requirements import symbol_of
from mlirad.ir.structured import If
from mlirad.ir.vectors import any_lane, load_lanes, store_lanes
from mlirad.ir.walk import (
    at_end,
    at_start,
    attributes_of,
    block_operations,
    enclosing,
    entry_of,
    function_of,
    functions,
)
from mlirad.passes.cpu.insert_lanes.values import Mask, Values, stored_type


def rare_branch(values: Values, op: ir.Operation, mask: Mask) -> None:
    """Emit such a branch, where lanes may go different ways."""
    quick = [values.vector(v) for v in block_operations(If(op).blocks[1])[-1].operands]
    active = values.and_condition(mask, values.vector(op.operands[0]))
    choice = b.if_else(any_lane(active), [v.type for v in quick])
    with ir.InsertionPoint(choice.then), values.scope():
        results = _call_results(values, rare_call(op), active)
        b.yield_([values.select(active, new, old) for new, old in zip(results, quick)])
    with ir.InsertionPoint(choice.otherwise):
        b.yield_(quick)
    for result, value in zip(op.results, choice.results):
        values.set(result, value)


class _Rows(msgspec.Struct, frozen=True):
    """The places of vectors in memory: for each type an array of rows of all lanes. `arguments` are
    the rows of arguments, None if all lanes have one; `results` those of results; `active` of the
    mask."""

    sizes: dict[ir.Type, int]
    arguments: list[tuple[ir.Type, int] | None]
    results: list[tuple[ir.Type, int]]
    active: tuple[ir.Type, int]


def _rows(values: Values, call: ir.Operation) -> _Rows:
    sizes: dict[ir.Type, int] = {}

    def row(type_: ir.Type) -> tuple[ir.Type, int]:
        kind = stored_type(type_)
        sizes[kind] = sizes.get(kind, 0) + 1
        return kind, sizes[kind] - 1

    operand_rows = [None if values.strides.is_uniform(v) else row(v.type) for v in call.operands]
    result_rows = [row(v.type) for v in call.results]
    return _Rows(sizes, operand_rows, result_rows, row(b.integer_type(1)))


def _call_results(values: Values, call: ir.Operation, active: ir.Value) -> list[ir.Value]:
    """Return what a function gives in the active lanes."""
    rows, function = _rows(values, call), function_of(values.strides.loop)
    memory = _memory(function, rows, values.width)
    for value, at in zip(call.operands, rows.arguments):
        if at is not None:
            _store(values.vector(value), memory[at[0]], at[1])
    _store(active, memory[rows.active[0]], rows.active[1])
    shared = [values.first(v) for v, at in zip(call.operands, rows.arguments) if at is None]
    arguments = [*shared, *memory.values()]
    name = _lane_function(function, call, rows, arguments, values.width)
    b.effect(CALL, arguments, callee=ir.FlatSymbolRefAttr.get(name))
    return [
        _load(memory[kind], row, values.vector_type(result.type))
        for (kind, row), result in zip(rows.results, call.results)
    ]


def _memory(function: ir.Operation, rows: _Rows, width: int) -> dict[ir.Type, ir.Value]:
    """Memory for the vectors of a call, at the start of a function."""
    with at_start(entry_of(function), function.location):
        return {
            type_: b.alloca(ir.MemRefType.get([size, width], type_))
            for type_, size in rows.sizes.items()
        }


def _lane_function(
    function: ir.Operation,
    call: ir.Operation,
    rows: _Rows,
    arguments: Sequence[ir.Value],
    width: int,
) -> str:
    """The function that makes a call for every active lane; made if there is none yet."""
    callee = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
    shared = "".join("1" if at is None else str(width) + "x" for at in rows.arguments)
    name = f"{callee}.lanes{shared}"
    if any(symbol_of(other) == name for other in functions(enclosing(function))):
        return name
    types = [v.type for v in arguments]
    with ir.InsertionPoint(function), function.location:
        entry = entry_of(b.function(name, types, [], {RARE: ir.UnitAttr.get()}))
    with at_end(entry, function.location):
        _lane_loop(call, rows, list(entry.arguments), width)
        b.return_()
    return name


def _lane_loop(call: ir.Operation, rows: _Rows, arguments: Sequence[ir.Value], width: int) -> None:
    count = len(arguments) - len(rows.sizes)
    shared, memory = iter(arguments[:count]), dict(zip(rows.sizes, arguments[count:]))
    operand_rows = [next(shared) if at is None else at for at in rows.arguments]
    loop = b.for_loop(b.index(0), b.index(width), b.index(1))
    with ir.InsertionPoint(loop.body):

        def element(at: tuple[ir.Type, int], type_: ir.Type) -> ir.Value:
            loaded = b.read(memory[at[0]], [b.index(at[1]), loop.induction])
            return loaded if loaded.type == type_ else b.trunci(loaded, type_)

        lane = b.if_else(element(rows.active, b.integer_type(1)), [], with_else=False)
        with ir.InsertionPoint(lane.then):
            operands = [
                element(operand_row, v.type) if isinstance(operand_row, tuple) else operand_row
                for operand_row, v in zip(operand_rows, call.operands)
            ]
            types = [v.type for v in call.results]
            lane_call = ir.Operation.create(CALL, types, operands, attributes_of(call))
            for (kind, row), result in zip(rows.results, lane_call.results):
                value: ir.Value = result
                if kind != value.type:
                    value = b.extui(value, kind)
                b.write(value, memory[kind], [b.index(row), loop.induction])
            b.yield_()
        b.yield_()


def _store(vector: ir.Value, memory: ir.Value, row: int) -> None:
    kind = ir.VectorType(vector.type)
    stored = ir.VectorType.get(kind.shape, stored_type(kind.element_type))
    if stored != kind:
        vector = b.extui(vector, stored)
    store_lanes(vector, memory, [b.index(row), b.index(0)])


def _load(memory: ir.Value, row: int, type_: ir.Type) -> ir.Value:
    stored = ir.MemRefType(memory.type).element_type
    kind = ir.VectorType.get(ir.VectorType(type_).shape, stored)
    loaded = load_lanes(memory, [b.index(row), b.index(0)], kind)
    return loaded if kind == type_ else b.trunci(loaded, type_)
