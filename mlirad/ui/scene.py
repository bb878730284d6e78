"""Points, lines and meshes in space."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mlirad.checks import instance, integer, number, numbers
from mlirad.drawing.colours import Bytes, as_bytes
from mlirad.drawing.depth import DepthPicture
from mlirad.drawing.numbers import Numbers, as_array, as_points, per_point
from mlirad.drawing.picture import Picture
from mlirad.errors import TaichiRuntimeError
from mlirad.ui.camera import Camera

_Colour = Sequence[float]
_GREY = (0.5, 0.5, 0.5)


class Scene:
    """The shapes of one frame, seen by a camera, under lights.

    Points are fields, ndarrays or arrays of shape (n, 3); they and radii are in world coordinates.
    Colors have 3 components from 0 to 1.

    Raises:
        ValueError: a shape is wrong, the number of colors or radii differs from that of points, or
            an index is out of range.
        TaichiTypeError: an argument does not consist of numbers.
    """

    def __init__(self) -> None:
        self._camera: Camera | None = None
        self._draw_calls: list[Callable[[View], None]] = []
        self._lights: list[tuple[Numbers, Numbers]] = []
        self._ambient = np.zeros(3)

    def set_camera(self, camera: Camera) -> None:
        """Set the camera. Raises TaichiTypeError if the argument is not a camera."""
        self._camera = instance(camera, Camera, "camera", "a ti.ui.Camera")

    def point_light(self, pos: _Colour, color: _Colour) -> None:
        """Add a light at a point, for this frame."""
        self._lights.append((np.array(numbers(pos, 3, "pos")), _colour(color)))

    def ambient_light(self, color: _Colour) -> None:
        """Add ambient light, for this frame."""
        self._ambient = _colour(color)

    def particles(
        self,
        centers: object,
        radius: float,
        color: _Colour = _GREY,
        per_vertex_color: object = None,
        per_vertex_radius: object = None,
        index_offset: int = 0,
        index_count: int | None = None,
    ) -> None:
        """Add spheres, with one radius and color for all, or one for each: at all points, or at
        `index_count` points from `index_offset` on."""
        index_offset = integer(index_offset, "index_offset", low=0)
        end = None
        if index_count is not None:
            end = index_offset + integer(index_count, "index_count", low=0)
        points = as_points(centers, "centers", 3)[index_offset:end]
        chosen = radius if per_vertex_radius is None else per_vertex_radius
        radii = per_point(chosen, len(points), "radius")
        colours = _colours(color, per_vertex_color, len(points))
        self._draw_calls.append(lambda view: view.particles(points, radii, colours))

    def lines(
        self,
        vertices: object,
        width: float,
        indices: object = None,
        color: _Colour = _GREY,
        per_vertex_color: object = None,
    ) -> None:
        """Add lines between pairs of points: those that `indices` lists, or the first two, the next
        two, and so on. `width` is in pixels."""
        points = as_points(vertices, "vertices", 3)
        pairs = groups(indices, len(points), 2)
        colours = _colours(color, per_vertex_color, len(points))
        wide = number(width, "width")
        self._draw_calls.append(lambda view: view.lines(points, pairs, wide, colours))

    def mesh(
        self,
        vertices: object,
        indices: object = None,
        normals: object = None,
        color: _Colour = _GREY,
        per_vertex_color: object = None,
        two_sided: bool = False,
        show_wireframe: bool = False,
    ) -> None:
        """Add triangles between points: those that `indices` lists, or the first three, the next
        three, and so on. They are lit from both sides. `show_wireframe` draws only edges. `normals`
        (n, 3) belong to the points, by default the mean of the triangles around each."""
        points = as_points(vertices, "vertices", 3)
        corners = groups(indices, len(points), 3)
        colours = _colours(color, per_vertex_color, len(points))
        ways = _normals(points, corners) if normals is None else as_points(normals, "normals", 3)
        if show_wireframe:
            edges = corners[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
            self._draw_calls.append(lambda view: view.lines(points, edges, 1, colours))
            return
        self._draw_calls.append(lambda view: view.mesh(points, corners, ways, colours))

    def draw(self, picture: Picture) -> None:
        """Draw what the camera sees, and begin the next frame. Raises TaichiRuntimeError if there
        is no camera."""
        if self._camera is None:
            raise TaichiRuntimeError("a scene has no camera: use scene.set_camera(camera)")
        view = View(picture, self._camera, self._lights, self._ambient)
        for draw in self._draw_calls:
            draw(view)
        self._draw_calls, self._lights, self._ambient = [], [], np.zeros(3)


class View:
    """The view of a camera, on a picture."""

    def __init__(
        self,
        picture: Picture,
        camera: Camera,
        lights: Sequence[tuple[Numbers, Numbers]],
        ambient: Numbers,
    ) -> None:
        self._picture, self._depth = picture, DepthPicture(picture.pixels)
        self._eye = camera.get_view_matrix()
        self._lens = camera.get_projection_matrix(picture.size[0] / picture.size[1])
        self._lights, self._ambient = lights, ambient

    def _project(self, points: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """Places in pixels, depths, sizes in pixels of a unit there, and which are in front of the
        camera."""
        four = np.concatenate([points, np.ones((len(points), 1))], axis=1)
        clip = four @ self._eye @ self._lens
        far = clip[:, 3]
        front = (far > 1e-6) & (clip[:, 2] >= 0) & (clip[:, 2] <= far)
        far = np.where(far > 1e-6, far, 1.0)
        positions = clip[:, :2] / far[:, None] / 2 + 0.5
        size = self._picture.size[1] / 2 * self._lens[1, 1] / far
        return self._picture.places(positions), clip[:, 2] / far, size, front

    def particles(self, points: Numbers, radii: Numbers, colours: Numbers) -> None:
        """Draw spheres."""
        places, depth, size, front = self._project(points)
        visible = front & np.isfinite(places).all(axis=1)
        if not visible.any():
            return
        middle = points[visible].mean(axis=0)
        way = self._lights[0][0] - middle if self._lights else np.array([0.0, 0.0, 0.0])
        light = _unit(way[None] @ self._eye[:3, :3])[0] if self._lights else np.array([0, 0, 1.0])
        in_pixels = np.clip(np.nan_to_num(radii * size), 0, max(self._picture.size))
        shades = colours * self._brightest()
        self._depth.spheres(
            places[visible], depth[visible], in_pixels[visible], shades[visible], light
        )

    def _brightest(self) -> Numbers:
        lit = sum((colour for _, colour in self._lights), np.array(self._ambient))
        return np.clip(lit, 0, 1) if lit.any() else np.ones(3)

    def lines(self, points: Numbers, pairs: Numbers, width: float, colours: Numbers) -> None:
        """Draw lines, above what is there."""
        places, _, _, front = self._project(points)
        visible = pairs[front[pairs].all(axis=1)]
        flat = places / self._picture.size
        flat[:, 1] = 1 - flat[:, 1]
        widths = np.full(len(visible), max(width, 1) / 2)
        inks = as_bytes(colours[visible].mean(axis=1))
        self._picture.lines(flat[visible[:, 0]], flat[visible[:, 1]], widths, inks)

    def mesh(self, points: Numbers, corners: Numbers, ways: Numbers, colours: Numbers) -> None:
        """Draw triangles that are in front of the camera with all corners."""
        places, depth, _, front = self._project(points)
        visible = corners[front[corners].all(axis=1)]
        shades = np.clip(colours * self._bright(points, ways), 0, 1)
        self._depth.triangles(places[visible], depth[visible], shades[visible])

    def _bright(self, points: Numbers, ways: Numbers) -> Numbers:
        """The light at points whose surfaces look some ways, to both sides."""
        if not self._lights:
            return self._ambient if self._ambient.any() else np.ones(3)
        lit = np.broadcast_to(self._ambient, points.shape).copy()
        for place, colour in self._lights:
            facing = np.abs((_unit(place - points) * _unit(ways)).sum(axis=1, keepdims=True))
            lit += facing * colour
        return lit


def _colours(color: _Colour, per_vertex: object, count: int) -> Numbers:
    """A color for each point. Raises ValueError for another number of them."""
    colours = as_array(color if per_vertex is None else per_vertex, "color").astype(float)
    if not colours.ndim or colours.shape[-1] not in (3, 4):
        raise ValueError(
            f"expected one color of 3 components, or {count} of them, got shape {colours.shape}"
        )
    colours = np.nan_to_num(colours.reshape(-1, colours.shape[-1])[:, :3])
    if len(colours) not in (1, count):
        raise ValueError(f"there are {len(colours)} colors for {count} points")
    return np.broadcast_to(colours, (count, 3))


def groups(indices: object, count: int, size: int) -> Numbers:
    """Pairs or triples of points. Raises ValueError for indices that are none."""
    numbers = np.arange(count // size * size) if indices is None else as_array(indices, "indices")
    if numbers.dtype.kind == "f" and not (np.abs(numbers.astype(np.float64)) < 2.0**62).all():
        raise ValueError("indices must be integers, not such numbers as nan and inf")
    flat = numbers.reshape(-1).astype(int)
    if flat.size % size or (flat.size and not 0 <= flat.min() <= flat.max() < count):
        raise ValueError(f"indices are from 0 to {count - 1}, {size} each, not {flat.size} of them")
    return flat.reshape(-1, size)


def _normals(points: Numbers, corners: Numbers) -> Numbers:
    """The mean normals of the triangles around points."""
    first, second, third = (points[corners[:, k]] for k in range(3))
    flat = np.cross(second - first, third - first)
    normals = np.zeros_like(points)
    for k in range(3):
        np.add.at(normals, corners[:, k], flat)
    return normals


def _unit(vectors: Numbers) -> Numbers:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def _colour(color: object) -> Numbers:
    """The parts of one color. Raises ValueError for another number of them than three or four."""
    parts_of_one = as_array(color, "color").astype(float)
    if parts_of_one.shape not in ((3,), (4,)) or not np.isfinite(parts_of_one).all():
        raise ValueError(
            f"color must be 3 components from 0 to 1, not {parts_of_one.tolist()}"[:200]
        )
    return parts_of_one[:3]


def colour_bytes(color: _Colour) -> Bytes:
    """Return a color as bytes."""
    return as_bytes(_colour(color))
