"""Tuples that functions return: from any of several places, of any values, into any target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gradients import check, scalar, variable

import mlirad as ti

POINTS = (-0.8, 0.3, 0.9, 1.7)
Pair = ti.types.struct(a=ti.f64, k=ti.i32)


@pytest.fixture(autouse=True)
def start() -> None:
    ti.init(default_fp=ti.f64)


def parts(value: Any) -> Iterator[Any]:
    """The scalars of a value, in a kernel and in Python."""
    if isinstance(value, tuple | list):
        for part in value:
            yield from parts(part)
    elif isinstance(value, ti.Struct):
        yield value.a
        yield value.k
    elif hasattr(value, "entries"):
        yield from value.entries
    else:
        yield value


def weighed(value: Any) -> Any:
    """A number that tells values apart."""
    return sum((k + 1.5) * part for k, part in enumerate(parts(value)))


@ti.func
def hit(x, n):
    if x > 0.5:
        return True, x * x / n
    return False, 0.0


@ti.func
def nested(x, n):
    if x > 0.5:
        return (n, x * n), (x**3, (n + 1, 2.0 * x))
    elif x > 0.0:
        return (1, 0.5), (x, (2, x * x))
    else:
        return (n, x), (0.25, (n, ti.sin(x)))


@ti.func
def vectors(x, n):
    if n == 2:
        return ti.Vector([x, 2.0]), ti.Matrix([[x * x, 1.0], [0.5, x]]), n
    return ti.Vector([1.0, x * x]), ti.Matrix([[x, x], [1.0, x * x]]), 3


@ti.func
def structs(x, n):
    if x > 0.5:
        return Pair(x * x, n), 0.5 * x
    return Pair(ti.cos(x), 7), 3.0


@ti.func
def first_above(x, n):
    s = x
    for i in range(6):
        s = s * 1.5 + 0.1
        if s > n:
            return i, s * s
    return -1, 0.5 * s


@ti.func
def by_while(x, n):
    s, k = x, 0
    while True:
        for j in range(3):
            s += 0.3 * s * s
            if s > 2.0 or k > 4:
                return s, (k, j)
            k += 1
    return 0.0, (0, 0)


@ti.func
def unrolled(x, n):
    for k in ti.static(range(3)):
        if x < 0.5 * k:
            return k, x * k, ti.Vector([x, k])
    return 9, x * x, ti.Vector([1.0, x])


@ti.func
def handed_on(x, n):
    if x < 0.0:
        return 5, x * x * x
    return first_above(x * 0.5, n)


@ti.func
def kept(x, n):
    best = (False, x)
    for i in range(4):
        now = hit(x + 0.3 * i, n)
        if now[0]:
            best = (True, best[1] * now[1])
    return best


@ti.func
def chosen(x, n):
    k, s = (1, x * x) if x > 0.5 else (2, 3.0 * x)
    return s, k // 2


@ti.func
def with_star(x, n):
    first, *others = nested(x, n)
    return others[0], first


@ti.real_func
def real(x: ti.f64, n: ti.i32) -> tuple[ti.i32, ti.f64, ti.types.vector(2, ti.f64)]:
    for i in range(5):
        if x * i > 1.0:
            return i, x * x, ti.Vector([x, 1.0])
    return 0, 0.5 * x, ti.Vector([x * x, x])


@ti.func
def of_lists(x, n):
    if x > 0.5:
        return [n, x * x]
    return [1, ti.sin(x)]


FUNCTIONS = [
    hit,
    nested,
    vectors,
    structs,
    first_above,
    by_while,
    unrolled,
    handed_on,
    kept,
    chosen,
    with_star,
    real,
    of_lists,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_values_and_derivatives(function: Callable[..., Any]) -> None:
    """In kernels as in Python, and the derivatives by differences."""
    x, loss = variable(len(POINTS)), scalar()
    x.from_numpy(np.array(POINTS))

    @ti.kernel
    def value(at: ti.f64, n: ti.i32) -> ti.f64:
        return weighed(function(at, n))

    @ti.kernel
    def run(n: ti.i32):
        for i in x:
            loss[None] += weighed(function(x[i], n))

    for n in (1, 2):
        for at in POINTS:
            assert value(at, n) == pytest.approx(weighed(function(at, n)), rel=1e-14)
    check(lambda: run(2), [x], loss)


def test_recursive_tuples() -> None:
    @ti.real_func
    def extended_euclid(a: ti.i32, b: ti.i32) -> tuple[ti.i32, ti.i32, ti.i32]:
        if b == 0:
            return a, 1, 0
        g, s, t = extended_euclid(b, a % b)
        return g, t, s - (a // b) * t

    @ti.kernel
    def run(a: ti.i32, b: ti.i32) -> tuple[ti.i32, ti.i32, ti.i32]:
        return extended_euclid(a, b)

    g, s, t = run(240, 46)
    assert (g, 240 * s + 46 * t) == (2, 2)


def test_targets() -> None:
    """Names, entries, swizzles, members, elements of fields, parameters and vectors take them."""
    x, v = ti.field(ti.f64, 3), ti.Vector.field(3, ti.f64, 2)

    @ti.func
    def three(c):
        if c:
            return 1, 2.0, 3.0
        return 4, 5.5, 6.0

    @ti.func
    def added(a, b, c):
        return a + 10.0 * b + 100.0 * c

    @ti.kernel
    def run(c: ti.i32) -> ti.types.vector(6, ti.f64):
        w = ti.Vector([0.0, 0.0, 0.0, 0.0])
        p = Pair(0.0, 0)
        (w.xy, w[3]), x[2] = (ti.Vector(three(c)).xz, 7.0), three(c)[1]
        p.k, p.a, x[0] = three(c)
        x[three(c)[0] // 4] += 0.5
        v[0], v[1] = three(c), [*three(c)]
        v[1] += three(c)
        s = 0.0
        for part in ti.static(three(c)):
            s += part
        return ti.Vector([w.sum(), p.k, p.a, added(*three(c)), s, three(c)[1:][0]])

    assert run(1).to_list() == [1.0 + 3.0 + 7.0, 1, 2.0, 321.0, 6.0, 2.0]
    assert (x.to_numpy().tolist(), v.to_numpy().tolist()) == ([3.5, 0, 2], [[1, 2, 3], [2, 4, 6]])
    assert run(0).to_list() == [4.0 + 6.0 + 7.0, 4, 5.5, 659.0, 15.5, 5.5]
    assert x.to_numpy().tolist() == [6.0, 0.5, 5.5]


def test_kernels_return_them_early() -> None:
    @ti.kernel
    def run(n: ti.i32) -> tuple[ti.i32, ti.f64]:
        if n > 5:
            return n, 2.5
        for i in range(3):
            if i == n:
                return -i, 0.5
        return 1, 4

    assert [run(n) for n in (7, 2, 4)] == [(7, 2.5), (-2, 0.5), (1, 4.0)]


@pytest.mark.parametrize(
    "first, second, given",
    [
        (False, 2, 2),
        (0, 2.5, 2.5),
        (2.5, 3, 3.0),
    ],
)
def test_a_result_has_the_type_that_all_returns_have(first: Any, second: Any, given: Any) -> None:
    @ti.func
    def either(c):
        if c:
            return first, 1
        return second, 2

    @ti.kernel
    def run(c: ti.i32) -> tuple[ti.f64, ti.i32]:
        return either(c)

    assert [tuple(run(c)) for c in (1, 0)] == [(first, 1), (given, 2)]


def test_wide_results_keep_their_digits() -> None:
    @ti.func
    def either(c, narrow, wide):
        if c:
            return narrow
        return wide

    @ti.kernel
    def integers(c: ti.i32, wide: ti.i64) -> ti.i64:
        return either(c, 1, wide)

    @ti.kernel
    def floats(c: ti.i32, narrow: ti.f32, wide: ti.f64) -> ti.f64:
        return either(c, narrow, wide)

    assert [integers(c, 1 << 40) for c in (0, 1)] == [1 << 40, 1]
    assert [floats(c, 0.5, 0.1) for c in (0, 1)] == [0.1, 0.5]


@ti.func
def of_lengths(c):
    if c:
        return 1, 2.0
    return 1, 2.0, 3.0  # here


@ti.func
def of_kinds(c):
    if c:
        return 1, 2.0
    return 1  # here


@ti.func
def of_text(c):
    if c:
        return 1, "one"  # here
    return 2, "two"


@pytest.mark.parametrize(
    "function, message",
    [
        (of_lengths, "the values that 'of_lengths' returns are a tuple of a scalar, a scalar and"),
        (of_kinds, "the values that 'of_kinds' returns are a scalar and a tuple of"),
        (of_text, "one of the values that 'of_text' returns is a str"),
    ],
)
def test_refused(function: Any, message: str) -> None:
    @ti.kernel
    def run(c: ti.i32) -> ti.i32:
        return function(c)[0]

    with pytest.raises(ti.TaichiTypeError, match=message) as caught:
        run(1)
    assert "# here" in str(caught.value)


def test_entries_of_tuples_stay() -> None:
    @ti.kernel
    def run(c: ti.i32) -> ti.i32:
        pair = (1, 2)
        if c:
            pair = (3, 4)
            pair[0] = 5  # here
        return pair[0]

    with pytest.raises(ti.TaichiTypeError, match="cannot assign to this"):
        run(1)
