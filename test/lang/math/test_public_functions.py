"""Every public function of `ti` and `ti.math` in a kernel, with every scalar type: as NumPy has it,
or refused by name."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.frontend.python.calls import specials
from mlirad.frontend.python.values import elementary, functions
from mlirad.types import ALL, DataType

Array = np.ndarray[Any, Any]
FLOATS = [-30.0, -2.5, -1.0, -0.75, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 3.0]
EDGES = [math.inf, -math.inf, math.nan]
INTEGERS = [-7, -2, -1, 0, 1, 2, 5, 7, 100]


@pytest.fixture(autouse=True)
def start() -> None:
    ti.init(default_fp=ti.f64)


def each(function: Callable[..., Any]) -> Callable[..., Array]:
    """A function of Python's numbers, elementwise; what it has no value for is NaN."""

    def scalar(*numbers: Any) -> Any:
        try:
            return function(*[number.item() for number in numbers])
        except (ValueError, ZeroDivisionError, OverflowError):
            return math.nan

    return lambda *arrays: np.array([scalar(*row) for row in zip(*arrays)])


def as_floats(function: Callable[..., Any]) -> Callable[..., Array]:
    """A function of floats: of integers it is that of f64, the default type here."""

    def converted(*arrays: Array) -> Any:
        is_float = arrays[0].dtype.kind == "f"
        return function(*[a if is_float else a.astype(np.float64) for a in arrays])

    return converted


def wrapped(function: Callable[..., Any]) -> Callable[..., Array]:
    """A function of integers that wraps around."""

    def scalar(dtype: Any, *numbers: Any) -> Any:
        return np.array(function(*map(int, numbers)) & ((1 << 64) - 1), np.uint64).astype(dtype)

    return lambda *arrays: np.array([scalar(arrays[0].dtype, *row) for row in zip(*arrays)])


def power(base: Array, exponent: Array) -> Array:
    if base.dtype.kind == "f":
        return np.power(base, exponent)

    def integer(b: int, e: int) -> int:
        return pow(b, e, 1 << 64) if e >= 0 else 0 if abs(b) > 1 or b == 0 else b ** (e % 2)

    return wrapped(integer)(base, exponent)


def quotient(a: int, b: int) -> int:
    """Rounded towards 0; by 0, 0."""
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def truncated(left: Array, right: Array) -> Array:
    return left / right if left.dtype.kind == "f" else wrapped(quotient)(left, right)


def remaining(left: Array, right: Array) -> Array:
    if left.dtype.kind == "f":
        return np.fmod(left, right)
    return wrapped(lambda a, b: 0 if b == 0 else a - b * quotient(a, b))(left, right)


def smooth(low: Array, high: Array, value: Array) -> Array:
    t = np.minimum(1.0, np.maximum((value - low) / (high - low), 0.0))
    return t * t * (3 - 2 * t)


def bits_of(array: Array) -> int:
    return 1 if array.dtype == bool else array.dtype.itemsize * 8


def unsigned(array: Array) -> list[int]:
    return [int(number) & ((1 << bits_of(array)) - 1) for number in array]


def leading_zeros(array: Array) -> Array:
    return np.array([bits_of(array) - number.bit_length() for number in unsigned(array)])


def shifted(left: Array, right: Array) -> Array:
    rows = zip(unsigned(left), (int(count) for count in right))
    count = 64 if bits_of(left) == 64 else 32
    found = np.array([number >> (by % count) for number, by in rows], np.uint64)
    return found.astype(left.dtype)


def rounded(x: Array) -> Array:
    return np.trunc(x + np.copysign(0.5, x))


def larger(a: Array, b: Array) -> Array:
    return np.where(a > b, a, b)


def smaller(a: Array, b: Array) -> Array:
    return np.where(a < b, a, b)


