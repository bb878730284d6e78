"""A plugin, `-p wide_threads`: threads take neighbouring iterations of every loop that can be
merged, however small, whether or not rows are whole numbers of vectors: `PYTHONPATH=test python -m
pytest -n 0 -p wide_threads --arch=simt test/sweeps/test_gathered_adjoints.py`. Tests of how many
launches or loops there are may fail."""

import mlirad.passes.gpu.merge_iterations as merge_iterations
from mlirad.dialect.field_layout import FieldLayout
from mlirad.passes.gpu.merge_iterations import axis_places, neighbours, whole_rows


def _lie_side_by_side(layout: FieldLayout) -> bool:
    is_plain = not layout.component_shape and len(layout.levels) == layout.rank
    return is_plain and layout.element_strides[-1:] == (layout.size,)


merge_iterations._LEAST_TRIPS = 1
neighbours._LEAST_FOR_ROWS = 1
neighbours.mark_aligned = lambda op, size: None
axis_places._MOSTLY = 0.0
whole_rows._has_whole_rows = _lie_side_by_side
