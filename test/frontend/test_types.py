"""Scalar types: promotion, division, casts, powers, functions of floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import mlirad as ti

INTEGERS = [ti.i8, ti.i16, ti.i32, ti.i64, ti.u8, ti.u16, ti.u32, ti.u64]
FLOATS = [ti.f32, ti.f64]


@pytest.fixture(autouse=True)
def program() -> Any:
    ti.init(cpu_max_num_threads=2, fast_math=False)
    yield
    ti.reset()


def promoted(left: Any, right: Any) -> Any:
    """Floats win, then the wider type, then the unsigned one."""
    if left.is_float != right.is_float:
        return left if left.is_float else right
    if left.bits != right.bits:
        return max(left, right, key=lambda t: t.bits)
    return left if left.kind == "u" else right


def samples(dtype: Any) -> list[Any]:
    if dtype.is_float:
        return [dtype.numpy.type(v) for v in (-3.75, -1.0, 0.5, 2.0, 7.25)]
    low = -(1 << (dtype.bits - 1)) if dtype.is_signed else 0
    return [
        dtype.numpy.type(v)
        for v in (low, low + 1, 1, 3, 100, (1 << (dtype.bits - dtype.is_signed)) - 1)
    ]


@pytest.mark.parametrize("right", INTEGERS + FLOATS, ids=str)
@pytest.mark.parametrize("left", INTEGERS + FLOATS, ids=str)
def test_promotion_and_arithmetic_of_every_pair_of_types(left: Any, right: Any) -> None:
    result = promoted(left, right)
    quotient = result if result.is_float else ti.f32
    pairs = [(a, b) for a in samples(left) for b in samples(right)]
    x, y = ti.field(left, shape=len(pairs)), ti.field(right, shape=len(pairs))
    x.from_numpy(np.array([a for a, _ in pairs], left.numpy))
    y.from_numpy(np.array([b for _, b in pairs], right.numpy))
    out = ti.field(result, shape=(3, len(pairs)))
    division = ti.field(quotient, shape=len(pairs))
    order = ti.field(ti.u1, shape=(2, len(pairs)))

    @ti.kernel
    def run():
        for i in x:
            total, product = x[i] + y[i], x[i] * y[i]
            ti.static_assert(total.dtype == result and (x[i] / y[i]).dtype == quotient)
            out[0, i], out[1, i], out[2, i] = total, x[i] - y[i], product
            division[i] = x[i] / y[i] if y[i] != 0 else 0.0
            order[0, i], order[1, i] = x[i] < y[i], x[i] == y[i]

    run()
    a, b = x.to_numpy().astype(result.numpy), y.to_numpy().astype(result.numpy)
    with np.errstate(all="ignore"):
        for row, expected in enumerate((a + b, a - b, a * b)):
            np.testing.assert_array_equal(out.to_numpy()[row], expected)
        exact = a.astype(quotient.numpy) / b.astype(quotient.numpy)
    np.testing.assert_allclose(division.to_numpy(), np.where(b == 0, 0, exact), rtol=1e-6)
    np.testing.assert_array_equal(order.to_numpy()[0], a < b)
    np.testing.assert_array_equal(order.to_numpy()[1], a == b)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=str)
def test_floor_division_and_remainder(dtype: Any) -> None:
    wanted = (-7, -6, -1, 0, 1, 6, 7) if dtype.is_signed else (0, 1, 6, 7)
    values = [v * (1.25 if dtype.is_float else 1) for v in wanted]
    divisors = [v for v in (-3, -1, 2, 3) if dtype.is_signed or v > 0]

    @ti.kernel
    def quotient(a: dtype, b: dtype) -> dtype:
        return a // b

    @ti.kernel
    def remainder(a: dtype, b: dtype) -> dtype:
        return a % b

    @ti.kernel
    def truncated(a: dtype, b: dtype) -> dtype:
        return ti.raw_mod(a, b)

    for a in values:
        for b in divisors:
            assert quotient(a, b) == pytest.approx(a // b)
            assert remainder(a, b) == pytest.approx(a % b)
            assert truncated(a, b) == pytest.approx(np.fmod(a, b))


@ti.kernel
def integer_operators(x: ti.i32, y: ti.i32, s: ti.i32) -> ti.types.vector(14, ti.i64):
    return ti.Vector(
        [
            ti.i64(x + y),
            ti.i64(x - y),
            ti.i64(x * y),
            ti.i64(-x),
            ti.i64(x & y),
            ti.i64(x | y),
            ti.i64(x ^ y),
            ti.i64(~x),
            ti.i64(x << s),
            ti.i64(x >> s),
            ti.i64(ti.u32(ti.bit_shr(x, s))),
            ti.i64(abs(x)),
            ti.i64(min(x, y)),
            ti.i64(max(x, y)),
        ]
    )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_integer_expressions_wrap_as_numpy_does(data: Any) -> None:
    a, b = (data.draw(st.integers(-(2**31), 2**31 - 1)) for _ in range(2))
    shift = data.draw(st.integers(0, 31))
    got = integer_operators(a, b, shift).to_list()
    x, y = np.int32(a), np.int32(b)
    with np.errstate(over="ignore"):
        expected = [
            x + y,
            x - y,
            x * y,
            -x,
            x & y,
            x | y,
            x ^ y,
            ~x,
            x << np.int32(shift),
            x >> np.int32(shift),
            np.array([x]).view(np.uint32)[0] >> np.uint32(shift),
            abs(x),
            min(x, y),
            max(x, y),
        ]
    assert got == [int(np.array([e]).astype(np.int64)[0]) for e in expected]


@pytest.mark.parametrize("exponent", [-3, -1, 0, 1, 2, 3, 7, 0.5, 2.0])
def test_powers_with_constant_exponents(exponent: float) -> None:
    @ti.kernel
    def run(x: ti.f64) -> ti.f64:
        return x**exponent

    for x in (0.5, 1.5, 3.0):
        assert run(x) == pytest.approx(x**exponent, rel=1e-12)
    if exponent == int(exponent):
        assert run(-2.0) == pytest.approx((-2.0) ** exponent, rel=1e-12)


def test_powers_with_variable_exponents() -> None:
    @ti.kernel
    def floats(x: ti.f64, n: ti.i32) -> ti.f64:
        return x**n

    @ti.kernel
    def integers(x: ti.i64, n: ti.i32) -> ti.i64:
        return x**n

    for x in (-1.5, 2.0):
        for n in range(-4, 5):
            assert floats(x, n) == pytest.approx(x**n, rel=1e-12)
    assert [integers(-3, n) for n in range(5)] == [1, -3, 9, -27, 81]


UNARY = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "tanh": np.tanh,
    "erf": special.erf,
    "erfc": special.erfc,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "floor": np.floor,
    "ceil": np.ceil,
    "abs": np.abs,
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_functions_of_floats(name: str, dtype: Any) -> None:
    function = getattr(ti, name)

    @ti.kernel
    def run(x: dtype) -> dtype:
        return function(x)

    points = [0.1, 0.5, 0.75] + ([] if name in ("log", "sqrt", "rsqrt") else [-0.3])
    for x in points:
        exact = UNARY[name](dtype.numpy.type(x))
        assert run(x) == pytest.approx(float(exact), rel=2e-6 if dtype == ti.f32 else 1e-12)


def test_rounding_takes_a_type() -> None:
    @ti.kernel
    def run(x: ti.f64) -> ti.types.vector(4, ti.f64):
        return ti.Vector(
            [ti.floor(x, ti.i32) / 2, ti.ceil(x, ti.i32) / 2, ti.round(x), ti.atan2(x, 2.0)]
        )

    assert run(-1.5).to_list() == pytest.approx([-1, -0.5, -2, np.arctan2(-1.5, 2)])


def test_functions_of_integers_give_floats() -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.f32:
        ti.static_assert(ti.sqrt(n).dtype == ti.f32)
        return ti.sqrt(n) + ti.sin(0)

    assert run(4) == 2.0


@pytest.mark.parametrize(
    "value, dtype, expected",
    [
        (3.9, ti.i32, 3),
        (-3.9, ti.i32, -3),
        (300.0, ti.u16, 300),
        (2.5, ti.u1, 1),
        (0.0, ti.u1, 0),
        (-1.0, ti.i8, -1),
    ],
)
def test_casts_from_floats(value: float, dtype: Any, expected: int) -> None:
    @ti.kernel
    def run(x: ti.f64) -> ti.i64:
        return ti.cast(ti.cast(x, dtype), ti.i64)

    assert run(value) == expected


@pytest.mark.parametrize("source", INTEGERS, ids=str)
@pytest.mark.parametrize("target", INTEGERS, ids=str)
def test_casts_between_integers(source: Any, target: Any) -> None:
    @ti.kernel
    def run(x: source) -> target:
        return ti.cast(x, target)

    for value in samples(source):
        assert run(int(value)) == int(np.array([value]).astype(target.numpy)[0])


def test_bit_casts() -> None:
    @ti.kernel
    def bits(x: ti.f32) -> ti.u32:
        return ti.bit_cast(x, ti.u32)

    @ti.kernel
    def number(x: ti.u32) -> ti.f32:
        return ti.bit_cast(x, ti.f32)

    assert bits(-1.5) == np.float32(-1.5).view(np.uint32)
    assert number(0x40490FDB) == np.float32(np.pi)


def test_default_types_of_literals_and_variables() -> None:
    ti.init(default_fp=ti.f64, default_ip=ti.i64)

    @ti.kernel
    def run() -> ti.f64:
        n = 1 << 40
        x = 1 / 3
        ti.static_assert(n.dtype == ti.i64 and x.dtype == ti.f64)
        return x + (n - n)

    assert run() == 1 / 3


def test_a_variable_keeps_the_type_of_its_first_value() -> None:
    @ti.kernel
    def run() -> ti.f32:
        n = 1
        n = 2.75
        x = 1.5
        x = 3
        y: ti.i8 = 130 - 2
        return n * 100 + x * 10 + ti.f32(y) / 128

    with pytest.warns(UserWarning, match="Assign may lose precision: i32 <- f32"):
        assert run() == 2 * 100 + 30 - 1