# by name: how many arguments, and what NumPy makes of them
SCALAR: dict[str, tuple[int, Callable[..., Any]]] = {
    "abs": (1, np.abs),
    "acos": (1, as_floats(np.arccos)),
    "acosh": (1, as_floats(np.arccosh)),
    "asin": (1, as_floats(np.arcsin)),
    "asinh": (1, as_floats(np.arcsinh)),
    "atan": (1, as_floats(np.arctan)),
    "atan2": (2, as_floats(np.arctan2)),
    "atanh": (1, as_floats(np.arctanh)),
    "cbrt": (1, as_floats(np.cbrt)),
    "ceil": (1, as_floats(np.ceil)),
    "clamp": (3, lambda x, low, high: smaller(high, larger(low, x))),
    "clz": (1, leading_zeros),
    "copysign": (2, as_floats(np.copysign)),
    "cos": (1, as_floats(np.cos)),
    "cosh": (1, as_floats(np.cosh)),
    "degrees": (1, as_floats(np.degrees)),
    "erf": (1, as_floats(each(math.erf))),
    "erfc": (1, as_floats(each(math.erfc))),
    "exp": (1, as_floats(np.exp)),
    "exp2": (1, as_floats(np.exp2)),
    "expm1": (1, as_floats(np.expm1)),
    "floor": (1, as_floats(np.floor)),
    "fract": (1, as_floats(lambda x: x - np.floor(x))),
    "hypot": (2, as_floats(np.hypot)),
    "isinf": (1, np.isinf),
    "isnan": (1, np.isnan),
    "log": (1, as_floats(np.log)),
    "log10": (1, as_floats(np.log10)),
    "log1p": (1, as_floats(np.log1p)),
    "log2": (1, as_floats(np.log2)),
    "max": (2, larger),
    "min": (2, smaller),
    "mix": (3, as_floats(lambda a, b, w: a * (1 - w) + b * w)),
    "mod": (2, as_floats(lambda a, b: a - b * np.floor(a / b))),
    "popcnt": (1, lambda x: np.array([number.bit_count() for number in unsigned(x)])),
    "pow": (2, power),
    "radians": (1, as_floats(np.radians)),
    "round": (1, as_floats(rounded)),
    "rsqrt": (1, as_floats(lambda x: 1 / np.sqrt(x))),
    "sign": (1, lambda x: np.where(x > 0, 1.0, np.where(x < 0, -1.0, 0.0))),
    "sin": (1, as_floats(np.sin)),
    "sinh": (1, as_floats(np.sinh)),
    "smoothstep": (3, as_floats(smooth)),
    "sqrt": (1, as_floats(np.sqrt)),
    "step": (2, lambda edge, x: (x >= edge) * 1.0),
    "tan": (1, as_floats(np.tan)),
    "tanh": (1, as_floats(np.tanh)),
    "trunc": (1, as_floats(np.trunc)),
    # only of `ti`
    "bit_not": (1, np.invert),
    "bit_shr": (2, shifted),
    "logical_and": (2, np.logical_and),
    "logical_not": (1, np.logical_not),
    "logical_or": (2, np.logical_or),
    "one": (1, np.ones_like),
    "raw_div": (2, truncated),
    "raw_mod": (2, remaining),
    "select": (3, lambda test, a, b: np.where(test != 0, a, b)),
    "zero": (1, np.zeros_like),
}
OF_INTEGERS = {"clz", "popcnt", "bit_not", "bit_shr"}
ATOMICS: dict[str, Callable[[Array, Array], Any]] = {
    "atomic_add": lambda a, b: a + b,
    "atomic_sub": lambda a, b: a - b,
    "atomic_mul": lambda a, b: a * b,
    "atomic_min": np.minimum,
    "atomic_max": np.maximum,
    "atomic_and": np.bitwise_and,
    "atomic_or": np.bitwise_or,
    "atomic_xor": np.bitwise_xor,
    "atomic_exchange": lambda a, b: b,
}
_OF_BOOLEANS = {"atomic_add": np.logical_or, "atomic_sub": np.logical_xor}
# of vectors and matrices of floats, and what else these tests ask for below
VECTORS = {
    *("dot", "cross", "length", "distance", "normalize", "reflect", "refract", "inverse"),
    *("determinant", "eye", "rotation2d", "rotation3d", "rot_by_axis", "rot_yaw_pitch_roll"),
    *("scale", "translate", "vdir"),
    *("cmul", "cdiv", "cconj", "cinv", "cexp", "clog", "cpow", "csqrt"),
}
ELSEWHERE = {  # with tests of their own
    *("bit_cast", "cast", "random", "randn"),  # below
    *(
        "all",
        "any",
        "as_floats",
        "floor_remainder",
        "python_value",
    ),  # not public
    *("svd", "eig", "sym_eig", "polar_decompose", "solve"),  # test_decompositions.py
    *("static", "static_assert", "static_print", "loop_config", "block_local", "cache_read_only"),
    *("ndrange", "grouped", "stop_grad"),
    *("matrix", "vector"),  # make types
}


