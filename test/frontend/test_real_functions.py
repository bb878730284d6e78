"""`@ti.real_func`: declared types, references, recursion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import mlirad as ti


@ti.real_func
def factorial(n: ti.i32) -> ti.i64:
    return ti.i64(1) if n < 2 else n * factorial(n - 1)


@ti.real_func
def ackermann(m: ti.i32, n: ti.i32) -> ti.i32:
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


@ti.real_func
def weighted(n: ti.i32, weight: ti.f64) -> ti.f64:
    result = weight
    for k in range(n):
        if k == 2:
            continue
        if result > 40:
            break
        result += weighted(k, weight / 2) * (k + 1)
    return result


def weighted_in_python(n: int, weight: float) -> float:
    result = weight
    for k in range(n):
        if k == 2:
            continue
        if result > 40:
            break
        result += weighted_in_python(k, weight / 2) * (k + 1)
    return result


@ti.real_func
def sum_of(x: ti.template(), low: ti.i32, high: ti.i32) -> ti.f64:
    if high - low == 1:
        return x[low]
    middle = (low + high) // 2
    return sum_of(x, low, middle) + sum_of(x, middle, high)


@ti.real_func
def rotated(v: ti.types.vector(2, ti.f64), n: ti.i32) -> ti.types.vector(2, ti.f64):
    while n > 0:
        return rotated(ti.Vector([-v[1], v[0]]), n - 1)
    return v


@ti.real_func
def ends(n: ti.i32) -> tuple[ti.i32, ti.f64]:
    if n == 0:
        return 0, 1.0
    count, product = ends(n - 1)
    return count + 1, product * 2


@pytest.mark.usefixtures("f64")
def test_recursion_is_that_of_python() -> None:
    @ti.kernel
    def run_factorial(n: int) -> ti.i64:
        return factorial(n)

    @ti.kernel
    def run_ackermann(m: int, n: int) -> int:
        return ackermann(m, n)

    @ti.kernel
    def run_weighted(n: int) -> ti.f64:
        return weighted(n, 1.0)

    @ti.kernel
    def run_rotated(n: int) -> ti.types.vector(2, ti.f64):
        return rotated(ti.Vector([1.0, 2.0], ti.f64), n)

    @ti.kernel
    def run_ends(n: int) -> (ti.i32, ti.f64):
        return ends(n)

    assert [run_factorial(n) for n in range(15)] == [math.factorial(n) for n in range(15)]
    assert run_ackermann(2, 5) == 2 * 5 + 3 and run_ackermann(3, 3) == 2 ** (3 + 3) - 3
    assert [run_weighted(n) for n in range(9)] == [weighted_in_python(n, 1.0) for n in range(9)]
    assert [list(run_rotated(n)) for n in range(4)] == [[1, 2], [-2, 1], [-1, -2], [2, -1]]
    assert tuple(run_ends(7)) == (7, 128.0)


@pytest.mark.parametrize("threads", [1, 2])
def test_recursion_in_a_parallel_loop(threads: int) -> None:
    ti.init(cpu_max_num_threads=threads)
    n = 20_000
    x, y = ti.field(ti.f64, 64), ti.field(ti.f64, n)
    x.from_numpy(np.arange(64.0))

    @ti.kernel
    def run():
        for i in y:
            y[i] = sum_of(x, i % 32, 64) + factorial(i % 5)

    run()
    tails = [sum(range(k, 64)) for k in range(32)]
    expected = [tails[i % 32] + math.factorial(i % 5) for i in range(n)]
    assert y.to_numpy().tolist() == expected


@pytest.mark.usefixtures("f64")
def test_recursion_of_structs() -> None:
    Count = ti.types.struct(n=ti.i32, v=ti.types.vector(2, ti.f64))

    @ti.real_func
    def counted(before: Count, n: ti.i32) -> Count:
        here = Count(n=before.n + 1, v=before.v + n)
        if n == 0:
            return here
        return counted(here, n - 1)

    @ti.kernel
    def run(n: int) -> Count:
        return counted(Count(), n)

    result = run(4)
    assert result.n == 5 and list(result.v) == [10, 10]


@pytest.mark.usefixtures("f64")
def test_recursion_that_is_too_deep_fails_the_launch() -> None:
    @ti.kernel
    def run(n: int) -> ti.i64:
        return factorial(n)

    run(1024)
    with pytest.raises(ti.TaichiAssertionError, match="'factorial' calls itself more than 1024"):
        run(1025)
    assert run(5) == 120


@pytest.mark.usefixtures("f64")
def test_recursion_is_not_differentiated() -> None:
    x = ti.field(ti.f64, 8, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)
    levels = ti.field(int, 8)

    @ti.real_func
    def power(v: ti.f64, n: ti.i32) -> ti.f64:
        if n == 0:
            return 1.0
        return v * power(v, n - 1)

    @ti.kernel
    def floats():
        for i in x:
            loss[None] += power(x[i], 3)

    @ti.kernel
    def integers():
        for i in levels:
            levels[i] = ti.cast(factorial(i % 4), ti.i32)

    @ti.kernel
    def uses():
        for i in x:
            loss[None] += x[i] * levels[i]

    for derivative in (ti.ad.Tape(loss), ti.ad.FwdMode(loss, x, seed=[1.0] * 8)):
        refused = pytest.raises(ti.TaichiCompilationError, match="'power' calls itself")
        with refused as caught, derivative:
            floats()
        assert "power(x[i], 3)" in str(caught.value)
    with ti.ad.Tape(loss):
        integers()
        uses()
        integers()
    assert x.grad.to_numpy().tolist() == [1, 1, 2, 6, 1, 1, 2, 6]


@pytest.mark.usefixtures("f64")
def test_a_real_function_that_does_not_recurse_is_differentiated() -> None:
    x = ti.field(ti.f64, 8, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)
    x.from_numpy(np.linspace(0.5, 2, 8))

    @ti.real_func
    def power(v: ti.f64, n: ti.i32) -> ti.f64:
        product = 1.0
        for k in range(n):
            if k == 5:
                return product
            product *= v
        return product

    @ti.kernel
    def run():
        for i in x:
            loss[None] += power(x[i], i)

    with ti.ad.Tape(loss):
        run()
    degree = np.minimum(np.arange(8), 5)
    expected = degree * x.to_numpy() ** (degree - 1.0)
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-14)


@pytest.mark.usefixtures("f64")
def test_references() -> None:
    x = ti.field(ti.f64, 4, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)
    x.from_numpy(np.arange(4.0))

    @ti.real_func
    def square(v: ti.ref(ti.f64), count: ti.ref(ti.i32)):
        v *= v
        count += 1

    @ti.kernel
    def run() -> int:
        count = 0
        for _ in range(1):
            for i in range(4):
                v = x[i]
                square(v, count)
                square(v, count)
                loss[None] += v
        return count

    with ti.ad.Tape(loss):
        count = run()
    assert count == 8 and x.grad.to_numpy().tolist() == [0, 4, 32, 108]

    @ti.kernel
    def in_place():
        n = 0
        square(x[3], n)

    in_place()
    assert x[3] == 9

    @ti.kernel
    def constant():
        n = 0
        square(2.0, n)

    @ti.kernel
    def other_type():
        n = 0
        v = ti.f32(2.0)
        square(v, n)

    for kernel, reason in ((constant, "pass a variable"), (other_type, "a reference to f64")):
        with pytest.raises(ti.TaichiTypeError, match=reason):
            kernel()


def recursion(name: str) -> Any:
    """Kernels with functions that cannot call themselves as they do."""

    @ti.real_func
    def chosen(n: ti.i32) -> ti.i32:
        m = 0 if n == 0 else chosen(n - 1)
        return m

    @ti.real_func
    def short(n: ti.i32) -> ti.i32:
        return n > 0 and short(n - 1) > 0

    @ti.real_func
    def unrolled(n: ti.i32) -> ti.i32:
        s = 0
        for k in ti.static(range(2)):
            s += unrolled(n - k)
        return s

    @ti.real_func
    def listed(n: ti.i32) -> ti.i32:
        return sum([listed(n - k) for k in range(2)])

    function = {"chosen": chosen, "short": short, "unrolled": unrolled, "listed": listed}[name]

    @ti.kernel
    def run() -> int:
        return function(3)

    return run


@pytest.mark.parametrize("name", ["chosen", "short", "unrolled", "listed"])
def test_calls_that_cannot_be_taken_out(name: str) -> None:
    ti.init()
    with pytest.raises(ti.TaichiSyntaxError, match="a function cannot call itself in"):
        recursion(name)()


def test_what_real_functions_declare() -> None:
    ti.init()
    with pytest.raises(ti.TaichiSyntaxError, match="must be type annotated: parameter 'a'"):

        @ti.real_func
        def add(a, b: ti.i32) -> ti.i32:
            return a + b

    @ti.real_func
    def twice(a: ti.i32):
        return 2 * a

    @ti.kernel
    def run():
        twice(1)

    with pytest.raises(ti.TaichiSyntaxError, match="return value must be annotated"):
        run()


@pytest.mark.usefixtures("f64")
def test_what_a_recursive_function_overwrites_is_kept() -> None:
    """A tape keeps for a reverse what a function that calls itself overwrites, without a derivative
    of its own."""
    n = 8
    x, loss = (ti.field(ti.f64, shape, needs_grad=True) for shape in (n, ()))
    weight = ti.field(ti.f64, n)

    @ti.real_func
    def overwrite(i: ti.i32) -> ti.i32:
        depth = i
        if i < n:
            weight[i] = 7.0 + weight[i]
            depth = overwrite(i + 1)
        return depth

    @ti.kernel
    def change() -> ti.i32:
        return overwrite(0)

    @ti.kernel
    def add_up():
        for i in x:
            loss[None] += x[i] ** 2 * weight[i]

    @ti.ad.no_grad
    def aside():
        assert change() == n

    x.fill(2)
    weight.fill(1)
    with ti.ad.Tape(loss):
        add_up()
        aside()
    np.testing.assert_array_equal(x.grad.to_numpy(), np.full(n, 4.0))
    np.testing.assert_array_equal(weight.to_numpy(), np.full(n, 8.0))
