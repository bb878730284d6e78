"""Fields and ndarrays as notebooks show them: some elements, and of what may be an image a picture.

Looking is not a read that a tape would note, and copies no more than what is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import numpy as np

from mlirad.lang.host.indexed_elements import OrderedElements
from mlirad.runtime.html import heading, table
from mlirad.runtime.memory.values import Values

CORNER = 8  # elements along an axis
_SMALLEST, _LARGEST = 16, 256  # pixels along an axis of a picture
_CHANNELS = 3


def array_html(
    title: str,
    shape: tuple[int, ...],
    element_shape: tuple[int, ...],
    elements: OrderedElements | None,
) -> str:
    """The title, a corner of the elements, and a picture of those with two axes. `elements` is
    None if they do not lie as one array: then there is only the title."""
    text = heading(f"{title}, shape {shape}")
    if elements is None:
        return text
    return text + "".join(draw(shape, element_shape, elements) for draw in (_picture, _corner))


def _corner(
    shape: tuple[int, ...], element_shape: tuple[int, ...], elements: OrderedElements
) -> str:
    leading, last = shape[:-2], shape[-2:]
    extents = [min(extent, CORNER) for extent in last]
    box = [*((0, 0) for _ in leading), *((0, extent - 1) for extent in extents)]
    corner = elements.read((*box, *((None, None),) * len(element_shape)))
    cells = corner.reshape(*([1] * (2 - len(last)) + extents), *element_shape)
    rows = [[_text(cell) for cell in row] for row in cells]
    if last and last[-1] > CORNER:
        rows = [[*row, "…"] for row in rows]
    if len(last) > 1 and last[0] > CORNER:
        rows.append(["…"] * len(rows[0]))
    where = heading(f"[{', '.join(['0'] * len(leading) + [':', ':'])}]") if leading else ""
    return where + table((), rows)


def _text(element: Values) -> str:
    if np.ndim(element):
        return f"[{', '.join(map(_text, element))}]"
    return f"{element:.6g}" if element.dtype.kind == "f" else str(element)


def _picture(
    shape: tuple[int, ...], element_shape: tuple[int, ...], elements: OrderedElements
) -> str:
    """A PNG of at most 256 pixels a side, by leaving out elements; nothing for what is no image."""
    if len(shape) != 2 or min(shape) < _SMALLEST or element_shape not in ((), (_CHANNELS,)):
        return ""
    view = elements.lend()
    if view is None:  # on a GPU
        view = elements.read(((None, None),) * (2 + len(element_shape)))
    steps = [-(-extent // _LARGEST) for extent in shape]
    sample = np.asarray(view[:: steps[0], :: steps[1]])
    pixels, said = (
        _grey(sample) if not element_shape else (_unit(sample), "0 to 1 are dark to light")
    )
    if sample.dtype == np.uint8:
        pixels, said = sample, "bytes"
    from PIL import Image  # which takes as long to load as all the rest of this

    buffer = BytesIO()
    Image.fromarray(np.ascontiguousarray(np.swapaxes(pixels, 0, 1)[::-1])).save(buffer, "PNG")
    from base64 import b64encode  # which nothing else wants

    text = b64encode(buffer.getvalue()).decode()
    return heading(said) + f'<img alt="elements" src="data:image/png;base64,{text}"/>'


def _grey(values: Values) -> tuple[Values, str]:
    """From the least to the greatest finite number, and what these are."""
    numbers = values.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return _unit(numbers), "no number is finite"
    low, high = float(finite.min()), float(finite.max())
    half = high / 2 - low / 2 or 0.5  # all of the width may be too large for a float
    pixels = _unit((numbers / 2 - low / 2) / half)
    return pixels, f"{low:.6g} to {high:.6g} are dark to light"


def _unit(values: Values) -> Values:
    bytes_: Values = (np.clip(np.nan_to_num(values), 0.0, 1.0) * 255).astype(np.uint8)
    return bytes_


def group_html(title: str, fields: Sequence[object]) -> str:
    """A group of fields, by what each says of itself."""
    return heading(title) + table((), [[repr(field)] for field in fields])
