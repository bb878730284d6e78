"""Structured control flow: `scf` ops with their regions, filled by callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from mlirad.bindings import ir
from mlirad.frontend.python.building.builder import current
from mlirad.frontend.python.building.open_regions import BRANCH
from mlirad.ir import build


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
    op = build.if_else(condition, [], with_else=otherwise is not None)
    with inside(op.then, BRANCH, is_tail=is_tail):
        then()
    _end(op.then)
    if otherwise is not None:
        with inside(op.otherwise, BRANCH):
            otherwise()
        _end(op.otherwise)
    return op.op


def for_op(
    lower: ir.Value, upper: ir.Value, step: ir.Value, body: Callable[[ir.Value], None]
) -> ir.Operation:
    """`scf.for` over `index`."""
    loop = build.for_loop(lower, upper, step)
    with inside(loop.body, "a loop"):
        body(loop.induction)
    _end(loop.body)
    return loop.op


def while_op(condition: Callable[[], ir.Value], body: Callable[[], None]) -> ir.Operation:
    """`scf.while` without carried values."""
    loop = build.while_loop([])
    with inside(loop.before, "the condition of a loop"):
        test = condition()
    with ir.InsertionPoint(loop.before):
        build.go_on_if(test)
    with inside(loop.after, "a loop"):
        body()
    _end(loop.after)
    return loop.op


def parallel_op(
    lower: Sequence[ir.Value],
    upper: Sequence[ir.Value],
    body: Callable[[list[ir.Value]], None],
    attributes: Mapping[str, ir.Attribute],
) -> ir.Operation:
    """`scf.parallel` over a box."""
    loop = build.parallel_loop(lower, upper, [build.index(1)] * len(lower), attributes)
    with inside(loop.body, "a loop"):
        body(list(loop.indices))
    with ir.InsertionPoint(loop.body):
        build.end_parallel()
    return loop.op


def _end(block: ir.Block) -> None:
    with ir.InsertionPoint(block):
        build.yield_()


def clamp(index: ir.Value, size: ir.Value) -> ir.Value:
    """Move an `index` value into `0 ... size - 1`."""
    last = build.sub(size, build.index(1))
    return build.maxsi(build.minsi(index, last), build.index(0))
