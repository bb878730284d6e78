"""The scalar language: types, operators, control flow, functions, atomics, random draws."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    return [dtype.numpy.type(v) for v in (low, low + 1, 1, 3, 100, (1 << (dtype.bits - dtype.is_signed)) - 1)]


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


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_integer_expressions_wrap_as_numpy_does(data: Any) -> None:
    a, b = (data.draw(st.integers(-2 ** 31, 2 ** 31 - 1)) for _ in range(2))
    shift = data.draw(st.integers(0, 31))
    got = _integer_kernel(a, b, shift)
    x, y = np.int32(a), np.int32(b)
    with np.errstate(over="ignore"):
        expected = [x + y, x - y, x * y, -x, x & y, x | y, x ^ y, ~x, x << np.int32(shift), x >> np.int32(shift),
                    np.array([x]).view(np.uint32)[0] >> np.uint32(shift), abs(x), min(x, y), max(x, y)]
    assert got == [int(np.array([e]).astype(np.int64)[0]) for e in expected]


def _integer_kernel(a: int, b: int, shift: int) -> list[int]:
    @ti.kernel
    def run(x: ti.i32, y: ti.i32, s: ti.i32) -> ti.types.vector(14, ti.i64):
        return ti.Vector([ti.i64(x + y), ti.i64(x - y), ti.i64(x * y), ti.i64(-x), ti.i64(x & y), ti.i64(x | y),
                          ti.i64(x ^ y), ti.i64(~x), ti.i64(x << s), ti.i64(x >> s), ti.i64(ti.u32(ti.bit_shr(x, s))),
                          ti.i64(abs(x)), ti.i64(min(x, y)), ti.i64(max(x, y))])

    global _compiled
    if _compiled is None or _compiled[0] is not ti.lang.impl.get_runtime()._program:
        _compiled = ti.lang.impl.get_runtime()._program, run
    return _compiled[1](a, b, shift).to_list()


_compiled: Any = None


@pytest.mark.parametrize("exponent", [-3, -1, 0, 1, 2, 3, 7, 0.5, 2.0])
def test_powers_with_constant_exponents(exponent: float) -> None:
    @ti.kernel
    def run(x: ti.f64) -> ti.f64:
        return x ** exponent

    for x in (0.5, 1.5, 3.0):
        assert run(x) == pytest.approx(x ** exponent, rel=1e-12)
    if exponent == int(exponent):
        assert run(-2.0) == pytest.approx((-2.0) ** exponent, rel=1e-12)


def test_powers_with_variable_exponents() -> None:
    @ti.kernel
    def floats(x: ti.f64, n: ti.i32) -> ti.f64:
        return x ** n

    @ti.kernel
    def integers(x: ti.i64, n: ti.i32) -> ti.i64:
        return x ** n

    for x in (-1.5, 2.0):
        for n in range(-4, 5):
            assert floats(x, n) == pytest.approx(x ** n, rel=1e-12)
    assert [integers(-3, n) for n in range(5)] == [1, -3, 9, -27, 81]


UNARY = {"sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "tanh": np.tanh,
         "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "floor": np.floor,
         "ceil": np.ceil, "abs": np.abs}


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
        return ti.Vector([ti.floor(x, ti.i32) / 2, ti.ceil(x, ti.i32) / 2, ti.round(x), ti.atan2(x, 2.0)])

    assert run(-1.5).to_list() == pytest.approx([-1, -0.5, -2, np.arctan2(-1.5, 2)])


def test_functions_of_integers_give_floats() -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.f32:
        ti.static_assert(ti.sqrt(n).dtype == ti.f32)
        return ti.sqrt(n) + ti.sin(0)

    assert run(4) == 2.0


@pytest.mark.parametrize("value, dtype, expected", [
    (3.9, ti.i32, 3), (-3.9, ti.i32, -3), (300.0, ti.u16, 300), (2.5, ti.u1, 1), (0.0, ti.u1, 0), (-1.0, ti.i8, -1)])
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

    assert run() == 2 * 100 + 30 - 1


def test_chained_comparisons() -> None:
    @ti.kernel
    def run(a: int, b: int, c: int) -> int:
        return ti.cast(a < b <= c != a, ti.i32)

    for a in range(-1, 3):
        for b in range(3):
            for c in range(3):
                assert run(a, b, c) == (a < b <= c != a)


def test_and_or_not_stop_early_and_give_the_deciding_value() -> None:
    seen = ti.field(ti.i32, shape=())

    @ti.func
    def note(value, mark):
        seen[None] += mark
        return value

    @ti.kernel
    def both(a: int, b: int) -> int:
        return note(a, 1) and note(b, 10)

    @ti.kernel
    def either(a: int, b: int) -> int:
        return note(a, 1) or note(b, 10)

    @ti.kernel
    def neither(a: int, b: int) -> int:
        return ti.cast(not (a or b), ti.i32)

    for a in (0, 2):
        for b in (0, 3):
            seen[None] = 0
            assert both(a, b) == (a and b) and seen[None] == (11 if a else 1)
            seen[None] = 0
            assert either(a, b) == (a or b) and seen[None] == (1 if a else 11)
            assert neither(a, b) == (not (a or b))


def test_a_guarded_index_is_not_read() -> None:
    ti.init(debug=True)
    x = ti.field(ti.i32, shape=4)
    x.fill(1)

    @ti.kernel
    def run() -> int:
        total = 0
        for i in range(8):
            if i < 4 and x[i] > 0:
                total += 1
        return total

    assert run() == 4


def test_ternaries_take_one_branch() -> None:
    x = ti.field(ti.f32, shape=2)

    @ti.kernel
    def run(n: int) -> ti.f32:
        return ti.atomic_add(x[0], 1) + 5 if n > 0 else ti.atomic_add(x[1], 1) - 5.5

    assert (run(1), run(0), run(2)) == (5, -5.5, 6)
    np.testing.assert_array_equal(x.to_numpy(), [2, 1])


def test_select_promotes_both_sides() -> None:
    @ti.kernel
    def run(n: int) -> ti.f32:
        return ti.select(n, 1, 2.5)

    assert (run(3), run(0)) == (1.0, 2.5)


def test_tuple_assignment_reads_before_it_writes() -> None:
    x = ti.field(ti.i32, shape=3)

    @ti.kernel
    def run(n: int) -> int:
        a, b, c = 0, 1, 100
        for _ in range(n):
            a, b = b, a + b
        x[0], x[1] = a, b
        x[1], x[0], x[2] = x[0], x[1], x[0] + x[1]
        c, a = a, c
        return a * 1000 + c

    assert run(10) == 100 * 1000 + 55
    np.testing.assert_array_equal(x.to_numpy(), [89, 55, 144])


def test_chained_assignment() -> None:
    x = ti.field(ti.f32, shape=2)

    @ti.kernel
    def run() -> int:
        a = b = x[0] = 3
        a += 1
        x[1] = b
        return a

    assert run() == 4
    np.testing.assert_array_equal(x.to_numpy(), [3, 3])


def test_augmented_assignment_of_every_operator() -> None:
    x = ti.field(ti.i32, shape=11)

    @ti.kernel
    def run(a: int, b: int):
        for i in x:
            x[i] = a
        x[0] += b
        x[1] -= b
        x[2] *= b
        x[3] //= b
        x[4] %= b
        x[5] &= b
        x[6] |= b
        x[7] ^= b
        x[8] <<= b
        x[9] >>= b
        x[10] **= b

    run(13, 3)
    np.testing.assert_array_equal(x.to_numpy(), [16, 10, 39, 4, 1, 1, 15, 14, 104, 1, 2197])


def test_true_division_in_place() -> None:
    x = ti.field(ti.f64, shape=())
    x[None] = 7

    @ti.kernel
    def run() -> ti.f64:
        y = 1.0
        y /= 4
        x[None] /= 2
        return y

    assert run() == 0.25 and x[None] == 3.5


ATOMICS = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "min": min, "max": max}
BITS = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


@pytest.mark.parametrize("kind", [*ATOMICS, *BITS])
@pytest.mark.parametrize("dtype", [ti.i32, ti.i64, ti.u32, ti.f32, ti.f64], ids=str)
def test_atomics_give_the_value_before(kind: str, dtype: Any) -> None:
    if kind in BITS and dtype.is_float:
        return
    update = getattr(ti, f"atomic_{kind}")
    combine = {**ATOMICS, **BITS}[kind]
    x = ti.field(dtype, shape=())

    @ti.kernel
    def on_a_field(value: dtype) -> dtype:
        return update(x[None], value)

    @ti.kernel
    def on_a_local(start: dtype, value: dtype) -> dtype:
        s = start
        old = update(s, value)
        return s * 1000 + old

    for start, value in ((12, 5), (5, 12)):
        x[None] = start
        assert on_a_field(value) == start
        expected = combine(start, value) % (1 << 32) if dtype == ti.u32 else combine(start, value)
        assert x[None] == expected
        local = on_a_local(start, value)
        assert local == (expected * 1000 + start) % (1 << 32) if dtype == ti.u32 else local == expected * 1000 + start


@pytest.mark.parametrize("kind", [*ATOMICS, *BITS])
def test_atomics_from_many_iterations(kind: str) -> None:
    update = getattr(ti, f"atomic_{kind}")
    n = 4000
    values = np.random.default_rng(3).integers(0, 1 << 20, n).astype(np.int32)
    x, total, cells = ti.field(ti.i32, shape=n), ti.field(ti.i32, shape=()), ti.field(ti.i32, shape=7)
    x.from_numpy(values)
    start = -1 if kind == "and" else 0
    total[None] = start
    cells.fill(start)

    @ti.kernel
    def run():
        for i in x:
            update(total[None], x[i])
            update(cells[x[i] % 7], x[i])

    run()
    functions = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
                 "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    expected, parts = np.array(start, np.int32), np.full(7, start, np.int32)
    with np.errstate(over="ignore"):
        for v in values:
            expected = functions[kind](expected, v)
            parts[v % 7] = functions[kind](parts[v % 7], v)
    assert total[None] == expected
    np.testing.assert_array_equal(cells.to_numpy(), parts)


def test_float_sums_keep_their_digits() -> None:
    n = 1_000_000
    x, total = ti.field(ti.f32, shape=n), ti.field(ti.f32, shape=())
    values = np.random.default_rng(1).uniform(size=n).astype(np.float32)
    x.from_numpy(values)

    @ti.kernel
    def run():
        for i in x:
            total[None] += x[i]

    run()
    assert total[None] == pytest.approx(values.astype(np.float64).sum(), rel=1e-6)


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def test_while_loops() -> None:
    @ti.kernel
    def run(start: int) -> int:
        n, steps = start, 0
        while n != 1:
            if n % 2 == 0:
                n //= 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps

    assert [run(n) for n in range(1, 30)] == [collatz(n) for n in range(1, 30)]


def nested_jumps(n: int) -> int:
    total = 0
    for i in range(n):
        if i % 5 == 4:
            continue
        j = 0
        while True:
            j += 1
            if j > i:
                break
            if j % 3 == 0:
                continue
            for k in range(j):
                if k == 4:
                    break
                if k % 2:
                    continue
                total += 100 * i + 10 * j + k
            total += 1
        if total > 4000:
            break
        total += 7
    return total


def test_break_and_continue_at_depth() -> None:
    compiled, parts = ti.kernel(serial_loop), ti.kernel(parallel_loop)
    for n in (0, 1, 3, 8, 20):
        assert compiled(n) == nested_jumps(n)
        assert parts(n) == sum(j for i in range(n) if i % 3 for j in range(i) if j % 2 == 0 and j < 6)


def serial_loop(n: int) -> int:
    total = 0
    ti.loop_config(serialize=True)
    for i in range(n):
        if i % 5 == 4:
            continue
        j = 0
        while True:
            j += 1
            if j > i:
                break
            if j % 3 == 0:
                continue
            for k in range(j):
                if k == 4:
                    break
                if k % 2:
                    continue
                total += 100 * i + 10 * j + k
            total += 1
        if total > 4000:
            break
        total += 7
    return total


def parallel_loop(n: int) -> int:
    total = 0
    for i in range(n):
        if i % 3 == 0:
            continue
        for j in range(i):
            if j >= 6:
                break
            if j % 2:
                continue
            total += j
    return total


def test_break_of_a_parallel_loop_is_refused() -> None:
    @ti.kernel
    def run():
        for i in range(4):
            if i == 2:
                break

    with pytest.raises(ti.TaichiSyntaxError, match="break"):
        run()


def test_a_loop_under_a_condition_is_serial() -> None:
    x = ti.field(ti.i32, shape=5000)

    @ti.kernel
    def run(n: int):
        if True:
            for i in range(1, 5000):
                x[i] = x[i - 1] + 1
        if n > 0:
            for i in range(1, 5000):
                x[i] += x[i - 1]

    run(0)
    np.testing.assert_array_equal(x.to_numpy(), np.arange(5000))
    run(1)
    np.testing.assert_array_equal(x.to_numpy(), np.cumsum(np.arange(5000)))


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
def test_ranges(step: int) -> None:
    @ti.kernel
    def constant_step(a: int, b: int) -> int:
        total = 0
        ti.loop_config(serialize=True)
        for i in range(a, b, step):
            total = total * 3 + i
        return total

    @ti.kernel
    def variable_step(a: int, b: int, s: int) -> int:
        total = 0
        for _ in range(1):
            for i in range(a, b, s):
                total = total * 3 + i
        return total

    for a, b in ((0, 7), (7, 0), (-3, 4), (2, 2)):
        expected = 0
        for i in range(a, b, step):
            expected = expected * 3 + i
        assert constant_step(a, b) == expected
        assert variable_step(a, b, step) == expected


def test_ndrange_and_grouped() -> None:
    x = ti.field(ti.i32, shape=(4, 5, 6))
    y = ti.field(ti.i32, shape=(4, 5, 6))

    @ti.kernel
    def run(n: int):
        for i, j, k in ti.ndrange((1, n), 5, (2, 4)):
            x[i, j, k] += 100 * i + 10 * j + k
        for I in ti.grouped(y):
            y[I] = I[0] * 100 + I.y * 10 + I[2]
        for I in ti.grouped(ti.ndrange(2, (1, 3), 6)):
            y[I] = -I.sum()

    run(3)
    i, j, k = np.indices((4, 5, 6))
    number = 100 * i + 10 * j + k
    inside = (i >= 1) & (i < 3) & (k >= 2) & (k < 4)
    np.testing.assert_array_equal(x.to_numpy(), np.where(inside, number, 0))
    np.testing.assert_array_equal(y.to_numpy(), np.where((i < 2) & (j >= 1) & (j < 3), -(i + j + k), number))


def test_inner_loops_over_fields_and_boxes() -> None:
    x, total = ti.field(ti.i32, shape=(3, 4)), ti.field(ti.i32, shape=2)

    @ti.kernel
    def run():
        for _ in range(1):
            for i, j in x:
                x[i, j] = i * 4 + j
            for I in ti.grouped(x):
                total[0] += x[I]
            for i, j in ti.ndrange(3, (i0(), 4)):
                if j == 3:
                    continue
                total[1] += x[i, j]

    @ti.func
    def i0():
        return 1

    run()
    values = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(total.to_numpy(), [values.sum(), values[:, 1:3].sum()])


def test_locals_that_a_parallel_loop_updates() -> None:
    n = 10_000

    @ti.kernel
    def run() -> ti.types.vector(4, ti.i64):
        total = ti.i64(0)
        largest = ti.i64(-1)
        last = ti.i64(0)
        v = ti.Vector([ti.i64(0), ti.i64(5)])
        for i in range(n):
            total += i
            ti.atomic_max(largest, i % 777)
            v[1] += 2
            if i == 1234:
                last = ti.i64(i)
        return ti.Vector([total, largest, last, v[0] + v[1]])

    assert run().to_list() == [n * (n - 1) // 2, 776, 1234, 5 + 2 * n]


def test_arguments_by_reference_are_shared_with_a_loop() -> None:
    @ti.func
    def add(target: ti.template(), value):
        target += value

    @ti.func
    def twice(target: ti.template(), value):
        add(target, value)
        add(target, value)

    @ti.kernel
    def run(n: int) -> int:
        total = 0
        for i in range(n):
            twice(total, i)
        add(total, 1)
        return total

    assert run(1000) == 1000 * 999 + 1


def test_an_operator_by_another_name() -> None:
    combine = ti.atomic_max

    @ti.kernel
    def run(n: int) -> int:
        best = -5
        for i in range(n):
            combine(best, (i * 7) % 11)
        return best

    assert (run(0), run(1), run(30)) == (-5, 0, 10)


def test_loops_run_in_order() -> None:
    x = ti.field(ti.i32, shape=3000)

    @ti.kernel
    def run(n: int) -> int:
        for i in range(n):
            x[i] = i
        total = 0
        for i in range(n):
            total += x[n - 1 - i]
        x[0] = total
        for i in range(1, n):
            x[i] += x[0]
        return x[1]

    assert run(3000) == 3000 * 2999 // 2 + 1


def test_early_returns_in_functions() -> None:
    @ti.func
    def find(n, divisor):
        if n < 0:
            return -1
        for i in range(1, n):
            if i % divisor == 0:
                if i > 5:
                    return i * 10
                elif i == 4:
                    return i
            while i > 8:
                return 99
        return 0

    @ti.kernel
    def run(n: int, divisor: int) -> int:
        return find(n, divisor)

    def reference(n: int, divisor: int) -> int:
        if n < 0:
            return -1
        for i in range(1, n):
            if i % divisor == 0:
                if i > 5:
                    return i * 10
                if i == 4:
                    return i
            if i > 8:
                return 99
        return 0

    for n in (-1, 0, 3, 5, 7, 12, 20):
        for divisor in (1, 2, 3, 7, 11):
            assert run(n, divisor) == reference(n, divisor)


def test_early_return_of_a_kernel() -> None:
    @ti.kernel
    def run(n: int) -> int:
        if n > 3:
            return 7
        x = n * 2
        if x < 0:
            return x
        return 1

    assert (run(5), run(-2), run(0)) == (7, -4, 1)


def test_reference_parameters() -> None:
    @ti.func
    def by_value(v, n):
        v[0] = 100
        n += 1
        return n

    @ti.func
    def by_reference(v: ti.template(), n: ti.template()):
        v[0] = 50
        n += 1

    @ti.func
    def outer(a, b=3, scale=2.0):
        return (a - b) * scale

    @ti.kernel
    def run() -> ti.types.vector(6, ti.f32):
        v = ti.Vector([1, 2])
        n = 10
        m = by_value(v, n)
        first = v[0]
        by_reference(v, n)
        return ti.Vector([first, m, v[0], n, outer(b=1, a=5), outer(4, scale=0.5)])

    assert run().to_list() == [1, 11, 50, 11, 8, 0.5]


def test_functions_convert_declared_types() -> None:
    @ti.func
    def half(x: ti.f64) -> ti.i32:
        return x / 2

    @ti.kernel
    def run(n: int) -> ti.f64:
        ti.static_assert(half(n).dtype == ti.i32)
        return half(n)

    assert run(7) == 3


def test_methods_and_closures() -> None:
    factor = 3

    @ti.data_oriented
    class Model:
        scale = 10

        def __init__(self, n: int) -> None:
            self.n = n
            self.x = ti.field(ti.i32, shape=n)

        @ti.func
        def weight(self, i):
            return self.scale * i + factor

        @ti.kernel
        def run(self, add: ti.i32) -> ti.i32:
            total = 0
            for i in range(self.n):
                self.x[i] = self.weight(i) + add
                total += self.x[i]
            return total

    small, large = Model(3), Model(5)
    assert small.run(1) == sum(10 * i + 4 for i in range(3))
    assert large.run(0) == sum(10 * i + 3 for i in range(5))
    np.testing.assert_array_equal(small.x.to_numpy(), [4, 14, 24])


def test_static_loops_and_conditions() -> None:
    fields = [ti.field(ti.i32, shape=()) for _ in range(3)]
    table = {"a": 5, "b": 7}

    @ti.kernel
    def run(flag: ti.template()) -> int:
        for i in ti.static(range(3)):
            fields[i][None] = i + 1
        total = 0
        for i, f in ti.static(enumerate(fields)):
            if ti.static(i == 1):
                continue
            total += f[None] * 10 ** i
        for key in ti.static(table):
            total += table[key]
        for p, q in ti.static(zip((1, 2), (3, 4))):
            total += p * q
        for i, j in ti.static(ti.ndrange(2, (1, 3))):
            total += i * j
        for i in ti.static(range(9)):
            if ti.static(i > 2):
                break
            total += 1000
        if ti.static(flag):
            extra = 10000
        else:
            extra = 0.5
        return total + extra

    expected = 1 + 300 + 12 + 11 + 3 + 3000
    assert run(True) == expected + 10000
    assert run(False) == expected


def test_static_names_fields() -> None:
    x, y = ti.field(ti.i32, shape=3), ti.field(ti.i32, shape=3)

    @ti.kernel
    def run():
        a, b = ti.static(x, y)
        for i in a:
            a[i] = i
            b[i] = -a[i]

    run()
    np.testing.assert_array_equal(y.to_numpy(), [0, -1, -2])


def test_templates_compile_once_for_each_value() -> None:
    x, y = ti.field(ti.i32, shape=3), ti.field(ti.f32, shape=(2, 2))
    compiled = ti.lang.impl.get_runtime().get_num_compiled_functions

    @ti.kernel
    def fill(target: ti.template(), value: ti.template()):
        for I in ti.grouped(target):
            target[I] = value

    start = compiled()
    for _ in range(3):
        fill(x, 2)
        fill(y, 2)
        fill(y, 0.5)
    assert compiled() - start == 3
    np.testing.assert_array_equal(x.to_numpy(), [2, 2, 2])
    np.testing.assert_array_equal(y.to_numpy(), np.full((2, 2), 0.5))


def test_comprehensions_and_containers() -> None:
    @ti.kernel
    def run(n: int) -> int:
        squares = [i * i for i in range(5) if i != 2]
        named = {k: k + n for k in range(3)}
        grid = [[i * 10 + j for j in range(2)] for i in range(2)]
        total = 0
        for s in ti.static(squares):
            total += s
        return total * 10000 + named[2] * 100 + grid[1][1] + len(squares)

    assert run(5) == (0 + 1 + 9 + 16) * 10000 + 700 + 11 + 4


def test_loop_options() -> None:
    x = ti.field(ti.i32, shape=5000)

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i in range(1, 5000):
            x[i] = x[i - 1] + 2
        ti.loop_config(parallelize=2, block_dim=128)
        for i in x:
            x[i] += 1

    run()
    np.testing.assert_array_equal(x.to_numpy(), 2 * np.arange(5000) + 1)


def test_results_of_every_shape() -> None:
    @ti.kernel
    def many() -> ti.types.vector(300, ti.i32):
        return ti.Vector([i * i for i in range(300)])

    @ti.kernel
    def pair(n: int) -> tuple[ti.i32, ti.f64]:
        return n, n / 4

    @ti.kernel
    def flag(n: int) -> ti.u1:
        return n > 2

    assert many().to_list() == [i * i for i in range(300)]
    assert pair(3) == (3, 0.75)
    assert flag(3) is True and flag(1) is False


def test_print(capfd: pytest.CaptureFixture[str]) -> None:
    @ti.kernel
    def run(n: int, x: ti.f32):
        v = ti.Vector([n, n + 1])
        print("a", n, x, 3, "100% {ok}")
        print(f"{n} {x:.2f}", v, sep="|", end=";\n")
        print("{1:.1f} {0:d}".format(n, x), "%d %.3f" % (n, x))

    run(7, 0.5)
    assert capfd.readouterr().out == "a 7 0.500000 3 100% {ok}\n7 0.50|[7, 8];\n0.5 7 7 0.500\n"


def draws(n: int) -> np.ndarray:
    x = ti.field(ti.f64, shape=n)

    @ti.kernel
    def run():
        for i in x:
            x[i] = ti.random(ti.f64)

    run()
    first = x.to_numpy()
    run()
    assert (first != x.to_numpy()).all()
    return first


def test_random_draws_are_uniform_independent_and_reproducible() -> None:
    n = 100_000
    ti.init(random_seed=5, cpu_max_num_threads=1)
    first = draws(n)
    ti.init(random_seed=5, cpu_max_num_threads=2)
    np.testing.assert_array_equal(draws(n), first)
    ti.init(random_seed=6)
    assert (draws(n) != first).mean() > 0.99
    assert first.min() >= 0 and first.max() < 1
    assert abs(first.mean() - 0.5) < 5 / np.sqrt(12 * n)
    counts = np.histogram(first, 50, (0, 1))[0]
    assert ((counts - n / 50) ** 2 / (n / 50)).sum() < 49 + 5 * np.sqrt(98)
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 5 / np.sqrt(n)


def test_random_integers_and_normal_draws() -> None:
    n = 40_000
    bits, normal = ti.field(ti.i32, shape=n), ti.field(ti.f64, shape=n)

    @ti.kernel
    def run():
        for i in range(n):
            bits[i] = ti.random(ti.i32)
            normal[i] = ti.randn(ti.f64)

    run()
    ones = np.unpackbits(bits.to_numpy().view(np.uint8)).mean()
    assert abs(ones - 0.5) < 5 * 0.5 / np.sqrt(32 * n)
    assert abs(normal.to_numpy().mean()) < 5 / np.sqrt(n)
    assert abs(normal.to_numpy().std() - 1) < 5 / np.sqrt(2 * n)
