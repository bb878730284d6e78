"""The point of view of a scene."""

from __future__ import annotations

import math
from enum import Enum
from time import perf_counter
from typing import Protocol, runtime_checkable

import numpy as np

from mlirad.checks import instance, number
from mlirad.drawing.numbers import Numbers
from mlirad.errors import TaichiTypeError

FARTHEST = 1e100  # from the origin


class ProjectionMode(Enum):
    """A projection of a camera: perspective or orthogonal."""

    Perspective = 0
    Orthogonal = 1


@runtime_checkable
class InputSource(Protocol):
    """A window, as far as cameras are steered by it."""

    def is_pressed(self, *keys: str) -> bool:
        """Return whether a key is held."""

    def get_cursor_pos(self) -> tuple[float, float]:
        """Return the position of the mouse."""


class Camera:
    """A camera with a position, a point that it looks at, and an up direction."""

    def __init__(self) -> None:
        self.curr_position, self.curr_lookat = np.zeros(3), np.array([0.0, 0.0, 1.0])
        self.curr_up = np.array([0.0, 1.0, 0.0])
        self._mode, self._fov = ProjectionMode.Perspective, 45.0
        self._box = {"left": -1.0, "right": 1.0, "top": 1.0, "bottom": -1.0}
        self._near, self._far = 0.1, 1000.0
        self._cursor: tuple[float, float] | None = None
        self._time: float | None = None

    def position(self, x: float, y: float, z: float) -> None:
        """Move the camera to a point, in world coordinates."""
        self.curr_position = _point(x, y, z, "position")

    def lookat(self, x: float, y: float, z: float) -> None:
        """Look at a point, in world coordinates."""
        self.curr_lookat = _point(x, y, z, "lookat")

    def up(self, x: float, y: float, z: float) -> None:
        """Set the up direction of the picture."""
        self.curr_up = _point(x, y, z, "up")

    def projection_mode(self, mode: ProjectionMode) -> None:
        """Set how depth shows: `ti.ui.ProjectionMode.Perspective` (at first) or `Orthogonal`."""
        self._mode = instance(mode, ProjectionMode, "mode", "a ti.ui.ProjectionMode")

    def fov(self, fov: float) -> None:
        """Set the vertical angle of view, in degrees between 0 and 180."""
        self._fov = number(fov, "fov", low=1e-3, high=179.999)

    def left(self, left: float) -> None:
        """Set the left border of an orthogonal view."""
        self._box["left"] = number(left, "left")

    def right(self, right: float) -> None:
        """Set the right border of an orthogonal view."""
        self._box["right"] = number(right, "right")

    def top(self, top: float) -> None:
        """Set the upper border of an orthogonal view."""
        self._box["top"] = number(top, "top")

    def bottom(self, bottom: float) -> None:
        """Set the lower border of an orthogonal view."""
        self._box["bottom"] = number(bottom, "bottom")

    def z_near(self, z_near: float) -> None:
        """Set the depth from which things are visible."""
        self._near = number(z_near, "z_near")

    def z_far(self, z_far: float) -> None:
        """Set the depth up to which things are visible."""
        self._far = number(z_far, "z_far")

    def get_view_matrix(self) -> Numbers:
        """Return the 4×4 view matrix, for row vectors, from the world to the camera, which looks
        along -z."""
        away = _unit(self.curr_position - self.curr_lookat)
        right = _unit(np.cross(self.curr_up, away))
        turned = np.stack([right, np.cross(away, right), away], axis=-1)
        matrix = np.eye(4)
        matrix[:3, :3] = turned
        matrix[3, :3] = -self.curr_position @ turned
        return matrix

    def get_projection_matrix(self, aspect: float) -> Numbers:
        """Return the 4×4 projection matrix, for row vectors, from the camera to the cube from -1 to
        1 with depths from 0 to 1. `aspect` is width over height. Raises ValueError if `z_near`
        equals `z_far`."""
        aspect = number(aspect, "aspect", low=1e-6)
        matrix, span = np.zeros((4, 4)), self._near - self._far
        if not span:
            raise ValueError(f"z_near and z_far must differ, and are {self._near}")
        matrix[2, 2], matrix[3, 2] = self._far / span, self._near * self._far / span
        if self._mode is ProjectionMode.Perspective:
            scale = 1 / math.tan(math.radians(self._fov) / 2)
            matrix[0, 0], matrix[1, 1], matrix[2, 3] = scale / aspect, scale, -1
            return matrix
        box = self._box
        wide, high = box["right"] - box["left"], box["top"] - box["bottom"]
        if not (wide and high):
            raise ValueError(f"the borders of an orthogonal view must differ, and are {box}")
        matrix[0, 0], matrix[1, 1], matrix[3, 3] = 2 / wide, 2 / high, 1
        matrix[3, 0] = -(box["right"] + box["left"]) / wide
        matrix[3, 1] = -(box["top"] + box["bottom"]) / high
        matrix[2, 2], matrix[3, 2] = 1 / span, self._near / span
        return matrix

    def track_user_inputs(
        self,
        window: InputSource,
        movement_speed: float = 1.0,
        yaw_speed: float = 2.0,
        pitch_speed: float = 2.0,
        hold_key: str | None = None,
    ) -> None:
        """Move by the keys w, s, a, d, e, q, and turn with the mouse, while a key is held if one
        is given. Raises TaichiTypeError if `window` is not a window."""
        if not isinstance(window, InputSource):
            raise TaichiTypeError(f"window must be a ti.ui.Window, not {type(window).__name__}")
        movement_speed = number(movement_speed, "movement_speed")
        yaw_speed, pitch_speed = number(yaw_speed, "yaw_speed"), number(pitch_speed, "pitch_speed")
        now, cursor = perf_counter(), window.get_cursor_pos()
        passed = 60 * (0.0 if self._time is None else now - self._time)
        front = _unit(self.curr_lookat - self.curr_position)
        left = np.cross(self.curr_up, front)
        ways = {"w": front, "s": -front, "a": left, "d": -left}
        ways |= {"e": self.curr_up, "q": -self.curr_up}
        for key, way in ways.items():
            if window.is_pressed(key):
                self.curr_position = self.curr_position + way * movement_speed * passed
        if self._cursor is not None and (hold_key is None or window.is_pressed(hold_key)):
            across, upward = (b - a for a, b in zip(self._cursor, cursor))
            front = _turn(front, -across * yaw_speed * passed, upward * pitch_speed * passed)
        self.curr_lookat = self.curr_position + front
        self._time, self._cursor = now, cursor


def make_camera() -> Camera:
    """Return a camera at the origin."""
    return Camera()


def _point(x: float, y: float, z: float, subject: str) -> Numbers:
    return np.array([number(c, subject, low=-FARTHEST, high=FARTHEST) for c in (x, y, z)])


def _turn(front: Numbers, yaw: float, pitch: float) -> Numbers:
    """A direction turned around the y axis, and upwards, but not over the top."""
    around = math.atan2(front[0], front[2]) + yaw
    limit = 0.99 * math.pi / 2
    upward = min(max(math.asin(np.clip(front[1], -1, 1)) + pitch, -limit), limit)
    flat = math.cos(upward)
    return np.array([math.sin(around) * flat, math.sin(upward), math.cos(around) * flat])


def _unit(vector: Numbers) -> Numbers:
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector
