"""Complex numbers as 2-vectors of real and imaginary part: `ti.math.cmul` and its kin."""

from __future__ import annotations

from typing import Any

from mlirad.frontend.python.values import functions as fn
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Scalar
from mlirad.lang.matrix import Vector


def cmul(left: Matrix, right: Matrix) -> Any:
    """Return the product of two complex numbers: vectors of 2 entries, the real and the imaginary
    part."""
    return Vector(
        [left[0] * right[0] - left[1] * right[1], left[0] * right[1] + left[1] * right[0]]
    )


def cconj(z: Matrix) -> Any:
    """Return the conjugate of a complex number; see `cmul`."""
    return Vector([z[0], -z[1]])


def cdiv(left: Matrix, right: Matrix) -> Any:
    """Return the quotient of two complex numbers; see `cmul`. Division by 0 gives NaN in kernels
    and raises ZeroDivisionError in Python."""
    return cmul(left, cconj(right)) / right.dot(right)


def cinv(z: Matrix) -> Any:
    """Return the reciprocal of a complex number; see `cdiv`."""
    return cconj(z) / z.dot(z)


def csqrt(z: Matrix) -> Any:
    """Return the square root of a complex number in the right half plane; see `cmul`."""
    radius, angle = fn.sqrt(z.norm()), fn.atan2(z[1], z[0]) * 0.5
    return Vector([radius * fn.cos(angle), radius * fn.sin(angle)])


def cpow(z: Matrix, exponent: Scalar) -> Any:
    """Return a complex number to a real power, computed with its angle from -π to π. A power of 0
    is 0. See `cmul`."""
    square = z.dot(z)
    angle = fn.atan2(z[1], z[0]) * exponent
    radius = fn.pow(fn.select(square > 0, square, 1.0), 0.5 * exponent)
    return fn.select(
        square > 0, Vector([radius * fn.cos(angle), radius * fn.sin(angle)]), Vector([0.0, 0.0])
    )


def cexp(z: Matrix) -> Any:
    """Return the exponential of a complex number; see `cmul`."""
    radius = fn.exp(z[0])
    return Vector([radius * fn.cos(z[1]), radius * fn.sin(z[1])])


def clog(z: Matrix) -> Any:
    """Return the logarithm of a complex number, with an imaginary part from -π to π; see `cmul`.
    The real part of the logarithm of 0 is -inf in kernels; in Python it raises ValueError."""
    return Vector([fn.log(z.norm()), fn.atan2(z[1], z[0])])
