"""Run iterations of a parallel loop together, as the lanes of vectors: one loop of each nest, where
a cost model says that it pays.

Assumes chunk functions: loops that may run in any order are marked `field.any_order`, memory is
memrefs that do not alias. Where lanes go different ways, both run, with masks; what several lanes
add to one element is added up first; the rest of a loop runs with a mask. Decisions are made of the
same numbers as without lanes; without `fast`, all results are the same to the bit.
"""

from __future__ import annotations

from typing import Annotated

from mlirad.bindings import ir
from mlirad.ir.limits import Range
from mlirad.ir.reports.remarks import remark
from mlirad.ir.structured import AT_END
from mlirad.ir.walk import ancestors, functions
from mlirad.passes.cpu.insert_lanes.choice import choose

Width = Annotated[int, Range(1, 64)]


def insert_lanes(
    root: ir.Operation, *, width: Width = 8, fast: bool = True, always: bool = False
) -> None:
    """Run several iterations of a parallel loop together, as lanes of vectors.

    `width`: how many, of values of 32 bits; `fast`: sums may be taken in another order; `always`:
    wherever it is possible.
    """
    if width == 1:
        return
    for function in functions(root):
        for choice in choose(function, width, fast, always):
            is_told = not _is_at_end(choice.nest)
            if choice.candidate is not None:
                # only here, for few of the loops that are looked at become lanes
                from mlirad.passes.cpu.insert_lanes.loop_in_lanes import LoopInLanes

                LoopInLanes(choice.candidate).run(choice.text * is_told)
                for end in choice.candidate.ends:
                    LoopInLanes(end).run("")
            elif is_told:
                remark(choice.nest, choice.text)


def _is_at_end(op: ir.Operation) -> bool:
    """Return whether a loop is, or is in, one over the few iterations at an end of a longer one."""
    return any(AT_END in owner.attributes for owner in (op, *ancestors(op)))
