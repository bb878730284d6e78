"""Kernels that go to the GPU in the tests: one for each construct that its passes treat in a way of
their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mlirad as ti
from mlirad.ir.elementary.table import ELEMENTARY

Make = Callable[[], tuple[Any, tuple[Any, ...]]]


def saxpy() -> tuple[Any, tuple[Any, ...]]:
    x, y = ti.field(ti.f32, 1000, needs_grad=True), ti.field(ti.f32, 1000, needs_grad=True)
    total = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def run(a: ti.f32):
        for i in x:
            y[i] += a * x[i]
            total[None] += x[i]

    return run, (2.0,)


def stencil() -> tuple[Any, tuple[Any, ...]]:
    u, v = ti.field(ti.f32, (64, 64), needs_grad=True), ti.field(ti.f32, (64, 64), needs_grad=True)

    @ti.kernel
    def run(c: ti.f32):
        for i, j in u:
            if 0 < i < 63 and 0 < j < 63:
                v[i, j] = u[i, j] + c * (
                    u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j]
                )

    return run, (0.1,)


def scatter() -> tuple[Any, tuple[Any, ...]]:
    where = ti.field(ti.i32, 100)
    value, out = ti.field(ti.f64, 100, needs_grad=True), ti.field(ti.f64, 10, needs_grad=True)

    @ti.kernel
    def run():
        for i in where:
            out[where[i]] += value[i]

    return run, ()


def rows() -> tuple[Any, tuple[Any, ...]]:
    a, total = ti.field(ti.f32, (32, 32), needs_grad=True), ti.field(ti.f32, 32, needs_grad=True)

    @ti.kernel
    def run():
        for i, j in a:
            total[i] += a[i, j]
            a[i, j] += 1.0

    return run, ()


def vectors() -> tuple[Any, tuple[Any, ...]]:
    x = ti.Vector.field(3, ti.f32, shape=100, needs_grad=True)
    y = ti.Vector.field(3, ti.f32, shape=100, needs_grad=True)
    m = ti.Matrix.field(3, 3, ti.f32, shape=100, needs_grad=True)

    @ti.kernel
    def run(t: ti.f32):
        for i in x:
            y[i] = (m[i] @ x[i]).normalized() * t

    return run, (0.5,)


def functions(dtype: Any) -> Make:
    def make() -> tuple[Any, tuple[Any, ...]]:
        x, y = ti.field(dtype, 100, needs_grad=True), ti.field(dtype, 100, needs_grad=True)

        @ti.kernel
        def run():
            for i in x:
                v = x[i]
                y[i] = (
                    ti.sin(v)
                    + ti.exp(v)
                    + ti.log(v)
                    + v**2.5
                    + ti.tanh(v)
                    + ti.erf(v)
                    + ti.erfc(v)
                    + ti.atan2(v, 0.1)
                    + ti.sqrt(v)
                    + ti.floor(v)
                    + abs(v)
                    + ti.acos(v)
                    + ti.rsqrt(v)
                    + ti.round(v)
                    + v**3
                    + ti.tan(v)
                )

        return run, ()

    return make


def elementary(dtype: Any) -> Make:
    """A function that makes a kernel of every function of the table, on floats of a type."""
    return lambda: _elementary(dtype)


def _elementary(dtype: Any) -> tuple[Any, tuple[Any, ...]]:
    x, y = (ti.field(dtype, 1000, needs_grad=True) for _ in range(2))
    unary = [getattr(ti, row.name) for row in ELEMENTARY if row.arity == 1]
    binary = [getattr(ti, row.name) for row in ELEMENTARY if row.arity == 2]

    @ti.kernel
    def run():
        for i in x:
            for k in ti.static(range(len(unary))):
                y[i] += unary[k](x[i])
            for k in ti.static(range(len(binary))):
                y[i] += binary[k](x[i], 0.5)

    return run, ()


def loops() -> tuple[Any, tuple[Any, ...]]:
    n, steps = ti.field(ti.i32, 100), ti.field(ti.i32, 100)

    @ti.kernel
    def run():
        for i in n:
            k = n[i]
            count = 0
            while k != 1:
                k = k // 2 if k % 2 == 0 else 3 * k + 1
                count += 1
                if count > 1000:
                    break
            for j in range(10):
                if j > i:
                    break
                if j == 3:
                    continue
                count += j
            steps[i] = count

    return run, ()


def draws() -> tuple[Any, tuple[Any, ...]]:
    x, n = ti.field(ti.f32, 100), ti.field(ti.i32, 100)

    @ti.kernel
    def run():
        for i in x:
            x[i] = ti.random() - ti.random()
            n[i] = ti.random(ti.i32) % 7

    return run, ()


def ndarrays() -> tuple[Any, tuple[Any, ...]]:
    @ti.kernel
    def run(a: ti.types.ndarray(ti.f32, ndim=2), b: ti.types.ndarray(ti.f32, ndim=2), c: ti.f32):
        for i, j in a:
            b[i, j] += c * a[i, j]

    return run, (np.zeros((3, 4), np.float32), np.zeros((3, 4), np.float32), 2.0)


def integers() -> tuple[Any, tuple[Any, ...]]:
    h, x = ti.field(ti.i32, (6, 10)), ti.field(ti.i32, 100)

    @ti.kernel
    def run():
        for i in x:
            ti.atomic_add(h[0, x[i] % 10], x[i])
            ti.atomic_min(h[1, x[i] % 10], x[i])
            ti.atomic_max(h[2, x[i] % 10], x[i])
            ti.atomic_and(h[3, x[i] % 10], x[i])
            ti.atomic_or(h[4, x[i] % 10], x[i])
            ti.atomic_xor(h[5, x[i] % 10], x[i])

    return run, ()


def kinds(dtype: Any, *updates: Any) -> Make:
    def make() -> tuple[Any, tuple[Any, ...]]:
        h, x = ti.field(dtype, (8, 3)), ti.field(dtype, 100)

        @ti.kernel
        def run():
            for i in x:
                for k in ti.static(range(len(updates))):
                    updates[k](h[k, i % 3], x[i])
                ti.atomic_exchange(h[len(updates), 0], x[0])  # the same whoever is last

        return run, ()

    return make


def sums(dtype: Any, *updates: Any) -> Make:
    def make() -> tuple[Any, tuple[Any, ...]]:
        h, x = ti.field(dtype, 8), ti.field(dtype, 300)

        @ti.kernel
        def run():
            for i in x:
                for k in ti.static(range(len(updates))):
                    updates[k](h[k], x[i])

        return run, ()

    return make


def exchanges() -> tuple[Any, tuple[Any, ...]]:
    x, y, z = (ti.field(ti.f32, 100, needs_grad=True) for _ in range(3))
    head, following = ti.field(ti.i32, 100), ti.field(ti.i32, 100)

    @ti.kernel
    def run():
        for i in x:
            following[i] = ti.atomic_exchange(head[99 - i], i)
            z[i] += ti.atomic_exchange(x[i], ti.sin(y[i]))

    return run, ()


def returned() -> tuple[Any, tuple[Any, ...]]:
    x = ti.field(ti.f32, 100)

    @ti.kernel
    def run(a: ti.f32) -> ti.f32:
        s = 0.0
        for i in x:
            s += a * x[i]
        return s * 2.0

    return run, (3.0,)


def bounds_in_memory() -> tuple[Any, tuple[Any, ...]]:
    n, x = ti.field(ti.i32, ()), ti.field(ti.f32, (100, 100))

    @ti.kernel
    def run():
        for i, j in ti.ndrange(n[None], (1, n[None] + 1)):
            x[i, j] += 1.0

    return run, ()


def serial() -> tuple[Any, tuple[Any, ...]]:
    x, y = ti.field(ti.f64, 100), ti.field(ti.f64, 100)

    @ti.kernel
    def run(n: ti.i32):
        a = ti.f64(1.0)
        ti.loop_config(serialize=True)
        for i in range(n):
            a = a * x[i] + y[n - 1 - i]
        for i in x:
            y[i] = a * x[i]

    return run, (10,)


def sweeps() -> tuple[Any, tuple[Any, ...]]:
    x, y = ti.field(ti.f64, 100, needs_grad=True), ti.field(ti.f64, 100, needs_grad=True)

    @ti.kernel
    def run(n: ti.i32):
        a = ti.f64(1.0)
        ti.loop_config(serialize=True)
        for i in range(n):
            a = a * x[i]
        ti.loop_config(serialize=True)
        for i in range(5):
            a = 0.5 * a + ti.sin(x[i] * a) + 0.1
        for i in x:
            y[i] += a * x[i]

    return run, (7,)


def averages() -> tuple[Any, tuple[Any, ...]]:
    data = ti.field(ti.f64, (8, 40), needs_grad=True)
    average = ti.field(ti.f64, 8, needs_grad=True)

    @ti.kernel
    def run():
        for i in average:
            average[i] = 0.0
            for j in range(40):
                average[i] = 0.5 * average[i] * data[i, j] + ti.exp(average[i])

    return run, ()


def halving() -> tuple[Any, tuple[Any, ...]]:
    x, y = ti.field(ti.f64, 100, needs_grad=True), ti.field(ti.f64, 100, needs_grad=True)

    @ti.kernel
    def run():
        a = x[0]
        while a > 0.1:
            a = a * a * 0.7
        for i in x:
            b = x[i]
            while b > 0.1:
                b = b * b * a
            y[i] += b * a

    return run, ()


def printing() -> tuple[Any, tuple[Any, ...]]:
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def run():
        for i in x:
            print("x", i, x[i])

    return run, ()


UPDATES = (ti.atomic_add, ti.atomic_min, ti.atomic_max, ti.atomic_mul)
BITWISE = (ti.atomic_and, ti.atomic_or, ti.atomic_xor)
KERNELS: dict[str, Make] = {
    "saxpy": saxpy,
    "stencil": stencil,
    "scatter": scatter,
    "rows": rows,
    "vectors": vectors,
    "functions-f32": functions(ti.f32),
    "functions-f64": functions(ti.f64),
    "functions-f16": functions(ti.f16),
    "elementary-f32": elementary(ti.f32),
    "elementary-f64": elementary(ti.f64),
    "loops": loops,
    "draws": draws,
    "ndarrays": ndarrays,
    "integers": integers,
    **{f"kinds-{t}": kinds(t, *UPDATES) for t in (ti.f16, ti.f32, ti.f64)},
    **{
        f"kinds-{t}": kinds(t, *UPDATES, ti.atomic_or)
        for t in (ti.i8, ti.u16, ti.u32, ti.i64, ti.u64)
    },
    **{f"sums-{t}": sums(t, *UPDATES) for t in (ti.f16, ti.f32, ti.f64)},
    **{f"sums-{t}": sums(t, *UPDATES, *BITWISE) for t in (ti.i8, ti.u16, ti.u32, ti.i64, ti.u64)},
    "exchanges": exchanges,
    "returned": returned,
    "bounds-in-memory": bounds_in_memory,
    "serial": serial,
    "sweeps": sweeps,
    "averages": averages,
    "halving": halving,
    "printing": printing,
}
REVERSED = (
    "saxpy",
    "stencil",
    "scatter",
    "rows",
    "vectors",
    "functions-f32",
    "functions-f64",
    "elementary-f32",
    "elementary-f64",
    "exchanges",
    "sweeps",
    "halving",
)
