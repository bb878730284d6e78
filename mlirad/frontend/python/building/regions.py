"""Structured control flow: `scf` ops with their regions, filled by callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from mlirad.bindings import ir
from mlirad.frontend.python.building.builder import current
from mlirad.ir import build


def _terminate(block: ir.Block, name: str = "scf.yield", operands: Sequence[ir.Value] = ()) -> None:
    with ir.InsertionPoint(block):
        ir.Operation.create(name, [], operands)


@contextmanager
def inside(block: ir.Block, kind: str, *, is_tail: bool = False) -> Iterator[None]:
    """Insert at the end of a block; what is made there cannot be used afterwards."""
    with ir.InsertionPoint(block), current().enter_block(kind, is_tail=is_tail):
        yield


def if_op(
    condition: ir.Value,
    then: Callable[[], object],
    otherwise: Callable[[], object] | None = None,
    *,
    is_tail: bool = False,
) -> ir.Operation:
    """`scf.if` without results; `is_tail` where nothing of the block around it runs after it."""
    op = ir.Operation.create("scf.if", [], [condition], regions=2)
    block = build.block(op, 0)
    with inside(block, "a branch", is_tail=is_tail):
        then()
    _terminate(block)
    if otherwise is not None:
        alternative = build.block(op, 1)
        with inside(alternative, "a branch"):
            otherwise()
        _terminate(alternative)
    return op


def for_op(
    lower: ir.Value, upper: ir.Value, step: ir.Value, body: Callable[[ir.Value], None]
) -> ir.Operation:
    """`scf.for` over `index`."""
    op = ir.Operation.create("scf.for", [], [lower, upper, step], regions=1)
    block = build.block(op, 0, [build.index_type()])
    with inside(block, "a loop"):
        body(block.arguments[0])
    _terminate(block)
    return op


def while_op(condition: Callable[[], ir.Value], body: Callable[[], None]) -> ir.Operation:
    """`scf.while` without carried values."""
    op = ir.Operation.create("scf.while", [], [], regions=2)
    before, after = build.block(op, 0), build.block(op, 1)
    with inside(before, "the condition of a loop"):
        test = condition()
    _terminate(before, "scf.condition", [test])
    with inside(after, "a loop"):
        body()
    _terminate(after)
    return op


def parallel_op(
    lower: Sequence[ir.Value],
    upper: Sequence[ir.Value],
    body: Callable[[list[ir.Value]], None],
    attributes: Mapping[str, ir.Attribute],
) -> ir.Operation:
    """`scf.parallel` over a box."""
    rank = len(lower)
    step = build.index(1)
    sizes = ir.DenseI32ArrayAttr.get([rank, rank, rank, 0])
    op = ir.Operation.create(
        "scf.parallel",
        [],
        [*lower, *upper, *([step] * rank)],
        {**attributes, "operandSegmentSizes": sizes},
        regions=1,
    )
    block = build.block(op, 0, [build.index_type()] * rank)
    with inside(block, "a loop"):
        body(list(block.arguments))
    _terminate(block, "scf.reduce")
    return op


def clamp(index: ir.Value, size: ir.Value) -> ir.Value:
    """Move an `index` value into `0 ... size - 1`."""
    last = build.sub(size, build.index(1))
    return build.make(
        "arith.maxsi",
        build.index_type(),
        [build.make("arith.minsi", build.index_type(), [index, last]), build.index(0)],
    )
