"""Homogeneous 4×4 matrices of graphics: moves, scalings and rotations."""

from __future__ import annotations

from typing import Any

from mlirad.frontend.python.values import functions as fn
from mlirad.frontend.python.values import matrix as fm
from mlirad.frontend.python.values.scalar import Scalar
from mlirad.lang.matrix import Matrix, Vector


def translate(dx: Scalar, dy: Scalar, dz: Scalar) -> Any:
    """Return the 4×4 matrix, in homogeneous coordinates, that translates points (column
    vectors)."""
    return Matrix(
        [[1.0, 0.0, 0.0, dx], [0.0, 1.0, 0.0, dy], [0.0, 0.0, 1.0, dz], [0.0, 0.0, 0.0, 1.0]]
    )


def scale(sx: Scalar, sy: Scalar, sz: Scalar) -> Any:
    """Return the 4×4 matrix, in homogeneous coordinates, that scales along the axes."""
    return Matrix(
        [[sx, 0.0, 0.0, 0.0], [0.0, sy, 0.0, 0.0], [0.0, 0.0, sz, 0.0], [0.0, 0.0, 0.0, 1.0]]
    )


def rot_by_axis(axis: fm.Matrix, angle: Scalar) -> Any:
    """Return the 4×4 rotation by an angle in radians about an axis, for row vectors; transpose it
    for column vectors. The axis is a vector of 3 entries of any length except 0."""
    c, s = fn.cos(angle), fn.sin(angle)
    x, y, z = axis.normalized().entries
    k = 1.0 - c
    return Matrix(
        [
            [c + k * x * x, k * x * y + s * z, k * x * z - s * y, 0.0],
            [k * y * x - s * z, c + k * y * y, k * y * z + s * x, 0.0],
            [k * z * x + s * y, k * z * y - s * x, c + k * z * z, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def rot_yaw_pitch_roll(yaw: Scalar, pitch: Scalar, roll: Scalar) -> Any:
    """Return the 4×4 rotation about z by `roll`, then about x by `pitch`, then about y by `yaw`, in
    radians, for row vectors."""
    x, y, z = Vector([1.0, 0.0, 0.0]), Vector([0.0, 1.0, 0.0]), Vector([0.0, 0.0, 1.0])
    return rot_by_axis(z, roll) @ rot_by_axis(x, pitch) @ rot_by_axis(y, yaw)


def rotation3d(angle_x: Scalar, angle_y: Scalar, angle_z: Scalar) -> Any:
    """Return the 4×4 rotation by Euler angles in radians, `rot_yaw_pitch_roll(angle_z, angle_x,
    angle_y)`: about z by `angle_y`, about x by `angle_x`, then about y by `angle_z`."""
    return rot_yaw_pitch_roll(angle_z, angle_x, angle_y)
