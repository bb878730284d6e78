"""What all threads of a block have to agree on: how often a loop runs in which they wait for one
another, and whether a branch does."""

from collections.abc import Iterable

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.location import nearest_location
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import at_end, defining_op
from mlirad.passes.gpu._pure_operations import is_pure


def refuse_what_differs(value: ir.Value, op: ir.Operation, differs: Iterable[str]) -> None:
    """Raise TaichiCompilationError where a value is computed from results of some operations, and
    nothing in memory could make it the same for all threads."""
    pending, seen = [value], {value}
    while pending:
        made = defining_op(pending.pop())
        if made is None or not (is_pure(made) or made.name in differs):
            continue
        if made.name in differs:
            refuse(
                op,
                f"threads wait for one another within this '{op.name}', which depends on "
                f"'{made.name}'",
            )
        pending += [operand for operand in made.operands if operand not in seen]
        seen.update(made.operands)


def agreed(buffer: ir.Value, count: ir.Value, op: ir.Operation) -> ir.Value:
    """The value in a buffer, at the insertion point; where threads have different ones, the process
    ends."""
    first = b.read(buffer, [b.index(0)])
    loop = b.for_loop(b.index(0), count, b.index(1))
    place = nearest_location(op)
    text = f"threads of a block disagree on '{op.name}'" + (f" at {place}" if place else "")
    with at_end(loop.body, op.location):
        same = b.compare(b.EQ, first, b.read(buffer, [loop.induction]))
        b.effect("cf.assert", [same], msg=ir.StringAttr.get(text))
        b.yield_()
    return first
