"""Fields and ndarrays as Python shows them: their shapes, and some elements."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from mlirad.lang.host.indexed_elements import OrderedElements
from mlirad.runtime.memory.values import Values

_ALL = 200  # elements that are shown all
_EDGE = 3  # elements that are shown at each end of an axis of a larger array


def array_text(
    title: str,
    shape: tuple[int, ...],
    element_shape: tuple[int, ...],
    elements: OrderedElements | None,
) -> str:
    """Return the title, the shape, and elements as NumPy shows them. `elements` is None if they do
    not lie as one array: then there are none."""
    head = f"{title}, shape {shape}"
    if elements is None:
        return f"<{head}>"
    is_large = prod((*shape, *element_shape)) > _ALL
    values = _edges(shape, element_shape, elements) if is_large else elements.read()
    text = np.array2string(values, threshold=0 if is_large else _ALL + 1, edgeitems=_EDGE)
    return f"<{head}:{' ' if np.ndim(values) < 2 else chr(10)}{text}>"


def _edges(
    shape: tuple[int, ...], element_shape: tuple[int, ...], elements: OrderedElements
) -> Values:
    """Return an array that NumPy abbreviates to what it would show of all elements."""
    least = 2 * _EDGE + 1
    edges = [
        [(0, extent - 1)] if extent <= least else [(0, _EDGE - 1), (extent - _EDGE, extent - 1)]
        for extent in shape
    ]
    extents = [min(extent, least) for extent in shape]
    result: Values | None = None
    for box in product(*edges):
        values = elements.read((*box, *((None, None),) * len(element_shape)))
        if result is None:
            result = np.zeros((*extents, *element_shape), values.dtype)
        starts = [m - _EDGE if low else 0 for (low, _), m in zip(box, extents)]
        ends = [start + high - low + 1 for start, (low, high) in zip(starts, box)]
        result[tuple(map(slice, starts, ends))] = values
    assert result is not None
    return result
