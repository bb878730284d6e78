"""Shapes that a program draws, from the lower left corner (0, 0) to the upper right one (1, 1)."""

from __future__ import annotations

import math

import numpy as np

from mlirad.checks import integer, number
from mlirad.drawing.colours import colours_of_integers, colours_of_palette
from mlirad.drawing.numbers import Numbers, as_array, as_points, per_point
from mlirad.drawing.picture import Picture


class Shapes:
    """Draws on a picture. Colors are integers `0xRRGGBB`, one for all shapes or one each; points
    are arrays, fields or lists; radii are in pixels."""

    picture: Picture

    def circle(self, pos: object, color: object = 0xFFFFFF, radius: float = 1) -> None:
        """Draw a disc."""
        self.circles(pos, radius, color)

    def circles(
        self,
        pos: object,
        radius: object = 1,
        color: object = 0xFFFFFF,
        palette: object = None,
        palette_indices: object = None,
    ) -> None:
        """Draw discs; indices may choose colors from a list. Raises ValueError if the number of
        radii, colors, or indices differs from the number of discs."""
        points = as_points(pos, "pos")
        count = len(points)
        colours = (
            colours_of_integers(color, count)
            if palette is None
            else colours_of_palette(palette, palette_indices, count)
        )
        self.picture.discs(points, per_point(radius, count, "radius"), colours)

    def line(self, begin: object, end: object, radius: float = 1, color: object = 0xFFFFFF) -> None:
        """Draw a line."""
        self.lines(begin, end, radius, color)

    def lines(
        self, begin: object, end: object, radius: object = 1, color: object = 0xFFFFFF
    ) -> None:
        """Draw lines. Raises ValueError if there are more ends than beginnings."""
        begins, ends = as_points(begin, "begin"), as_points(end, "end")
        _check_same(begins, ends, "ends")
        count = len(begins)
        widths = per_point(radius, count, "radius")
        self.picture.lines(begins, ends, widths, colours_of_integers(color, count))

    def triangle(self, a: object, b: object, c: object, color: object = 0xFFFFFF) -> None:
        """Draw a triangle."""
        self.triangles(a, b, c, color)

    def triangles(self, a: object, b: object, c: object, color: object = 0xFFFFFF) -> None:
        """Draw triangles by their first, second and third corners. Raises ValueError if the numbers
        of corners differ."""
        first, second, third = as_points(a, "a"), as_points(b, "b"), as_points(c, "c")
        for other in (second, third):
            _check_same(first, other, "corners")
        self.picture.triangles(first, second, third, colours_of_integers(color, len(first)))

    def rect(
        self, topleft: object, bottomright: object, radius: float = 1, color: object = 0xFFFFFF
    ) -> None:
        """Draw the sides of a rectangle between two points. Raises ValueError if there are more
        points."""
        first, last = as_points(topleft, "topleft"), as_points(bottomright, "bottomright")
        if not len(first) == len(last) == 1:
            raise ValueError("topleft and bottomright must be one point each")
        (left, top), (right, bottom) = first[0], last[0]
        corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
        self.lines(corners, np.roll(corners, -1, axis=0), radius, color)

    def text(
        self, content: str, pos: object, font_size: float = 15, color: object = 0xFFFFFF
    ) -> None:
        """Write a text, with its upper left corner at a point and its height in pixels. Raises
        ValueError if there are several points."""
        colour, points = colours_of_integers(color, 1)[0], as_points(pos, "pos")
        if len(points) != 1:
            raise ValueError(f"pos must be one point, not {len(points)}")
        self.picture.text(str(content), points[0], number(font_size, "font_size"), colour)

    def arrow(
        self,
        orig: object,
        direction: object,
        radius: float = 1,
        color: object = 0xFFFFFF,
        tip_scale: float = 0.2,
        angle: float = 45,
    ) -> None:
        """Draw an arrow from a point."""
        self.arrows(orig, direction, radius, color, tip_scale, angle)

    def arrows(
        self,
        orig: object,
        direction: object,
        radius: object = 1,
        color: object = 0xFFFFFF,
        tip_scale: float = 0.2,
        angle: float = 45,
    ) -> None:
        """Draw arrows from points. `tip_scale` is the length of the sides of a tip relative to the
        arrow, and `angle` is their angle to it in degrees."""
        begins, ways = as_points(orig, "orig"), as_points(direction, "direction")
        _check_same(begins, ways, "directions")
        ends = begins + ways
        self.lines(begins, ends, radius, color)
        angle, tip_scale = number(angle, "angle"), number(tip_scale, "tip_scale")
        for turn in (math.radians(180 - angle), math.radians(180 + angle)):
            cosine, sine = math.cos(turn), math.sin(turn)
            sides = ways @ np.array([[cosine, sine], [-sine, cosine]]) * tip_scale
            self.lines(ends, ends + sides, radius, color)

    def point_field(self, radius: object, color: object = 0xFFFFFF, bound: float = 0.5) -> None:
        """Draw a grid of discs by their radii. Raises ValueError if the radii are not a grid."""
        radii = as_array(radius, "radius")
        if radii.ndim != 2:
            raise ValueError(f"radius must be a grid, not of shape {radii.shape}")
        self.circles(_grid(radii.shape[0], radii.shape[1], bound), radii.reshape(-1), color)

    def arrow_field(
        self,
        direction: object,
        radius: object = 1,
        color: object = 0xFFFFFF,
        bound: float = 0.5,
        tip_scale: float = 0.2,
        angle: float = 45,
    ) -> None:
        """Draw a grid of arrows. Raises ValueError if `direction` is not a grid of vectors."""
        ways = as_array(direction, "direction")
        if ways.ndim != 3 or ways.shape[2] != 2:
            raise ValueError(f"direction must be a grid of vectors, not of shape {ways.shape}")
        starts = _grid(ways.shape[0], ways.shape[1], bound)
        self.arrows(starts, ways.reshape(-1, 2), radius, color, tip_scale, angle)

    def vector_field(
        self, vector_field: object, arrow_spacing: int = 5, color: object = 0xFFFFFF
    ) -> None:
        """Draw some arrows of a grid of vectors; the longest is a tenth of the picture. Raises
        ValueError if `vector_field` is not a grid of vectors."""
        ways = as_array(vector_field, "vector_field")
        if ways.ndim != 3 or ways.shape[2] != 2:
            raise ValueError(f"vector_field must be a grid of vectors, not of shape {ways.shape}")
        arrow_spacing = integer(arrow_spacing, "arrow_spacing", low=1)
        longest = np.linalg.norm(ways, axis=-1).max(initial=0.0)
        chosen = ways[::arrow_spacing, ::arrow_spacing] * (0.1 / (longest + 1e-16))
        across, up = np.meshgrid(
            np.arange(chosen.shape[0]) * arrow_spacing / ways.shape[0],
            np.arange(chosen.shape[1]) * arrow_spacing / ways.shape[1],
            indexing="ij",
        )
        self.arrows(np.stack([across, up], axis=-1), chosen, color=color)


def _grid(width: int, height: int, bound: float) -> Numbers:
    """Points of a grid, the second index first to change."""
    rim = number(bound, "bound")
    across, up = (np.linspace(rim / max(n, 1), 1 - rim / max(n, 1), n) for n in (width, height))
    return np.stack(np.meshgrid(across, up, indexing="ij"), axis=-1).reshape(-1, 2)


def _check_same(first: Numbers, other: Numbers, noun: str) -> None:
    if len(first) != len(other):
        raise ValueError(f"{len(first)} shapes have {len(other)} {noun}")
