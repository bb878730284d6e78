"""The picture of a window, to draw on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlirad.checks import flag, instance, number
from mlirad.drawing.colour_maps import map_colours, normalize_range
from mlirad.drawing.colours import bytes_of_parts
from mlirad.drawing.images import as_rgb, image_bytes, rows_from_top
from mlirad.drawing.numbers import as_array, as_points, per_point
from mlirad.drawing.picture import Picture
from mlirad.ui.scene import Scene, colour_bytes, groups

_GREY = (0.5, 0.5, 0.5)


class Canvas:
    """A canvas on which you draw points, lines, triangles, images and scenes.

    Points are fields, ndarrays or arrays of shape (n, 2), from the lower left corner (0, 0) to the
    upper right corner (1, 1). Colors have 3 components from 0 to 1. Radii and widths are fractions
    of the height.

    Raises:
        ValueError: a shape is wrong, the number of colors or radii differs from that of points, or
            an index is out of range.
        TaichiTypeError: an argument does not consist of numbers.
    """

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self.background = np.zeros(3, np.uint8)

    def set_background_color(self, color: Sequence[float]) -> None:
        """Set the background color, 3 components from 0 to 1, from this frame on."""
        self.background = colour_bytes(color)
        self._picture.fill(self.background)

    def set_image(self, img: object) -> None:
        """Draw an image `[x, y]` over the whole window, gray or with up to four channels: floats
        from 0 to 1, or unsigned integers."""
        image = as_rgb(image_bytes(img))
        rows, columns = (np.arange(n) * m // n for n, m in zip(self._picture.size, image.shape))
        same = image.shape[:2] == self._picture.size
        fitted = image if same else image[np.ix_(rows, columns)]
        self._picture.pixels[..., :3] = rows_from_top(fitted)

    def contour(
        self, scalar_field: object, cmap_name: str = "plasma", normalize: bool = False
    ) -> None:
        """Draw a grid of numbers `[x, y]` by a color map, over the whole window. The numbers range
        from 0 to 1; with `normalize`, from their minimum to their maximum."""
        values = as_array(scalar_field, "scalar_field")
        chosen = normalize_range(values) if flag(normalize, "normalize") else values
        self.set_image(map_colours(chosen, cmap_name))

    def circles(
        self,
        centers: object,
        radius: float,
        color: Sequence[float] = _GREY,
        per_vertex_color: object = None,
        per_vertex_radius: object = None,
    ) -> None:
        """Draw discs, with one radius and color for all, or one for each."""
        points = as_points(centers, "centers")
        count = len(points)
        chosen = radius if per_vertex_radius is None else per_vertex_radius
        radii = per_point(chosen, count, "radius") * self._picture.size[1]
        colours = bytes_of_parts(color if per_vertex_color is None else per_vertex_color, count)
        self._picture.discs(points, np.maximum(radii, 0.5), colours)

    def lines(
        self,
        vertices: object,
        width: float,
        indices: object = None,
        color: Sequence[float] = _GREY,
        per_vertex_color: object = None,
    ) -> None:
        """Draw lines between pairs of points: those that `indices` lists, or the first two, the
        next two, and so on."""
        points = as_points(vertices, "vertices")
        pairs = groups(indices, len(points), 2)
        color_or_colors = color if per_vertex_color is None else per_vertex_color
        colours = bytes_of_parts(color_or_colors, len(points))[pairs[:, 0]]
        widths = np.full(len(pairs), number(width, "width") * self._picture.size[1] / 2)
        self._picture.lines(points[pairs[:, 0]], points[pairs[:, 1]], widths, colours)

    def triangles(
        self,
        vertices: object,
        color: Sequence[float] = _GREY,
        indices: object = None,
        per_vertex_color: object = None,
    ) -> None:
        """Draw triangles between points: those that `indices` lists, or the first three, the next
        three, and so on."""
        points = as_points(vertices, "vertices")
        corners = groups(indices, len(points), 3)
        color_or_colors = color if per_vertex_color is None else per_vertex_color
        colours = bytes_of_parts(color_or_colors, len(points))[corners[:, 0]]
        first, second, third = (points[corners[:, k]] for k in range(3))
        self._picture.triangles(first, second, third, colours)

    def scene(self, scene: Scene) -> None:
        """Draw what the camera of a scene sees. Raises TaichiTypeError if the argument is not a
        scene."""
        instance(scene, Scene, "scene", "a ti.ui.Scene")
        scene.draw(self._picture)
