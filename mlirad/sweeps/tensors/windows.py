"""Short loops whose bounds depend on where one is, as loops over all that they ever go through.

If nothing but the head is out of bounds at the points that are then too many, its element counts as
0 there, as in a padded array, and the loops are those of register tiles.
"""

from __future__ import annotations

from collections.abc import Collection

from mlirad.analysis.linear import Linear, linear_form, number
from mlirad.analysis.tensors.integer_systems import (
    Intervals,
    Range,
    Solution,
    extent_of,
    hulls,
    widen_indices,
)
from mlirad.analysis.tensors.te_accesses import Forms, reads_within
from mlirad.analysis.tensors.te_points import SHORT, elements_of, points_of
from mlirad.bindings import ir
from mlirad.sweeps.tensors.definition import Definition
from mlirad.sweeps.tensors.points import Name


class Windows:
    """The loops over points at which a definition reads an element of a tensor."""

    def __init__(
        self,
        definition: Definition,
        block: ir.Block,
        tensor: ir.Value,
        reads: Collection[ir.Operation],
    ) -> None:
        self.definition, self.block, self.tensor, self.reads = definition, block, tensor, reads

    def ranges(
        self, solution: Solution[Name], intervals: Intervals[Name], forms: Forms
    ) -> tuple[list[Range[Name]], list[Linear[Name]]]:
        """The free indices; sums that are negative at points that are none."""
        hull = hulls(solution, intervals)
        if hull is None or not self._stays_inside(solution, hull, forms):
            return solution.free, []
        ranges, beyond = widen_indices(solution, hull, SHORT)
        return (ranges, beyond) if self._is_worth(ranges, hull) else (solution.free, [])

    def _is_worth(self, ranges: Collection[Range[Name]], hull: Intervals[Name]) -> bool:
        """Return whether all adjoints that go through more points than there are take together no
        more of them than the definition has once more."""
        points = elements_of(self.tensor)
        for index_range in ranges:
            low, high = hull[index_range.name]
            points.times(number(high - low + 1))
        windows = sum(map(_has_window, reads_within(self.block)))
        allowed = points_of(next(iter(self.reads)))
        if allowed is None:
            return False
        allowed.number += allowed.number // max(windows, 1)
        return points.is_at_most(allowed)

    def _stays_inside(self, solution: Solution[Name], hull: Intervals[Name], forms: Forms) -> bool:
        """Return whether all that the definition reads beside the tensor is in bounds for all
        values of the free indices."""
        for op in reads_within(self.block):
            type_ = ir.RankedTensorType(op.operands[0].type)
            for axis, index in enumerate([] if op in self.reads else list(op.operands)[1:]):
                pieces = forms.pieces_of(index)
                if type_.is_dynamic_dim(axis) or pieces is None or len(pieces) != 1:
                    return False
                (piece,) = pieces
                if piece.quotients or any(n not in solution.point for n in piece.form.names):
                    return False
                interval = extent_of(piece.form.substitute(solution.point), hull)
                if interval is None or interval[0] < 0 or interval[1] >= type_.get_dim_size(axis):
                    return False
        return True


def _has_window(read: ir.Operation) -> bool:
    """Return whether an index of a read is a sum of several."""
    return any(len(linear_form(index).terms) > 1 for index in list(read.operands)[1:])
