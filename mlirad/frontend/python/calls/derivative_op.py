"""The op `grad.dual`: a function's body in a region, and derivatives of its results along tangents
of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from mlirad.bindings import ir
from mlirad.dialect.field import AllocaOp, ClockOp, PrintOp, is_write
from mlirad.dialect.grad import DualOp, yield_
from mlirad.errors import TaichiCompilationError
from mlirad.frontend.python.building.builder import mlir_type
from mlirad.frontend.python.building.open_regions import user_place
from mlirad.frontend.python.places.arrays import ArrayRef
from mlirad.frontend.python.translation.translator import Translator
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.leaves import float_leaves, like, widest
from mlirad.frontend.python.values.scalar import Expr
from mlirad.ir.ops import Memref


class Derivatives(msgspec.Struct):
    """A function's value, and the tangents of its scalars: `tangents[d][j]` is that of scalar j
    along direction d."""

    value: Any
    scalars: list[Expr]
    tangents: list[list[Expr]]


def emit_jvp(
    t: Translator,
    subject: str,
    primals: Sequence[Expr],
    directions: Sequence[Sequence[Expr]],
    body: Callable[[list[Expr]], object],
) -> Derivatives:
    """Emit a function of floats with its derivatives; `body` translates it at some values of its
    arguments.

    `subject` begins messages. Raises TaichiTypeError if the result holds anything but floats,
    TaichiCompilationError if the body does more than compute its result.
    """
    dtype = widest(primal.dtype for primal in primals)
    draft = ir.Operation.create(DualOp.OPERATION_NAME, [], [], regions=1)
    types = [mlir_type(dtype)] * len(primals)
    block = ir.Block.create_at_start(draft.regions[0], types, [draft.location] * len(primals))
    with ir.InsertionPoint(block), t.builder.enter_block("a function that is differentiated"):
        parameters = [Expr(value, dtype) for value in block.arguments]
        with t.at_run_time():
            value = body([ex.cast(v, primal.dtype) for v, primal in zip(parameters, primals)])
        scalars = float_leaves(value, f"{subject}: its result")
        result = widest(scalar.dtype for scalar in scalars)
        yield_([ex.cast(scalar, result).value for scalar in scalars])
    _refuse_side_effects(t, subject, block)
    operands = [ex.cast(v, dtype).value for values in (primals, *directions) for v in values]
    op = ir.Operation.create(
        DualOp.OPERATION_NAME,
        [mlir_type(result)] * (len(scalars) * (1 + len(directions))),
        operands,
        {"directions": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), len(directions))},
        regions=1,
    )
    block.append_to(op.regions[0])
    draft.erase()
    return _as_derivatives(value, scalars, [Expr(v, result) for v in op.results])


def _as_derivatives(value: object, scalars: Sequence[Expr], results: Sequence[Expr]) -> Derivatives:
    """The results of the op, value first and then each direction, in the types of the scalars."""
    rows = [
        [ex.cast(derivative, scalar.dtype) for derivative, scalar in zip(results[start:], scalars)]
        for start in range(0, len(results), len(scalars))
    ]
    return Derivatives(like(value, rows[0]), rows[0], rows[1:])


def _refuse_side_effects(t: Translator, subject: str, block: ir.Block) -> None:
    """Raise TaichiCompilationError, at the line, if code prints, reads a clock, or writes to
    memory that outlives it."""
    inner_memory: set[ir.Value] = {
        slot for slot, _ in t.builder.streams
    }  # counters of random draws
    for op in _operations(block):
        if op.name == Memref.ALLOCA or AllocaOp.holds(op):
            inner_memory.add(op.results[0])
        effect = "prints" if PrintOp.holds(op) else "reads a clock" * ClockOp.holds(op)
        if (is_write(op) or op.name == Memref.STORE) and op.operands[1] not in inner_memory:
            effect = f"writes {_array_name(t, op.operands[1])}"
        if effect:
            raise TaichiCompilationError(
                f"{subject}: a function with side effects: {effect}", user_place(op.location)
            )


def _operations(block: ir.Block) -> Iterator[ir.Operation]:
    for child in block.operations:
        yield child.operation
        for region in child.operation.regions:
            for inner in region.blocks:
                yield from _operations(inner)


def _array_name(t: Translator, array: ir.Value) -> str:
    """The name of a field, or of an array argument of the kernel, for messages."""
    for symbol, value in t.builder.arrays.items():
        if value == array:
            return f"field '{symbol}'"
    for binding in t.frames[0].scopes[0].items():
        if isinstance(binding[1], ArrayRef) and binding[1].value == array:
            return f"array '{binding[0]}'"
    return "a variable of its caller"
