"""Decisions that all threads of a block have to agree on: how often a loop runs in which they wait
for one another, and whether a branch does."""

from collections.abc import Iterable

from mlirad.bindings import ir
from mlirad.dialect.snode import module_of
from mlirad.ir import build as b
from mlirad.ir.c_print import print_error
from mlirad.ir.ops import Cf
from mlirad.ir.pure_operations import is_pure
from mlirad.ir.reports.location import nearest_location
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import at_end, block_operations, defining_op


def refuse_what_differs(value: ir.Value, op: ir.Operation, differs: Iterable[str]) -> None:
    """Raise TaichiCompilationError if a value is computed from results of some operations, and
    nothing in memory could make it the same for all threads."""
    pending, visited = [value], {value}
    while pending:
        producer = defining_op(pending.pop())
        if producer is None or not (is_pure(producer) or producer.name in differs):
            continue
        if producer.name in differs:
            refuse(
                op,
                f"threads wait for one another within this '{op.name}', which depends on "
                f"'{producer.name}'",
            )
        pending += [operand for operand in producer.operands if operand not in visited]
        visited.update(producer.operands)


def require_agreement(buffer: ir.Value, count: ir.Value, op: ir.Operation) -> ir.Value:
    """The value in a buffer, at the insertion point; where threads have different ones, the process
    ends."""
    first = b.read(buffer, [b.index(0)])
    loop = b.for_loop(b.index(0), count, b.index(1))
    place = nearest_location(op)
    text = f"threads of a block disagree on '{op.name}'" + (f" at {place}" if place else "")
    with at_end(loop.body, op.location):
        value = b.read(buffer, [loop.induction])
        branch = b.if_else(b.compare(b.NE, first, value), [], with_else=False)
        b.yield_()
    with at_end(branch.then, op.location):
        module = module_of(op)
        name = f"disagreement.{len(block_operations(module.regions[0].blocks[0]))}"
        print_error(module, name, f"{text}\n")
        never = b.number(0, b.integer_type(1))
        b.effect(Cf.ASSERT, [never], msg=ir.StringAttr.get(text))
        b.yield_()
    return first
