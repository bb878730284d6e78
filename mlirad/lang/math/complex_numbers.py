"""Complex numbers as 2-vectors of real and imaginary part: `ti.math.cmul` and its kin."""

from __future__ import annotations

from typing import Any

from mlirad.frontend.python import functions as fn
from mlirad.frontend.python.matrix import Matrix
from mlirad.frontend.python.scalar import Scalar
from mlirad.lang.matrix import Vector


def cmul(left: Matrix, right: Matrix) -> Any:
    """The product."""
    return Vector(
        [left[0] * right[0] - left[1] * right[1], left[0] * right[1] + left[1] * right[0]]
    )


def cconj(z: Matrix) -> Any:
    """The conjugate."""
    return Vector([z[0], -z[1]])


def cdiv(left: Matrix, right: Matrix) -> Any:
    """The quotient."""
    return cmul(left, cconj(right)) / right.dot(right)


def cinv(z: Matrix) -> Any:
    """The reciprocal."""
    return cconj(z) / z.dot(z)


def csqrt(z: Matrix) -> Any:
    """The square root in the right half plane."""
    radius, angle = fn.sqrt(z.norm()), fn.atan2(z[1], z[0]) * 0.5
    return Vector([radius * fn.cos(angle), radius * fn.sin(angle)])


def cpow(z: Matrix, exponent: Scalar) -> Any:
    """A real power, by the principal angle; 0 stays 0."""
    square = z.dot(z)
    angle = fn.atan2(z[1], z[0]) * exponent
    radius = fn.pow(fn.select(square > 0, square, 1.0), 0.5 * exponent)
    return fn.select(
        square > 0, Vector([radius * fn.cos(angle), radius * fn.sin(angle)]), Vector([0.0, 0.0])
    )


def cexp(z: Matrix) -> Any:
    """The exponential."""
    radius = fn.exp(z[0])
    return Vector([radius * fn.cos(z[1]), radius * fn.sin(z[1])])


def clog(z: Matrix) -> Any:
    """The principal logarithm."""
    return Vector([fn.log(z.norm()), fn.atan2(z[1], z[0])])