def function_of(name: str) -> Callable[..., Any]:
    found = getattr(ti.math, name, None) or getattr(ti, name)
    assert callable(found)
    return found


def test_no_function_is_left_out() -> None:
    """A new one wants a line in a table here."""
    public = [*ti.math.__all__, *vars(elementary), *specials.__all__, *vars(functions)]
    known = {*SCALAR, *ATOMICS, *VECTORS, *ELSEWHERE}
    for name in public:
        one = getattr(ti.math, name, None) or getattr(ti, name, None)
        is_function = isinstance(one, types.FunctionType | specials.Special)
        assert not is_function or name in known, name
    assert {name for name in (*SCALAR, *ATOMICS) if hasattr(ti.math, name) or hasattr(ti, name)}


def arguments(dtype: DataType, count: int) -> list[Array]:
    """Numbers of a type, in several orders."""
    if dtype.is_float:
        numbers = np.array(FLOATS + EDGES).astype(dtype.numpy)
    elif dtype.bits == 1:
        numbers = np.array([False, True, True, False, True])
    else:
        info = np.iinfo(dtype.numpy)
        fitting = [n for n in (*INTEGERS, info.min, info.max) if info.min <= n <= info.max]
        numbers = np.array(fitting, dtype.numpy)
    return [np.concatenate([numbers, np.roll(numbers, k), numbers[::-1]]) for k in range(count)]


def tolerance(dtype: DataType) -> float:
    """For sums of a few terms of functions that are within 4 units in the last place."""
    kind = dtype.numpy if dtype.is_float else np.dtype(np.float64)
    return 32 * float(np.finfo(kind).eps)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_functions_of_scalars(dtype: DataType) -> None:
    """Of scalars, and of vectors of them."""
    names = [n for n in SCALAR if not (dtype.is_float and n in OF_INTEGERS)]
    given = arguments(dtype, 3)
    fields = [ti.field(dtype, len(given[0])) for _ in given]
    x, y, z = fields
    for field, values in zip(fields, given):
        field.from_numpy(values)
    found = ti.field(ti.f64, (len(names), len(given[0])))
    calls = [function_of(name) for name in names]
    counts = [SCALAR[name][0] for name in names]

    @ti.kernel
    def run():
        for i in x:
            for k in ti.static(range(len(names))):
                row = (x[i], y[i], z[i])
                found[k, i] = calls[k](*row[: counts[k]])

    run()
    with np.errstate(all="ignore"):
        for k, name in enumerate(names):
            count, oracle = SCALAR[name]
            values = given[:count]
            if dtype.is_float:  # as exact as can be, then in the type
                values = [v.astype(np.float64) for v in values]
            expected = np.asarray(oracle(*values))
            if dtype.is_float:
                expected = expected.astype(dtype.numpy)
            compare(name, dtype, given[:count], found.to_numpy()[k], expected.astype(np.float64))


def compare(name: str, dtype: DataType, given: list[Array], found: Array, expected: Array) -> None:
    """Near the expected numbers; where these, or the numbers given, are no numbers or not finite,
    as they are."""
    near = tolerance(dtype)
    finite = [np.nan_to_num(g.astype(np.float64), posinf=0, neginf=0) for g in given]
    size = np.max(np.abs(finite), 0)
    size = size + size**2 if name == "mix" else size
    summed = name in ("mix", "mod", "fract", "smoothstep", "sin", "cos", "tan")
    for row, f, e, s in zip(zip(*given), found, expected, size):
        same = (f == e) or (math.isnan(f) and math.isnan(e))
        bound = near * (abs(e) + (s if summed else 0.0))
        assert same or abs(f - e) <= bound, f"{name}{row} of {dtype}: {f!r}, expected {e!r}"


