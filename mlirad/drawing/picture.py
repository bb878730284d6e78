"""A picture that NumPy and Pillow draw on."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from mlirad.drawing.colours import Bytes
from mlirad.drawing.discs import draw_discs
from mlirad.drawing.numbers import Numbers

LARGEST = 1 << 14  # pixels to a side
_FAR = 30_000  # pixels, beyond which Pillow counts in another way
_TALL = 1000  # pixels of a letter
_font = lru_cache(maxsize=32)(ImageFont.load_default)


class Picture:
    """Rows of pixels from the top, red, green, blue and 255. Points are in parts of its width and
    height, from the lower left corner."""

    def __init__(self, size: tuple[int, int]) -> None:
        width, height = size
        if not (1 <= width <= LARGEST and 1 <= height <= LARGEST):
            raise ValueError(
                f"a picture has a width and a height of at least 1, and at most {LARGEST}, "
                f"not {size}"
            )
        self.size = width, height
        self.pixels: Bytes = np.zeros((height, width, 4), np.uint8)
        # Pillow draws into the same memory
        shared: Any = Image.frombuffer("RGBA", self.size, self.pixels, "raw", "RGBA", 0, 1)
        shared.readonly = 0
        self._image: Image.Image = shared
        self._draw = ImageDraw.Draw(shared)
        self.fill(np.zeros(3, np.uint8))

    def fill(self, colour: Bytes) -> None:
        """Give all pixels one color."""
        self.pixels[..., :3] = colour
        self.pixels[..., 3] = 255

    def places(self, points: Numbers) -> Numbers:
        """Points in pixels, from the upper left corner."""
        width, height = self.size
        return np.stack([points[:, 0] * width, (1 - points[:, 1]) * height], axis=-1)

    def discs(self, points: Numbers, radii: Numbers, colours: Bytes) -> None:
        """Draw discs, the later ones above the earlier ones."""
        draw_discs(self.pixels, self.places(points), radii, colours)

    def lines(self, begins: Numbers, ends: Numbers, radii: Numbers, colours: Bytes) -> None:
        """Draw lines of twice a radius in width."""
        longer = (begins != ends).any(axis=1)  # than a point
        ways = [self.places(begins[longer]), self.places(ends[longer])]
        wide = np.nan_to_num(np.rint(2 * radii[longer]), nan=1, posinf=_FAR)
        widths = np.clip(wide, 1, _FAR).astype(int)
        self._polygons(np.concatenate(ways, axis=-1), colours[longer], widths)

    def triangles(self, first: Numbers, second: Numbers, third: Numbers, colours: Bytes) -> None:
        """Draw triangles by their corners."""
        corners = [self.places(points) for points in (first, second, third)]
        self._polygons(np.concatenate(corners, axis=-1), colours, None)

    def _polygons(self, ways: Numbers, colours: Bytes, widths: Numbers | None) -> None:
        drawn = np.isfinite(ways).all(axis=1)
        corners = np.clip(ways[drawn], -_FAR, _FAR).tolist()
        inks = [(*colour, 255) for colour in colours[drawn].tolist()]
        if widths is None:
            for corner, ink in zip(corners, inks):
                self._draw.polygon(corner, fill=ink)
            return
        for corner, ink, width in zip(corners, inks, widths[drawn].tolist()):
            self._draw.line(corner, fill=ink, width=width)

    def text(self, content: str, point: Numbers, size: float, colour: Bytes) -> None:
        """Write a text, whose upper left corner is at a point."""
        place = self.places(point.reshape(1, 2))[0]
        if not (np.abs(place) < _FAR).all():
            return  # nobody sees it
        x, y = place.tolist()
        ink = (*colour.tolist(), 255)
        self._draw.text((x, y), content, fill=ink, font=_font(min(max(1.0, float(size)), _TALL)))

    def rows(self) -> Bytes:
        """Rows of three bytes a pixel, from the top."""
        return self.pixels[..., :3]
