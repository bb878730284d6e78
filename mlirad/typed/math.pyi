"""`ti.math`: the types of vectors and matrices are annotations."""

from typing import Any, TypeAlias, TypeVar, overload

from mlirad.frontend.python.values.functions import clz as clz
from mlirad.frontend.python.values.functions import isinf as isinf
from mlirad.frontend.python.values.functions import isnan as isnan
from mlirad.frontend.python.values.functions import popcnt as popcnt
from mlirad.frontend.python.values.functions import pow as pow
from mlirad.lang.math.complex_numbers import cconj as cconj
from mlirad.lang.math.complex_numbers import cdiv as cdiv
from mlirad.lang.math.complex_numbers import cexp as cexp
from mlirad.lang.math.complex_numbers import cinv as cinv
from mlirad.lang.math.complex_numbers import clog as clog
from mlirad.lang.math.complex_numbers import cmul as cmul
from mlirad.lang.math.complex_numbers import cpow as cpow
from mlirad.lang.math.complex_numbers import csqrt as csqrt
from mlirad.lang.math.functions import cross as cross
from mlirad.lang.math.functions import e as e
from mlirad.lang.math.functions import eye as eye
from mlirad.lang.math.functions import inf as inf
from mlirad.lang.math.functions import inverse as inverse
from mlirad.lang.math.functions import nan as nan
from mlirad.lang.math.functions import pi as pi
from mlirad.lang.math.functions import refract as refract
from mlirad.lang.math.functions import rotation2d as rotation2d
from mlirad.lang.math.functions import vdir as vdir
from mlirad.lang.math.transforms3d import rot_by_axis as rot_by_axis
from mlirad.lang.math.transforms3d import rot_yaw_pitch_roll as rot_yaw_pitch_roll
from mlirad.lang.math.transforms3d import rotation3d as rotation3d
from mlirad.lang.math.transforms3d import scale as scale
from mlirad.lang.math.transforms3d import translate as translate
from mlirad.lang.matrix import Matrix as PlainMatrix
from mlirad.typed.functions import Binary, Unary
from mlirad.typed.functions import abs as abs
from mlirad.typed.functions import acos as acos
from mlirad.typed.functions import acosh as acosh
from mlirad.typed.functions import asin as asin
from mlirad.typed.functions import asinh as asinh
from mlirad.typed.functions import atan as atan
from mlirad.typed.functions import atan2 as atan2
from mlirad.typed.functions import atanh as atanh
from mlirad.typed.functions import cbrt as cbrt
from mlirad.typed.functions import ceil as ceil
from mlirad.typed.functions import copysign as copysign
from mlirad.typed.functions import cos as cos
from mlirad.typed.functions import cosh as cosh
from mlirad.typed.functions import erf as erf
from mlirad.typed.functions import erfc as erfc
from mlirad.typed.functions import exp as exp
from mlirad.typed.functions import exp2 as exp2
from mlirad.typed.functions import expm1 as expm1
from mlirad.typed.functions import floor as floor
from mlirad.typed.functions import hypot as hypot
from mlirad.typed.functions import log as log
from mlirad.typed.functions import log1p as log1p
from mlirad.typed.functions import log2 as log2
from mlirad.typed.functions import log10 as log10
from mlirad.typed.functions import max as max
from mlirad.typed.functions import min as min
from mlirad.typed.functions import round as round
from mlirad.typed.functions import rsqrt as rsqrt
from mlirad.typed.functions import sin as sin
from mlirad.typed.functions import sinh as sinh
from mlirad.typed.functions import sqrt as sqrt
from mlirad.typed.functions import tan as tan
from mlirad.typed.functions import tanh as tanh
from mlirad.typed.functions import trunc as trunc
from mlirad.typed.matrices import Matrix, Vector
from mlirad.typed.types import matrix as matrix
from mlirad.typed.types import vector as vector

ivec2: TypeAlias = Vector
ivec3: TypeAlias = Vector
ivec4: TypeAlias = Vector
mat2: TypeAlias = Matrix
mat3: TypeAlias = Matrix
mat4: TypeAlias = Matrix
uvec2: TypeAlias = Vector
uvec3: TypeAlias = Vector
uvec4: TypeAlias = Vector
vec2: TypeAlias = Vector
vec3: TypeAlias = Vector
vec4: TypeAlias = Vector

_M = TypeVar("_M", bound=Matrix)

fract: Unary
degrees: Unary
radians: Unary
sign: Unary
step: Binary
mod: Binary

@overload
def clamp(value: float, low: float, high: float) -> float:
    """Return the value, or the bound that it passes, elementwise."""

@overload
def clamp(value: Any, low: Any, high: Any) -> Any: ...
@overload
def mix(left: float, right: float, weight: float) -> float:
    """Return `left * (1 - weight) + right * weight`, elementwise."""

@overload
def mix(left: Any, right: Any, weight: Any) -> Any: ...
@overload
def smoothstep(low: float, high: float, value: float) -> float:
    """Return a cubic rise from 0 at `low` to 1 at `high`, elementwise."""

@overload
def smoothstep(low: Any, high: Any, value: Any) -> Any: ...
def dot(left: PlainMatrix, right: PlainMatrix) -> float:
    """Return the inner product of two vectors."""

def length(value: PlainMatrix) -> float:
    """Return the Euclidean norm."""

def distance(left: PlainMatrix, right: PlainMatrix) -> float:
    """Return the Euclidean norm of the difference."""

def determinant(value: PlainMatrix) -> float:
    """Return the determinant of a square matrix."""

def normalize(value: _M) -> _M:
    """Return the vector over its norm."""

def reflect(value: _M, normal: PlainMatrix) -> _M:
    """Return a direction reflected at a surface with a unit normal."""
