"""Many discs at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mlirad.drawing.colours import Bytes
from mlirad.drawing.numbers import Numbers

_AT_ONCE = 1 << 21  # pixels that are looked at together
_MANY_RUNS = 1000
_VAST = 1e7  # pixels, of a radius


def draw_discs(pixels: Bytes, centres: Numbers, radii: Numbers, colours: Bytes) -> None:
    """Draw discs with smooth rims, the later ones above the earlier ones; centers and radii in
    pixels from the upper left corner."""
    height, width = pixels.shape[:2]
    beyond = np.abs(centres - (width / 2, height / 2)) - (width / 2, height / 2)
    visible = (radii > 0) & (beyond < radii[:, None] + 1).all(axis=1)  # False for NaN
    centres, radii, colours = centres[visible], np.minimum(radii[visible], _VAST), colours[visible]
    packed = _pack(colours)
    for chosen, reach in _alike(radii, max(height, width)):
        _draw(pixels, centres[chosen], radii[chosen], packed[chosen], reach)


def _pack(colours: Bytes) -> Numbers:
    with_alpha = np.concatenate([colours, np.full((len(colours), 1), 255, np.uint8)], axis=1)
    return np.ascontiguousarray(with_alpha).view(np.uint32)[:, 0]


def _alike(radii: Numbers, side: int) -> Iterator[tuple[Numbers | slice, int]]:
    """Discs in order, or, where that takes too many steps, the greater ones first; with how far
    their pixels are from their centers."""
    if not radii.size:
        return
    powers = np.ceil(np.log2(np.maximum(radii, 1))).astype(int)
    starts = np.flatnonzero(np.diff(powers, prepend=-1))
    if len(starts) > _MANY_RUNS:
        order = np.argsort(-powers, kind="stable")
        starts = np.flatnonzero(np.diff(powers[order], prepend=-1))
    else:
        order = np.arange(len(radii))
    for begin, end in zip(starts, [*starts[1:], len(radii)]):
        reach = int(np.ceil(radii[order[begin:end]].max() + 0.5))
        step = max(1, _AT_ONCE // min(2 * reach + 1, side) ** 2)
        for at in range(begin, end, step):
            yield order[at : min(at + step, end)], reach


def _draw(pixels: Bytes, centres: Numbers, radii: Numbers, packed: Numbers, reach: int) -> None:
    """Draw discs of which no pixel is farther than a number of pixels from its center."""
    height, width = pixels.shape[:2]
    if 2 * reach + 1 > max(width, height):  # all pixels
        columns, rows = (np.arange(n, dtype=np.int32)[None] for n in (width, height))
        columns, rows = (np.repeat(axis, len(centres), axis=0) for axis in (columns, rows))
    else:
        corner = np.floor(centres).astype(np.int32)
        around = np.arange(-reach, reach + 1, dtype=np.int32)
        columns, rows = corner[:, :1] + around, corner[:, 1:] + around
    right = (columns + 0.5 - centres[:, :1]).astype(np.float32)
    down = (rows + 0.5 - centres[:, 1:]).astype(np.float32)
    # beyond the rim of the picture, infinitely far
    right[(columns < 0) | (columns >= width)] = np.inf
    down[(rows < 0) | (rows >= height)] = np.inf
    away = down[:, :, None] ** 2 + right[:, None, :] ** 2
    outside = (radii.astype(np.float32) + np.float32(0.5)) ** 2
    number, row, column = np.nonzero(away < outside[:, None, None])
    cover = radii[number].astype(np.float32) + np.float32(0.5)
    cover -= np.sqrt(away[number, row, column])
    places = rows[number, row] * width + columns[number, column]
    _blend(pixels, places, cover, number, packed)


def _blend(
    pixels: Bytes, places: Numbers, cover: Numbers, number: Numbers, packed: Numbers
) -> None:
    """Put colors on pixels: of those that cover one whole the last, and above it rims."""
    flat = pixels.reshape(-1, 4)
    covers = cover >= 1
    inks = packed[number]
    flat.view(np.uint32)[places[covers], 0] = inks[covers]
    above = ~covers
    if len(packed) > 1:
        covering = np.full(len(flat), -1, np.int32)
        covering[places[covers]] = number[covers]
        above &= number > covering[places]
    there, share = places[above], cover[above][:, None]
    ink = inks[above].view(np.uint8).reshape(-1, 4)[:, :3]
    flat[there, :3] = (flat[there, :3] * (1 - share) + ink * share + 0.5).astype(np.uint8)
