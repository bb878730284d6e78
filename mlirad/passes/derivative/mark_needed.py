"""Mark the loads whose values the reverse reads again, each with the reason: `grad.needed`."""

from mlirad.analysis.derivatives.activity import activity_of
from mlirad.analysis.derivatives.needed import needed_of
from mlirad.analysis.derivatives.redone import redone_arrays
from mlirad.bindings import ir
from mlirad.dialect.field import is_access, is_load
from mlirad.ir.graph import Node
from mlirad.ir.ops import Scf
from mlirad.ir.reports.remarks import remark, shown_array, shown_place
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.walk import functions

_ROLES = {
    Scf.IF: "a condition",
    Scf.FOR: "the bounds of a loop",
    Scf.PARALLEL: "the bounds of a loop",
    Scf.WHILE: "the condition of a loop",
}

REQUIRES = KERNELS
ONLY_MARKS = True


def mark_needed(module: ir.Operation, *, report: bool = False) -> None:
    """Mark loads whose values the reverse needs. With `report`, add a remark to each."""
    for function in functions(module):
        if not is_private(function):
            activity = activity_of(module, function)
            graph = activity.graph
            needed = needed_of(activity, redone_arrays(function, graph))
            values = {value for value, _ in needed.keys}
            for node in graph.nodes():
                if is_load(node) and node.results[0] in values:
                    why = _why(needed.reasons.get(node.results[0]))
                    node.op.attributes["grad.needed"] = ir.StringAttr.get(why)
                    if report:
                        remark(
                            node.op,
                            f"the gradient reads {shown_array(node.array)} here again: {why}",
                        )


def _why(reason: Node | None) -> str:
    if reason is None:
        return "its writes are done again"
    role = (
        "an index" if is_access(reason) else _ROLES.get(reason.name, f"an operand of {reason.name}")
    )
    return f"{role} at {shown_place(reason.op)}"