@pytest.mark.parametrize("dtype", [ti.f32, ti.i32, ti.u8], ids=str)
def test_functions_of_vectors(dtype: DataType) -> None:
    """Elementwise, as of their entries."""
    names = [n for n in SCALAR if not (dtype.is_float and n in OF_INTEGERS)]
    calls = [function_of(name) for name in names]
    counts = [SCALAR[name][0] for name in names]
    given = [ti.field(dtype, 2) for _ in range(3)]
    for field, values in zip(given, ([3, 1], [2, 5], [7, 4])):
        field.from_numpy(np.array(values, dtype.numpy))
    x, y, z = given
    found = ti.Vector.field(4, ti.f64, len(names))

    @ti.kernel
    def run():
        for k in ti.static(range(len(names))):
            row = (ti.Vector([x[0], x[1]]), ti.Vector([y[0], y[1]]), ti.Vector([z[0], z[1]]))
            both = calls[k](*row[: counts[k]])
            first = calls[k](*(x[0], y[0], z[0])[: counts[k]])
            second = calls[k](*(x[1], y[1], z[1])[: counts[k]])
            if ti.static(names[k] in ("max", "min")) and counts[k] == 1:
                continue
            found[k] = [both[0], both[1], first, second]

    run()
    for name, row in zip(names, found.to_numpy()):
        np.testing.assert_array_equal(row[:2], row[2:], err_msg=name)


@pytest.mark.parametrize("name", sorted(OF_INTEGERS))
@pytest.mark.parametrize("dtype", [ti.f16, ti.f32, ti.f64], ids=str)
def test_functions_of_integers_refuse_floats(name: str, dtype: DataType) -> None:
    function, count = function_of(name), SCALAR[name][0]

    @ti.kernel
    def run(a: dtype):
        function(*[a] * count)  # here

    with pytest.raises(ti.TaichiTypeError, match=r"integral inputs only|expected integers") as e:
        run(1)
    assert "# here" in str(e.value)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_scalar_arguments_and_results(dtype: DataType) -> None:
    """Every type as an argument of a launch, and as a result."""
    if dtype.is_float:
        numbers: list[Any] = [*FLOATS, *EDGES, 1e-7, 65504.0, 1e300]
    else:
        numbers = arguments(dtype, 1)[0].tolist()

    @ti.kernel
    def run(a: dtype, other: ti.i32, b: dtype) -> ti.types.vector(2, dtype):
        return ti.Vector([b, a])

    with np.errstate(over="ignore"):
        for a, b in zip(numbers, reversed(numbers)):
            expected = np.array([b, a], dtype.numpy)
            found = np.array(run(a, 3, b).to_list(), dtype.numpy)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_atomics(dtype: DataType) -> None:
    """Of elements and of locals: the value afterwards and the one before."""
    names = [n for n in ATOMICS if not (dtype.is_float and n[7:] in ("and", "or", "xor"))]
    calls = [function_of(name) for name in names]
    left = np.array([True, False, True] if dtype.bits == 1 else [5, 6, 7]).astype(dtype.numpy)
    right = np.array([True, True, False] if dtype.bits == 1 else [3, 9, 7]).astype(dtype.numpy)
    x, y = ti.field(dtype, (len(names), 3)), ti.field(dtype, 3)
    locals_, before = (ti.field(dtype, (len(names), 3)) for _ in range(2))
    x.from_numpy(np.array([left] * len(names)))
    y.from_numpy(right)

    @ti.kernel
    def run():
        for i in y:
            for k in ti.static(range(len(names))):
                a = x[k, i]
                calls[k](a, y[i])
                locals_[k, i] = a
                before[k, i] = calls[k](x[k, i], y[i])

    run()
    for k, name in enumerate(names):
        oracle = _OF_BOOLEANS.get(name, ATOMICS[name]) if dtype.bits == 1 else ATOMICS[name]
        expected = np.asarray(oracle(left, right)).astype(dtype.numpy)
        np.testing.assert_array_equal(x.to_numpy()[k], expected, err_msg=name)
        np.testing.assert_array_equal(locals_.to_numpy()[k], expected, err_msg=name)
        np.testing.assert_array_equal(before.to_numpy()[k], left, err_msg=name)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_negation_keeps_the_type(dtype: DataType) -> None:
    given = arguments(dtype, 1)[0]
    x, y = ti.field(dtype, len(given)), ti.field(dtype, len(given))
    x.from_numpy(given)

    @ti.kernel
    def run():
        for i in x:
            y[i] = -x[i]
            x[i] -= x[i]

    run()
    if dtype.bits > 1:
        np.testing.assert_array_equal(y.to_numpy(), 0 - given if dtype.is_integer else -given)
    assert not np.nan_to_num(x.to_numpy(), nan=0).any()


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_casts(dtype: DataType) -> None:
    """To every type, of numbers that it has; the bits, to types of one size."""
    wide = [to for to in ALL if to.bits > 1]
    alike = [to for to in ALL if to.bits == dtype.bits]
    values = np.array([0, 1, 1] if dtype.bits == 1 else [0, 1, 3], dtype.numpy)
    x = ti.field(dtype, 3)
    x.from_numpy(values)
    found = ti.field(ti.f64, (len(wide), 3))
    bits = ti.field(ti.f64, (len(alike), 3))

    @ti.kernel
    def run():
        for i in x:
            for k in ti.static(range(len(wide))):
                found[k, i] = ti.cast(ti.cast(x[i], wide[k]), ti.f64)
            for k in ti.static(range(len(alike))):
                bits[k, i] = ti.cast(ti.bit_cast(x[i], alike[k]), ti.f64)

    run()
    np.testing.assert_array_equal(found.to_numpy(), np.array([values] * len(wide), np.float64))
    expected = [values.view(to.numpy).astype(np.float64) for to in alike]
    np.testing.assert_array_equal(bits.to_numpy(), np.array(expected))


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_draws(dtype: DataType) -> None:
    """Uniform ones of every type, normal ones of floats."""
    x = ti.field(dtype, 2000)

    @ti.kernel
    def uniform():
        for i in x:
            x[i] = ti.random(dtype)

    @ti.kernel
    def normal():
        for i in x:
            x[i] = ti.randn(dtype)  # here

    uniform()
    drawn = x.to_numpy().astype(np.float64)
    low, high = (0.0, 1.0) if dtype.is_float or dtype.bits == 1 else ti_range(dtype)
    assert low <= drawn.min() and drawn.max() <= high
    assert abs(drawn.mean() - (low + high) / 2) < 0.05 * (high - low)
    if not dtype.is_float:
        with pytest.raises(ti.TaichiTypeError, match=r"ti.randn draws floats.*\n.*# here"):
            normal()
        return
    normal()
    drawn = x.to_numpy().astype(np.float64)
    assert abs(drawn.mean()) < 0.1
    assert abs(drawn.std() - 1) < 0.1


