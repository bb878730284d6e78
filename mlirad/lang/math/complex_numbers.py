"""Complex numbers as 2-vectors of real and imaginary part: `ti.math.cmul` and its kin."""

from __future__ import annotations

from typing import Any

from mlirad.frontend.python.values import functions as fn
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Scalar
from mlirad.lang.matrix import Vector


def cmul(left: Matrix, right: Matrix) -> Any:
    """The product of two complex numbers, vectors of 2 entries (real and imaginary part)."""
    return Vector(
        [left[0] * right[0] - left[1] * right[1], left[0] * right[1] + left[1] * right[0]]
    )


def cconj(z: Matrix) -> Any:
    """The conjugate of a complex number; see `cmul`."""
    return Vector([z[0], -z[1]])


def cdiv(left: Matrix, right: Matrix) -> Any:
    """The quotient of two complex numbers; see `cmul`. By 0 it is NaN in kernels, ZeroDivisionError
    in Python scope."""
    return cmul(left, cconj(right)) / right.dot(right)


def cinv(z: Matrix) -> Any:
    """The reciprocal of a complex number; see `cdiv`."""
    return cconj(z) / z.dot(z)


def csqrt(z: Matrix) -> Any:
    """The square root of a complex number that lies in the right half plane; see `cmul`."""
    radius, angle = fn.sqrt(z.norm()), fn.atan2(z[1], z[0]) * 0.5
    return Vector([radius * fn.cos(angle), radius * fn.sin(angle)])


def cpow(z: Matrix, exponent: Scalar) -> Any:
    """A power with a real exponent of a complex number, by its angle from -π to π; 0 stays 0. See
    `cmul`."""
    square = z.dot(z)
    angle = fn.atan2(z[1], z[0]) * exponent
    radius = fn.pow(fn.select(square > 0, square, 1.0), 0.5 * exponent)
    return fn.select(
        square > 0, Vector([radius * fn.cos(angle), radius * fn.sin(angle)]), Vector([0.0, 0.0])
    )


def cexp(z: Matrix) -> Any:
    """The exponential of a complex number; see `cmul`."""
    radius = fn.exp(z[0])
    return Vector([radius * fn.cos(z[1]), radius * fn.sin(z[1])])


def clog(z: Matrix) -> Any:
    """The logarithm of a complex number, whose imaginary part is from -π to π; see `cmul`. Of 0 its
    real part is -inf in kernels; ValueError in Python scope."""
    return Vector([fn.log(z.norm()), fn.atan2(z[1], z[0])])
