"""Mark what carries a derivative from differentiable memory to differentiable memory.

An op gets `grad.active`: a unit where it has one result, the numbers of its active results where it
has several. A store gets it where the adjoint of what it stores is wanted.
"""

from mlirad.analysis.derivatives.activity import Activity, activity_of
from mlirad.bindings import ir
from mlirad.dialect.field import is_load, is_store
from mlirad.ir.reports.remarks import remark, shown_array
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.walk import functions

REQUIRES = KERNELS
ONLY_MARKS = True


def mark_activity(module: ir.Operation, *, report: bool = False) -> None:
    """Mark active values. With `report`, add a remark to every load that is active, or that would
    be active without ti.stop_grad."""
    for function in functions(module):
        if not is_private(function):
            _mark(activity_of(module, function), report)


def _mark(activity: Activity, report: bool) -> None:
    for node in activity.graph.nodes():
        active = [k for k, value in enumerate(node.results) if value in activity.active]
        writes_derivative = (
            is_store(node)
            and activity.is_differentiable(node)
            and node.operands[0] in activity.varied
        )
        if active or writes_derivative:
            several = len(node.results) > 1
            node.op.attributes["grad.active"] = (
                ir.DenseI64ArrayAttr.get(active) if several else ir.UnitAttr.get()
            )
        if report and is_load(node):
            if active:
                remark(
                    node.op,
                    f"{shown_array(node.array)} is active here: its derivative reaches the outputs",
                )
            elif "grad.stop" in node.op.attributes and node.results[0] in activity.useful:
                remark(
                    node.op,
                    f"{shown_array(node.array)} is not active here: ti.stop_grad cuts its "
                    f"derivative",
                )