def ti_range(dtype: DataType) -> tuple[float, float]:
    info = np.iinfo(dtype.numpy)
    return float(info.min), float(info.max)


def turn(axis: Array, angle: float) -> Array:
    """Rodrigues' rotation, for vectors that are rows."""
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    found = np.eye(4)
    found[:3, :3] = np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross
    return found.T


def complex_(values: Array) -> complex:
    return complex(*values)


A, B, N = np.array([0.6, -0.5, 1.5]), np.array([0.25, 2.0, -1.0]), np.array([0.0, 0.6, 0.8])
Z, W = np.array([0.75, 1.5]), np.array([1.25, -0.5])
M = np.array([[2.0, 0.5, -1.0], [0.25, 3.0, 0.5], [1.0, -0.5, 4.0]])
ETA = 0.7
_COSINE = float(A @ N) / float(np.linalg.norm(A))
_DIRECTION = A / np.linalg.norm(A)
_ROOT = math.sqrt(1 - ETA**2 * (1 - _COSINE**2))
_AXES = np.eye(3)
ROLLED = turn(_AXES[2], 0.4) @ turn(_AXES[0], -0.7) @ turn(_AXES[1], 0.3)

# by name: the call, and its entries
VECTOR_CALLS: dict[str, tuple[Callable[..., Any], Any]] = {
    "dot": (lambda v: ti.math.dot(v.a, v.b), A @ B),
    "cross": (lambda v: ti.math.cross(v.a, v.b), np.cross(A, B)),
    "length": (lambda v: ti.math.length(v.a), np.linalg.norm(A)),
    "distance": (lambda v: ti.math.distance(v.a, v.b), np.linalg.norm(A - B)),
    "normalize": (lambda v: ti.math.normalize(v.a), _DIRECTION),
    "reflect": (lambda v: ti.math.reflect(v.a, v.n), A - 2 * (A @ N) * N),
    "refract": (
        lambda v: ti.math.refract(v.a / v.a.norm(), v.n, ETA),
        ETA * _DIRECTION - (ETA * _COSINE + _ROOT) * N,
    ),
    "inverse": (lambda v: ti.math.inverse(v.m), np.linalg.inv(M)),
    "determinant": (lambda v: ti.math.determinant(v.m), np.linalg.det(M)),
    "eye": (lambda v: ti.math.eye(3), np.eye(3)),
    "rotation2d": (
        lambda v: ti.math.rotation2d(v.t),
        [[math.cos(0.3), -math.sin(0.3)], [math.sin(0.3), math.cos(0.3)]],
    ),
    "rot_by_axis": (lambda v: ti.math.rot_by_axis(v.a, v.t), turn(A, 0.3)),
    "rot_yaw_pitch_roll": (lambda v: ti.math.rot_yaw_pitch_roll(v.t, -0.7, 0.4), ROLLED),
    "rotation3d": (lambda v: ti.math.rotation3d(-0.7, 0.4, v.t), ROLLED),
    "scale": (lambda v: ti.math.scale(v.t, 2.0, 3.0), np.diag([0.3, 2.0, 3.0, 1.0])),
    "translate": (
        lambda v: ti.math.translate(v.t, 2.0, 3.0),
        np.eye(4) + np.outer([0.3, 2.0, 3.0, 0.0], [0, 0, 0, 1]),
    ),
    "vdir": (lambda v: ti.math.vdir(v.t), [math.cos(0.3), math.sin(0.3)]),
    "cmul": (lambda v: ti.math.cmul(v.z, v.w), complex_(Z) * complex_(W)),
    "cdiv": (lambda v: ti.math.cdiv(v.z, v.w), complex_(Z) / complex_(W)),
    "cconj": (lambda v: ti.math.cconj(v.z), complex_(Z).conjugate()),
    "cinv": (lambda v: ti.math.cinv(v.z), 1 / complex_(Z)),
    "cexp": (lambda v: ti.math.cexp(v.z), np.exp(complex_(Z))),
    "clog": (lambda v: ti.math.clog(v.z), np.log(complex_(Z))),
    "cpow": (lambda v: ti.math.cpow(v.z, 1.7), complex_(Z) ** 1.7),
    "csqrt": (lambda v: ti.math.csqrt(v.z), np.sqrt(complex_(Z))),
}


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
def test_functions_of_whole_vectors(dtype: DataType) -> None:
    assert set(VECTOR_CALLS) == VECTORS
    ti.init(default_fp=dtype)
    given = [ti.field(dtype, v.shape) for v in (A, B, N, Z, W, M)]
    for field, values in zip(given, (A, B, N, Z, W, M)):
        field.from_numpy(values.astype(dtype.numpy))
    a, b, n, z, w, m = given
    found = ti.field(dtype, (len(VECTOR_CALLS), 16))
    calls = [call for call, _ in VECTOR_CALLS.values()]

    def entries(value: Any) -> list[Any]:
        return list(getattr(value, "entries", [value]))

    @ti.kernel
    def run(t: dtype):
        v = ti.Struct(
            a=ti.Vector([a[i] for i in range(3)]),
            b=ti.Vector([b[i] for i in range(3)]),
            n=ti.Vector([n[i] for i in range(3)]),
            z=ti.Vector([z[i] for i in range(2)]),
            w=ti.Vector([w[i] for i in range(2)]),
            m=ti.Matrix([[m[i, j] for j in range(3)] for i in range(3)]),
            t=t,
        )
        for k in ti.static(range(len(calls))):
            row = entries(calls[k](v))
            for i in ti.static(range(len(row))):
                found[k, i] = row[i]

    run(0.3)
    near = 1e-5 if dtype == ti.f32 else 1e-13
    for k, (name, (_, expected)) in enumerate(VECTOR_CALLS.items()):
        parts = np.array(expected)
        if parts.dtype.kind == "c":
            parts = np.array([parts.real, parts.imag])
        np.testing.assert_allclose(
            found.to_numpy()[k, : parts.size], parts.ravel(), rtol=near, atol=near, err_msg=name
        )


@pytest.mark.parametrize("dtype", [ti.i8, ti.i32, ti.u8, ti.u32], ids=str)
def test_distances_of_integers(dtype: DataType) -> None:
    @ti.kernel
    def run(a: ti.types.vector(2, dtype), b: ti.types.vector(2, dtype)) -> ti.f64:
        return ti.math.distance(a, b)

    assert run([0, 1], [3, 5]) == run([3, 5], [0, 1]) == 5.0
