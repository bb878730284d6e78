"""Functions, methods, templates, and what is known while compiling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti


@pytest.fixture(autouse=True)
def program() -> Any:
    ti.init(cpu_max_num_threads=2, fast_math=False)
    yield
    ti.reset()


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


def test_parts_of_locals_by_reference_are_shared_with_a_loop() -> None:
    """So many iterations that both threads have some."""
    pair = ti.types.struct(a=ti.i32, v=ti.types.vector(3, ti.i32), inner=ti.types.struct(k=ti.i32))

    @ti.func
    def count(target: ti.template(), n):
        for _ in range(n):
            target += 1

    @ti.func
    def count_in(target: ti.template(), n):
        for _ in range(n):
            target.k += 1

    @ti.kernel
    def run(n: int, j: int) -> pair:
        s, w = pair(5), ti.Vector([0, 0])
        count(s.a, n)
        count(s.v[j], n)
        count(s.v.xz, n)
        count_in(s.inner, n)
        count(w[1], n)
        s.v.y += w.y
        return s

    n = 400_000
    found = run(n, 2)
    assert (found.a, found.v.to_list(), found.inner.k) == (n + 5, [n, n, 2 * n], n)


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
            total += f[None] * 10**i
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
        if ti.static(flag):  # noqa: SIM108
            extra = 10000
        else:
            extra = 0.5
        return int(total + extra)

    expected = 1 + 300 + 12 + 11 + 3 + 3000
    assert run(True) == expected + 10000
    assert run(False) == expected


def test_static_conversions_of_numbers_are_pythons() -> None:
    x = ti.field(ti.f32, shape=(5, 2))

    @ti.kernel
    def run() -> float:
        total = 0.0
        for k in ti.static(range(int(x.shape[0] / 2))):
            total += ti.static(float(x.shape[0])) + k
        return total

    @ti.kernel
    def of_run_time(n: int) -> float:
        return ti.static(float(n))

    assert run() == 11.0
    with pytest.raises(ti.TaichiTypeError, match=r"compile-time constants\n *return ti.static"):
        of_run_time(3)


def test_an_annotation_of_several_types_says_nothing_of_a_result() -> None:
    x = ti.Vector.field(2, ti.f32, shape=3)
    x.from_numpy(np.arange(6, dtype=np.float32).reshape(3, 2))

    @ti.func
    def at(i: int) -> ti.Vector | float:
        return x[i]

    @ti.func
    def half(v) -> int | float:
        return v / 2

    @ti.kernel
    def run() -> float:
        return (at(2) - at(1)).y + half(3)

    @ti.real_func
    def real(v: float) -> int | float:
        return v

    @ti.kernel
    def of_real() -> float:
        return real(1.0)

    assert run() == 3.5
    with pytest.raises(ti.TaichiSyntaxError, match=r"by one type: 'real'\n *return real"):
        of_real()

    @ti.kernel
    def several() -> int | float:
        return 1

    with pytest.raises(ti.TaichiSyntaxError, match=r"one type: got int \| float"):
        several()


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


def test_a_scalar_that_a_function_declares_is_the_type_of_entries() -> None:
    ti.init()

    @ti.func
    def halves(v) -> ti.f64:
        return v * 0.5

    @ti.kernel
    def run() -> ti.types.vector(2, ti.f64):
        return halves(ti.Vector([1, 3]))

    assert list(run()) == [0.5, 1.5]


def test_a_vector_type_without_a_type_of_entries_means_the_default_float() -> None:
    ti.init(default_fp=ti.f64)

    @ti.func
    def third(v) -> ti.math.vec2:
        return v / 3

    @ti.kernel
    def run() -> ti.types.vector(2):
        return third(ti.Vector([1, 2]))

    assert list(run()) == [1 / 3, 2 / 3]
