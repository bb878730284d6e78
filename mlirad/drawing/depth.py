"""Spheres and triangles that hide one another."""

from __future__ import annotations

import numpy as np

from mlirad.drawing.colours import Bytes
from mlirad.drawing.numbers import Numbers

_AT_ONCE = 1 << 20  # pixels that are looked at together


class DepthPicture:
    """Pixels in rows from the top, with how far what they show is. Places are in pixels; colors
    are from 0 to 1."""

    def __init__(self, pixels: Bytes) -> None:
        self._pixels = pixels.reshape(-1, 4)
        self._height, self._width = pixels.shape[:2]
        self._depth = np.full(len(self._pixels), np.inf, np.float32)

    def _put(self, where: Numbers, depth: Numbers, colours: Numbers) -> None:
        """Show what is nearer than what is there."""
        np.minimum.at(self._depth, where, depth)
        nearest = self._depth[where] == depth
        self._pixels[where[nearest], :3] = np.clip(colours[nearest] * 255 + 0.5, 0, 255)

    def spheres(
        self, places: Numbers, depth: Numbers, radii: Numbers, colours: Numbers, light: Numbers
    ) -> None:
        """Draw spheres, bright where their surface looks to where light comes from."""
        order = np.argsort(radii, kind="stable")
        at = 0
        while at < len(order):
            # as many as fit, by the greatest among them
            reach = int(np.ceil(radii[order[at]] + 0.5))
            count = max(1, _AT_ONCE // (2 * reach + 3) ** 2)
            chosen = order[at : at + count]
            chosen = chosen[radii[chosen] <= reach + 0.5]
            self._draw_batch(places[chosen], depth[chosen], radii[chosen], colours[chosen], light)
            at += len(chosen)

    def _draw_batch(
        self, places: Numbers, depth: Numbers, radii: Numbers, colours: Numbers, light: Numbers
    ) -> None:
        reach = int(np.ceil(radii.max() + 0.5))
        around = np.arange(-reach, reach + 1)
        corner = np.floor(places).astype(int)
        columns, rows = corner[:, :1] + around, corner[:, 1:] + around
        size = np.maximum(radii, 0.5)[:, None]
        right = ((columns + 0.5 - places[:, :1]) / size).astype(np.float32)
        down = ((rows + 0.5 - places[:, 1:]) / size).astype(np.float32)
        right[(columns < 0) | (columns >= self._width)] = np.inf
        down[(rows < 0) | (rows >= self._height)] = np.inf
        away = down[:, :, None] ** 2 + right[:, None, :] ** 2
        # a sphere that is smaller than a pixel shows in one
        away[:, reach, reach] = np.where(np.isfinite(away[:, reach, reach]), 0, np.inf)
        number, row, column = np.nonzero(away <= 1)
        across, below = right[number, column], down[number, row]
        outward = np.sqrt(np.maximum(1 - away[number, row, column], 0))
        bright = np.maximum(across * light[0] - below * light[1] + outward * light[2], 0)
        where = rows[number, row] * self._width + columns[number, column]
        shade = colours[number] * (0.35 + 0.65 * bright)[:, None]
        self._put(where, depth[number].astype(np.float32), shade)

    def triangles(self, corners: Numbers, depth: Numbers, colours: Numbers) -> None:
        """Draw triangles: corners (n, 3, 2), their depths (n, 3) and colors (n, 3, 3)."""
        low = np.clip(np.floor(corners.min(axis=1)), 0, (self._width, self._height)).astype(int)
        high = np.clip(np.ceil(corners.max(axis=1)), 0, (self._width, self._height)).astype(int)
        spans = (high - low).max(axis=1)
        order = np.argsort(spans, kind="stable")
        order = order[spans[order] > 0]
        at = 0
        while at < len(order):
            reach = 1 << int(np.ceil(np.log2(max(1, spans[order[at]]))))
            chosen = order[at : at + max(1, _AT_ONCE // reach**2)]
            chosen = chosen[spans[chosen] <= reach]
            self._fill(corners[chosen], depth[chosen], colours[chosen], low[chosen], reach)
            at += len(chosen)

    def _fill(
        self, corners: Numbers, depth: Numbers, colours: Numbers, low: Numbers, reach: int
    ) -> None:
        columns = low[:, :1] + np.arange(reach)
        rows = low[:, 1:] + np.arange(reach)
        x, y = (columns + 0.5)[:, None, :], (rows + 0.5)[:, :, None]
        (ax, ay), (bx, by), (cx, cy) = (
            corners[:, k, :, None, None].swapaxes(0, 1) for k in range(3)
        )
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        with np.errstate(divide="ignore", invalid="ignore"):
            second = ((x - ax) * (cy - ay) - (y - ay) * (cx - ax)) / area
            third = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / area
        inside = (second >= 0) & (third >= 0) & (second + third <= 1)
        inside &= ((columns < self._width)[:, None, :]) & ((rows < self._height)[:, :, None])
        number, row, column = np.nonzero(inside)
        two, three = second[number, row, column], third[number, row, column]
        weights = np.stack([1 - two - three, two, three], axis=-1)
        where = rows[number, row] * self._width + columns[number, column]
        depths = (weights * depth[number]).sum(axis=1).astype(np.float32)
        self._put(where, depths, (weights[:, :, None] * colours[number]).sum(axis=1))
