"""Note on every public function, as `grad.collisions`, whether its derivative wants a check that
iterations do not meet.

Assumes the verdicts of `check-access-rules` where the derivative is the reverse.
`insert-collision-checks` makes the check.
"""

from mlirad.analysis.races.collisions import find_open
from mlirad.bindings import ir
from mlirad.ir.reports.remarks import remark, shown_array, shown_place
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.walk import functions

REQUIRES = KERNELS
ONLY_MARKS = True


def mark_collisions(module: ir.Operation, *, tangents: bool = False, report: bool = False) -> None:
    """Note which kernels may have colliding iterations, as far as this is known when they are
    compiled."""
    for function in functions(module):
        if not is_private(function):
            pairs = find_open(module, function, tangents=tangents).pairs
            for pair in pairs:
                function.attributes["grad.collisions"] = ir.UnitAttr.get()
                if not report:
                    break
                remark(
                    pair.node.op,
                    f"that no other iteration writes this element of "
                    f"{shown_array(pair.node.array)} at "
                    f"{shown_place(pair.write.op)} is checked when a derivative is taken",
                )
