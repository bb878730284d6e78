"""The picture of `gravity`: orbits, brighter towards the present, and the error of the energy."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Array = NDArray[np.float64]

COLOURS = ("#ffb454", "#59c2ff")
BACKGROUND, INK = "#0b0e14", "#aab2c0"
WIDTH, HEIGHT, FOOT = 1430, 1105, 180  # pixels; the curve of the energy has the foot
FINER = 2  # times as many pixels in each direction while drawing, so that lines are smooth
PIECES = 24  # of an orbit, one brighter than the other
GLOW = (
    (18.0, 0.05),
    (11.5, 0.09),
    (6.5, 0.25),
    (3.4, 1.0),
)  # radius and strength of a core's light


class Sheet:
    """A picture on which light is laid, in units of its final pixels."""

    def __init__(self) -> None:
        self.image = Image.new("RGB", (FINER * WIDTH, FINER * HEIGHT), BACKGROUND)

    def lines(self, ways: Iterable[Array], colour: str, strength: float, width: float) -> None:
        """Lay lines through points; where they cross, the light is not stronger."""
        mask, pen = self._mask()
        for way in ways:
            points = (FINER * way).reshape(-1).tolist()
            pen.line(points, fill=round(255 * strength), width=max(1, round(FINER * width)))
        self.image.paste(colour, mask=mask)

    def discs(self, places: Array, radius: float, colour: str, strength: float = 1.0) -> None:
        """Lay discs."""
        mask, pen = self._mask()
        for x, y in FINER * places:
            r = FINER * radius
            pen.ellipse((x - r, y - r, x + r, y + r), fill=round(255 * strength))
        self.image.paste(colour, mask=mask)

    def text(self, place: tuple[float, float], content: str, size: float, anchor: str) -> None:
        """Write."""
        font: Any = ImageFont.load_default(FINER * size)
        x, y = place
        pen = ImageDraw.Draw(self.image)
        pen.text((FINER * x, FINER * y), content, fill=INK, font=font, anchor=anchor)

    def write(self, file: Path) -> None:
        """Write the picture. Raises OSError where the file cannot be written."""
        self.image.resize((WIDTH, HEIGHT), Image.Resampling.BOX).save(file)

    def _mask(self) -> tuple[Image.Image, ImageDraw.ImageDraw]:
        mask = Image.new("L", self.image.size)
        return mask, ImageDraw.Draw(mask)


def draw(path: Array, drift: Array, duration: float, owner: Array, file: Path) -> None:
    """Paint positions by step and body, of bodies that belong to one of two galaxies, the first of
    each its core; below them the relative error of the energy by step."""
    turn = np.radians(38)
    projected = [path[..., 0], path[..., 1] * np.cos(turn) + path[..., 2] * np.sin(turn)]
    sheet = Sheet()
    _draw_orbits(sheet, np.stack(projected, axis=-1), owner)
    _draw_drift(sheet, drift, duration)
    sheet.write(file)


def _draw_orbits(sheet: Sheet, path: Array, owner: Array) -> None:
    groups = [np.flatnonzero(owner == group) for group in range(len(COLOURS))]
    path = _placed(path, path[:, [group[0] for group in groups]].reshape(-1, 2))
    steps, count = path.shape[:2]
    tail = path[-max(2, int(0.4 * steps)) :]
    cuts = np.linspace(0, len(tail) - 1, PIECES + 1).astype(int)
    faint = min(1.0, 400 / count)
    for number, (start, end) in enumerate(pairwise(cuts)):
        strength = faint * (0.06 + 0.9 * ((number + 1) / PIECES) ** 2)
        for group_, colour in zip(groups, COLOURS):
            sheet.lines(tail[start : end + 1, group_].swapaxes(0, 1), colour, strength, 1)
    for group_, colour in zip(groups, COLOURS):
        core = path[:, group_[0]]
        dashes = [core[at : at + 2] for at in range(0, steps - 1, max(4, steps // 75))]
        sheet.lines(dashes, colour, 0.75, 1.5)
        sheet.discs(path[-1, group_[1:]], 1.4, colour, 0.9)
        for radius, strength in GLOW:
            sheet.discs(core[-1:], radius, colour, strength)
        sheet.discs(core[-1:], 1.6, "white")


def _placed(path: Array, cores: Array) -> Array:
    """In pixels, so that nearly all bodies are seen in the end, and the cores always."""
    low, high = np.percentile(path[-1], [0.5, 99.5], axis=0)
    low, high = np.minimum(low, cores.min(axis=0)), np.maximum(high, cores.max(axis=0))
    box = np.array([WIDTH, HEIGHT - FOOT])
    unit = 0.89 * min(box / (high - low))
    return (path - (low + high) / 2) * unit * [1, -1] + box / 2


def _draw_drift(sheet: Sheet, drift: Array, duration: float) -> None:
    left, right, top, bottom = 130.0, WIDTH - 43.0, HEIGHT - FOOT + 5.0, HEIGHT - 75.0
    low, high = min(drift.min(), 0.0), max(drift.max(), 0.0)
    scale = (bottom - top - 10) / max(high - low, 1e-300)
    curve = np.stack(
        [np.linspace(left, right, len(drift)), top + 5 + (high - drift) * scale], axis=-1
    )
    axes = np.array([[left, top], [left, bottom], [right, bottom]])
    sheet.lines([axes], INK, 0.4, 1.5)
    sheet.lines([curve], INK, 1.0, 1.5)
    for time in np.arange(0, duration + 1e-9, 2):
        sheet.text((left + (right - left) * time / duration, bottom + 8), f"{time:g}", 14, "mt")
    for value in (low, high):
        place = top + 5 + (high - value) * scale
        sheet.text((left - 10, place), f"{value:.1e}" if value else "0", 14, "rm")
    sheet.text(((left + right) / 2, bottom + 40), "time", 18, "mt")
    sheet.text((12, (top + bottom) / 2), "dE/E", 16, "lm")
