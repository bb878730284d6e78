"""Frames of a simulation, drawn into arrays, and files of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw

Picture = NDArray[np.uint8]
Colour = tuple[int, int, int]

NIGHT, INK, GOLD, SKY, ROSE, LEAF = (
    (11, 14, 20),
    (170, 178, 192),
    (255, 180, 84),
    (89, 194, 255),
    (242, 122, 134),
    (149, 204, 120),
)
FINER = 3  # drawn larger, then made smaller: edges are smooth


class Canvas:
    """A square picture of the square from (0, 0) to (1, 1), with y upwards."""

    def __init__(self, size: int, background: Colour = NIGHT) -> None:
        self.size, self.scale = size, size * FINER
        self._image = Image.new("RGB", (self.scale, self.scale), background)
        self._draw = ImageDraw.Draw(self._image)

    def discs(self, centres: ArrayLike, radius: float, colours: Colour | Sequence[Colour]) -> None:
        """Discs of one radius, of one colour or one for each."""
        middles = np.atleast_2d(np.asarray(centres))
        colour_of_each = [colours] * len(middles) if isinstance(colours[0], int) else colours
        for middle, colour in zip(middles, colour_of_each):
            x, y = self._place(middle)
            r = max(radius * self.scale, 0.5)
            self._draw.ellipse((x - r, y - r, x + r, y + r), fill=colour)  # type: ignore[arg-type]

    def path(self, points: ArrayLike, width: float, colour: Colour) -> None:
        """A line from point to point."""
        places = [self._place(point) for point in np.asarray(points)]
        self._draw.line(places, fill=colour, width=max(1, round(width * self.scale)), joint="curve")

    def ring(self, centre: ArrayLike, radius: float, width: float, colour: Colour) -> None:
        """A circle."""
        (x, y), r = self._place(np.asarray(centre)), radius * self.scale
        thick = max(1, round(width * self.scale))
        self._draw.ellipse((x - r, y - r, x + r, y + r), outline=colour, width=thick)

    def picture(self) -> Picture:
        """Return the picture."""
        small = self._image.resize((self.size, self.size), Image.Resampling.LANCZOS)
        return np.asarray(small)

    def _place(self, point: ArrayLike) -> tuple[float, float]:
        x, y = np.asarray(point)
        return float(x) * self.scale, (1 - float(y)) * self.scale


def shades(values: ArrayLike, size: int, colours: Sequence[Colour]) -> Picture:
    """A field over the unit square, its values from 0 to 1 as a way through the colours; the first
    index is x."""
    turned = np.clip(np.asarray(values).T[::-1], 0, 1)
    stops = np.linspace(0, 1, len(colours))
    painted = np.stack(
        [np.interp(turned, stops, [colour[k] for colour in colours]) for k in range(3)], axis=-1
    )
    image = Image.fromarray(painted.round().astype(np.uint8))
    return np.asarray(image.resize((size, size), Image.Resampling.BICUBIC))


def save(frames: Sequence[Picture], file: Path) -> None:
    """Write a picture, or several as a video that repeats (.gif)."""
    images = [Image.fromarray(frame) for frame in frames]
    if file.suffix == ".gif":
        images[0].save(file, save_all=True, append_images=images[1:], duration=40, loop=0)
    else:
        images[-1].save(file)
