"""`ti.math`: GLSL-style vector types and functions."""

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
    """The value, or the bound that it passes, elementwise; the upper one where they cross."""
    return fn.min(high, fn.max(low, value))


def mix(left: Value, right: Value, weight: Value) -> Any:
    """`left * (1 - weight) + right * weight` of numbers, or elementwise of vectors; a weight for
    all, or one each."""
    a, b, w = (fn.as_floats(argument) for argument in (left, right, weight))
    return a * (1.0 - w) + b * w


def step(edge: Value, value: Value) -> Any:
    """0.0 below the edge, 1.0 from it on, elementwise; its derivative is 0."""
    return fn.cast(value >= edge, float)


def fract(value: Value) -> Any:
    """`value - floor(value)`, from 0 up to 1, elementwise."""
    return value - fn.floor(value)


def smoothstep(low: Value, high: Value, value: Value) -> Any:
    """A cubic rise from 0 at `low` to 1 at `high`, constant beyond, elementwise. Where `low` equals
    `high` it is NaN in kernels, ZeroDivisionError in Python scope."""
    first, last, x = (fn.as_floats(argument) for argument in (low, high, value))
    t = clamp((x - first) / (last - first), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def mod(value: Value, modulus: Value) -> Any:
    """`value - modulus * floor(value / modulus)`, with the sign of the modulus, elementwise."""
    return value - modulus * fn.floor(value / modulus)


def degrees(value: Value) -> Any:
    """Radians as degrees, a float, elementwise."""
    return value * (180.0 / pi)


def radians(value: Value) -> Any:
    """Degrees as radians, a float, elementwise."""
    return value * (pi / 180.0)


def dot(left: fm.Matrix, right: fm.Matrix) -> Any:
    """The inner product of two vectors of one length, a number. Raises TaichiCompilationError for
    other shapes, also in Python scope."""
    return left.dot(right)


def cross(left: fm.Matrix, right: fm.Matrix) -> Any:
    """The cross product of two vectors of 3 entries, a vector, or of 2, a number. Raises
    TaichiCompilationError for others, also in Python scope."""
    return left.cross(right)


def length(value: fm.Matrix) -> Any:
    """The Euclidean norm of a vector, or of all entries of a matrix. Its derivative at 0 is NaN:
    `value.norm(eps)` is `sqrt(norm² + eps)`."""
    return value.norm()


def distance(left: fm.Matrix, right: fm.Matrix) -> Any:
    """The norm of the difference of two vectors of one length. Raises TaichiCompilationError for
    others."""
    return (fn.as_floats(left) - fn.as_floats(right)).norm()


def normalize(value: fm.Matrix) -> Any:
    """The vector over its norm: NaN for 0 in kernels, ZeroDivisionError in Python scope."""
    return value.normalized()


def reflect(value: fm.Matrix, normal: fm.Matrix) -> Any:
    """The direction mirrored at a plane, by the plane's normal of length 1."""
    return value - 2.0 * value.dot(normal) * normal


def refract(value: fm.Matrix, normal: fm.Matrix, eta: Scalar) -> Any:
    """A direction of length 1 behind a surface with a normal of length 1 that looks against it, or
    zero at total reflection. `eta` is the index of refraction in front of it, over that behind."""
    projected = value.dot(normal)
    k = 1.0 - eta * eta * (1.0 - projected * projected)
    bent = eta * value - (eta * projected + fn.sqrt(fn.max(k, 0.0))) * normal
    return fn.select(k >= 0.0, bent, bent * 0.0)


def inverse(value: fm.Matrix) -> Any:
    """The inverse of a square matrix of up to 4 rows. Raises TaichiCompilationError for others; of
    a singular one it is infinite or NaN in kernels, ZeroDivisionError in Python scope."""
    return value.inverse()


def determinant(value: fm.Matrix) -> Any:
    """The determinant of a square matrix of up to 4 rows. Raises TaichiCompilationError for
    others."""
    return value.determinant()


def eye(n: int) -> Any:
    """The n×n identity, of floats."""
    return Matrix.identity(float, n)


def rotation2d(angle: Scalar) -> Any:
    """The 2×2 matrix that turns vectors (columns) against the clock by an angle in radians."""
    c, s = fn.cos(angle), fn.sin(angle)
    return Matrix([[c, -s], [s, c]])


def vdir(angle: Scalar) -> Any:
    """The vector of 2 entries and length 1 at an angle in radians from the first axis."""
    return Vector([fn.cos(angle), fn.sin(angle)])


__all__ = sorted(name for name in globals() if not name.startswith("_") and name not in _TOOLS)


def __dir__() -> list[str]:
    return __all__
