"""`ti.math`: vector types and functions in the style of GLSL."""

from __future__ import annotations

import math as _math
from typing import Any

from mlirad.frontend.python.values import functions as fn
from mlirad.frontend.python.values import matrix as fm
from mlirad.frontend.python.values.elementary import *  # noqa: F403 - part of the namespace
from mlirad.frontend.python.values.functions import (  # noqa: F401 - part of the namespace
    abs,
    ceil,
    clz,
    floor,
    isinf,
    isnan,
    max,
    min,
    popcnt,
    pow,
    round,
    sign,
    trunc,
)
from mlirad.frontend.python.values.matrix import Value
from mlirad.frontend.python.values.scalar import Scalar
from mlirad.lang.math.complex_numbers import cconj, cdiv, cexp, cinv, clog, cmul, cpow, csqrt  # noqa: F401
from mlirad.lang.math.transforms3d import (  # noqa: F401
    rot_by_axis,
    rot_yaw_pitch_roll,
    rotation3d,
    scale,
    translate,
)
from mlirad.lang.matrix import Matrix, Vector
from mlirad.lang.types_namespace import matrix, vector
from mlirad.types import DefaultUnsigned

pi, e, inf, nan = _math.pi, _math.e, _math.inf, _math.nan
vec2, vec3, vec4 = vector(2), vector(3), vector(4)
ivec2, ivec3, ivec4 = vector(2, int), vector(3, int), vector(4, int)
uvec2, uvec3, uvec4 = (
    vector(2, DefaultUnsigned),
    vector(3, DefaultUnsigned),
    vector(4, DefaultUnsigned),
)
mat2, mat3, mat4 = matrix(2, 2), matrix(3, 3), matrix(4, 4)
_TOOLS = (
    "Any",
    "DefaultUnsigned",
    "Matrix",
    "Scalar",
    "Value",
    "Vector",
    "annotations",
    "fm",
    "fn",
)


def clamp(value: Value, low: Value, high: Value) -> Any:
    """Return the value limited to the range from `low` to `high`, elementwise; `high` if the bounds
    cross."""
    return fn.min(high, fn.max(low, value))


def mix(left: Value, right: Value, weight: Value) -> Any:
    """Return `left * (1 - weight) + right * weight`, elementwise. The weight is a number, or a
    vector with one weight for each entry."""
    a, b, w = (fn.as_floats(argument) for argument in (left, right, weight))
    return a * (1.0 - w) + b * w


def step(edge: Value, value: Value) -> Any:
    """Return 0.0 below the edge and 1.0 from the edge on, elementwise. The derivative is 0."""
    return fn.cast(value >= edge, float)


def fract(value: Value) -> Any:
    """Return `value - floor(value)`, at least 0 and below 1, elementwise."""
    return value - fn.floor(value)


def smoothstep(low: Value, high: Value, value: Value) -> Any:
    """Return a cubic that rises from 0 at `low` to 1 at `high` and is constant outside,
    elementwise. If `low` equals `high`, the result is NaN in kernels; in Python it raises
    ZeroDivisionError."""
    first, last, x = (fn.as_floats(argument) for argument in (low, high, value))
    t = clamp((x - first) / (last - first), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def mod(value: Value, modulus: Value) -> Any:
    """Return `value - modulus * floor(value / modulus)`, elementwise. It has the sign of the
    modulus."""
    return value - modulus * fn.floor(value / modulus)


def degrees(value: Value) -> Any:
    """Convert radians to degrees, a float, elementwise."""
    return value * (180.0 / pi)


def radians(value: Value) -> Any:
    """Convert degrees to radians, a float, elementwise."""
    return value * (pi / 180.0)


def dot(left: fm.Matrix, right: fm.Matrix) -> Any:
    """Return the inner product of two vectors of the same length, a number. Raises
    TaichiCompilationError for other shapes, in Python too."""
    return left.dot(right)


def cross(left: fm.Matrix, right: fm.Matrix) -> Any:
    """Return the cross product of two vectors: a vector for 3 entries, a number for 2. Raises
    TaichiCompilationError for other shapes, in Python too."""
    return left.cross(right)


def length(value: fm.Matrix) -> Any:
    """Return the Euclidean norm of a vector, or of all entries of a matrix. Its derivative at 0 is
    NaN; `value.norm(eps)` is `sqrt(norm² + eps)`, which has one."""
    return value.norm()


def distance(left: fm.Matrix, right: fm.Matrix) -> Any:
    """Return the norm of the difference of two vectors of the same length. Raises
    TaichiCompilationError for other shapes."""
    return (fn.as_floats(left) - fn.as_floats(right)).norm()


def normalize(value: fm.Matrix) -> Any:
    """Return the vector divided by its norm. For the zero vector the result is NaN in kernels; in
    Python it raises ZeroDivisionError."""
    return value.normalized()


def reflect(value: fm.Matrix, normal: fm.Matrix) -> Any:
    """Return a direction reflected at a plane.

    Args:
        value: the direction.
        normal: the normal of the plane, of length 1.
    """
    return value - 2.0 * value.dot(normal) * normal


def refract(value: fm.Matrix, normal: fm.Matrix, eta: Scalar) -> Any:
    """Return a direction refracted at a surface, or zero in case of total reflection.

    Args:
        value: the incoming direction, of length 1.
        normal: the normal of the surface, of length 1, on the incoming side.
        eta: the index of refraction on the incoming side, divided by that on the other side.
    """
    projected = value.dot(normal)
    k = 1.0 - eta * eta * (1.0 - projected * projected)
    bent = eta * value - (eta * projected + fn.sqrt(fn.max(k, 0.0))) * normal
    return fn.select(k >= 0.0, bent, bent * 0.0)


def inverse(value: fm.Matrix) -> Any:
    """Return the inverse of a square matrix of at most 4 rows. Raises TaichiCompilationError for
    other shapes. The inverse of a singular matrix is infinite or NaN in kernels; in Python it
    raises ZeroDivisionError."""
    return value.inverse()


def determinant(value: fm.Matrix) -> Any:
    """Return the determinant of a square matrix of at most 4 rows. Raises TaichiCompilationError
    for other shapes."""
    return value.determinant()


def eye(n: int) -> Any:
    """Return the n×n identity matrix of floats."""
    return Matrix.identity(float, n)


def rotation2d(angle: Scalar) -> Any:
    """Return the 2×2 matrix that rotates column vectors counterclockwise by an angle in radians."""
    c, s = fn.cos(angle), fn.sin(angle)
    return Matrix([[c, -s], [s, c]])


def vdir(angle: Scalar) -> Any:
    """Return the unit vector of 2 entries at an angle in radians from the first axis."""
    return Vector([fn.cos(angle), fn.sin(angle)])


__all__ = sorted(name for name in globals() if not name.startswith("_") and name not in _TOOLS)


def __dir__() -> list[str]:
    return __all__
