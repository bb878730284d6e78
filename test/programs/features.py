"""What programs use, one small program each, which checks its own result on whatever machine
`ti.init` chose. The table of `docs/gpu.md` has a line for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mlirad as ti

FEATURES: dict[str, Callable[[], None]] = {}
N = 300  # more than a block


def feature(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Add a program to the list."""

    def added(program: Callable[[], None]) -> Callable[[], None]:
        FEATURES[name] = program
        return program

    return added


def numbers(*shape: int) -> Any:
    """Numbers between 0.5 and 1.5, the same ones every time."""
    return np.random.default_rng(5).uniform(0.5, 1.5, shape)


def field(*shape: int) -> Any:
    """A field of them, with a gradient."""
    made = ti.field(ti.f64, shape, needs_grad=True)
    made.from_numpy(numbers(*shape))
    return made


def scalar() -> Any:
    """A loss."""
    return ti.field(ti.f64, (), needs_grad=True)


def close(found: Any, expected: Any) -> None:
    """Numbers are those expected."""
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@feature("loops over fields, boxes and ranges")
def _loops() -> None:
    x, y = ti.field(ti.i32, N), ti.field(ti.i32, (20, 30))

    @ti.kernel
    def run(n: int):
        for i in x:
            x[i] = i
        for i, j in ti.ndrange((1, 20), (2, n)):
            y[i, j] = 100 * i + j
        for i in range(n):
            x[i] += 1000

    run(25)
    np.testing.assert_array_equal(x.to_numpy(), np.arange(N) + 1000 * (np.arange(N) < 25))
    i, j = np.indices((20, 30))
    inside = (i >= 1) & (j >= 2) & (j < 25)
    np.testing.assert_array_equal(y.to_numpy(), np.where(inside, 100 * i + j, 0))


@feature("`while`, `break`, `continue`, functions that return early")
def _control() -> None:
    x = ti.field(ti.i32, N)

    @ti.func
    def steps(n: int) -> int:
        found = 0
        if n > 250:
            return -1
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            found += 1
        return found

    @ti.kernel
    def run():
        for i in x:
            if i < 1:
                continue
            x[i] = steps(i)

    run()
    assert x[27] == 111 and x[0] == 0 and x[299] == -1


@feature("updates: `add`, `sub`, `min`, `max`, `mul`, `and`, `or`, `xor`, exchange")
def _updates() -> None:
    cells = ti.field(ti.i32, (7, 4))

    @ti.kernel
    def run():
        for k in range(4):
            cells[1, k] = 1 << 20
            cells[4, k] = 255
        for i in range(N):
            ti.atomic_add(cells[0, i % 4], i)
            ti.atomic_min(cells[1, i % 4], i)
            ti.atomic_max(cells[2, i % 4], i)
            ti.atomic_or(cells[3, i % 4], i)
            ti.atomic_and(cells[4, i % 4], i | 128)
            ti.atomic_xor(cells[5, i % 4], i)
            ti.atomic_exchange(cells[6, i % 4], 9)

    run()
    i = np.arange(N).reshape(-1, 4).T
    kinds = [np.add, np.minimum, np.maximum, np.bitwise_or]
    expected = [kind.reduce(i, axis=1) for kind in kinds]
    expected += [np.bitwise_and.reduce(i | 128, axis=1) & 255, np.bitwise_xor.reduce(i, axis=1)]
    np.testing.assert_array_equal(cells.to_numpy(), [*expected, [9] * 4])


@feature("sums of all iterations, the same in every run")
def _sums() -> None:
    x, total = ti.field(ti.f32, 100_000), ti.field(ti.f32, 3)
    x.from_numpy(numbers(100_000).astype(np.float32))

    @ti.kernel
    def run():
        for i in x:
            total[0] += x[i]
            total[1] += x[i] * x[i]
            ti.atomic_max(total[2], x[i])

    found = []
    for _ in range(3):
        total.fill(0)
        run()
        found.append(total.to_numpy())
    values = x.to_numpy().astype(np.float64)
    np.testing.assert_allclose(found[0], [values.sum(), (values**2).sum(), values.max()], 1e-5)
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[1], found[2])


@feature("vectors, matrices, fields in nested blocks, offsets")
def _layouts() -> None:
    v = ti.Vector.field(3, ti.f64)
    m = ti.Matrix.field(2, 2, ti.f64)
    ti.root.dense(ti.i, 10).dense(ti.i, 30).place(v, m, offset=-5)

    @ti.kernel
    def run():
        for i in v:
            v[i] = ti.Vector([1.0, 2.0, 3.0]) * i
            m[i] = ti.Matrix([[0.0, 1.0], [2.0, 3.0]]) @ ti.Matrix([[i, 0.0], [0.0, 1.0]])

    run()
    assert list(v[7]) == [7, 14, 21] and m[-2].to_numpy().tolist() == [[0, 1], [-4, 3]]


@feature("types: f16, f32, f64, integers of 8 to 64 bits")
def _types() -> None:
    types = [ti.f16, ti.f32, ti.f64, ti.i8, ti.i16, ti.i32, ti.i64, ti.u8, ti.u16, ti.u32, ti.u64]
    for dtype in types:
        x = ti.field(dtype, 37)

        @ti.kernel
        def run(x: ti.template()):
            for i in x:
                x[i] = i
            for i in range(37):
                x[i % 5] += 1

        run(x)
        expected = np.arange(37) + np.bincount(np.arange(37) % 5, minlength=37)
        np.testing.assert_array_equal(x.to_numpy(), expected)


@feature("results, scalar and matrix arguments")
def _results() -> None:
    x = field(N)

    @ti.kernel
    def run(a: ti.f64, m: ti.types.matrix(2, 2, ti.f64)) -> ti.types.vector(2, ti.f64):
        total = 0.0
        for i in x:
            total += a * x[i]
        return m @ ti.Vector([total, 1.0])

    found = run(2.0, ti.Matrix([[1.0, 0.0], [0.0, 5.0]]))
    close(list(found), [2 * numbers(N).sum(), 5])


@feature("ndarrays and NumPy arrays as arguments")
def _arrays() -> None:
    array = ti.ndarray(ti.f64, (N, 2))
    values = numbers(N)

    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in b:
            a[i, 1] = 2 * b[i]
            b[i] += a.shape[1]

    run(array, values)
    close(array.to_numpy()[:, 1], 2 * numbers(N))
    close(values, numbers(N) + 2)


@feature("random numbers: the CPU's")
def _random() -> None:
    x = ti.field(ti.f64, N)

    @ti.kernel
    def run():
        for i in x:
            x[i] = ti.random(ti.f64)

    run()
    assert len(set(x.to_numpy().tolist())) == N
    assert 0.4 < x.to_numpy().mean() < 0.6


@feature("`print`")
def _print() -> None:
    @ti.kernel
    def run(n: int):
        print("seen", n, 0.5)

    run(3)
    ti.sync()


@feature("`assert` and checked indices, in debug mode")
def _debug() -> None:
    x = ti.field(ti.i32, N)

    @ti.kernel
    def run(last: int):
        for i in range(last):
            assert i < 10_000, "too far"
            x[i] = 1

    run(N)
    try:
        run(N + 1)
    except ti.TaichiAssertionError as error:
        assert "Out of bound" in str(error)
    else:
        raise AssertionError("an index out of bounds went unseen")
    try:
        run(10_001)
    except ti.TaichiAssertionError:
        return
    raise AssertionError("an assertion went unseen")


@feature("gradients: reverse mode, of a stencil and a sum")
def _reverse() -> None:
    x, loss = field(20, 20), scalar()

    @ti.kernel
    def run():
        for i, j in ti.ndrange((1, 19), (1, 19)):
            bend = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j]
            loss[None] += bend * bend

    with ti.ad.Tape(loss):
        run()
    v = numbers(20, 20)
    bend = np.zeros((20, 20))
    bend[1:-1, 1:-1] = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4 * v[1:-1, 1:-1]
    padded = np.pad(bend, 1)
    around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
    close(x.grad.to_numpy(), 2 * (around - 4 * bend))


@feature("gradients through loops with histories, of known and unknown length")
def _histories() -> None:
    x, trips, loss = field(N), ti.field(ti.i32, N), scalar()
    trips.from_numpy((np.arange(N) % 7).astype(np.int32))

    @ti.kernel
    def run(n: int):
        for i in x:
            s = x[i]
            for _ in range(n):
                s = 0.5 * s * s
            for _ in range(trips[i]):
                s = ti.sin(s)
            while s > 0.1:
                s = s * s * 0.9
            loss[None] += s

    with ti.ad.Tape(loss):
        run(3)
    expected = []
    for k, s in enumerate(numbers(N)):
        d = 1.0
        for _ in range(3):
            s, d = 0.5 * s * s, d * s
        for _ in range(k % 7):
            s, d = np.sin(s), d * np.cos(s)
        while s > 0.1:
            s, d = s * s * 0.9, d * 1.8 * s
        expected.append(d)
    close(x.grad.to_numpy(), expected)


@feature("gradients of memory that is overwritten, across launches")
def _overwritten() -> None:
    x, loss = field(N), scalar()

    @ti.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i]

    @ti.kernel
    def add():
        for i in x:
            loss[None] += x[i]

    with ti.ad.Tape(loss):
        for _ in range(3):
            square()
        add()
    close(x.grad.to_numpy(), 8 * numbers(N) ** 7)


@feature("gradients of serial sweeps in place")
def _sweeps() -> None:
    x, loss = field(12), scalar()

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i in range(1, 12):
            x[i] = x[i] * x[i - 1]
        loss[None] += x[11]

    with ti.ad.Tape(loss):
        run()
    close(x.grad.to_numpy(), numbers(12).prod() / numbers(12))


@feature("forward mode")
def _forward() -> None:
    x, y = ti.field(ti.f64, N), ti.field(ti.f64, N, needs_dual=True)
    x = ti.field(ti.f64, N, needs_dual=True)
    x.from_numpy(numbers(N))

    @ti.kernel
    def run():
        for i in x:
            y[i] = ti.exp(x[i]) * x[i]

    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0] * N):
        run()
    close(y.dual.to_numpy(), np.exp(numbers(N)) * (1 + numbers(N)))


@feature("second order: `ti.ad.hvp`")
def _second_order() -> None:
    x, loss = field(N), scalar()

    @ti.kernel
    def energy():
        for i in x:
            loss[None] += x[i] ** 4

    direction = numbers(N)[::-1].copy()
    found = ti.ad.hvp(energy, loss, x, direction)
    close(np.asarray(found).reshape(-1), 12 * numbers(N) ** 2 * direction)


@feature("functions with custom derivatives, inside kernels")
def _custom() -> None:
    x, loss = field(N), scalar()

    @ti.func
    def clipped(v):
        return ti.min(v, 1.0)

    @clipped.def_vjp
    def clipped_vjp(v, result, adjoint):
        return 3.0 * adjoint

    @ti.kernel
    def run():
        for i in x:
            loss[None] += clipped(x[i])

    with ti.ad.Tape(loss):
        run()
    close(x.grad.to_numpy(), np.full(N, 3.0))


@feature("checkpointed time loops")
def _checkpointed() -> None:
    x, loss = field(N), scalar()

    @ti.kernel
    def step():
        for i in x:
            x[i] = 0.9 * x[i] + 0.05 * x[i] * x[i]

    @ti.kernel
    def add():
        for i in x:
            loss[None] += x[i]

    with ti.ad.Tape(loss):
        for _ in ti.ad.checkpointed(range(20), state=x, snapshots=4):
            step()
        add()
    v, d = numbers(N), np.ones(N)
    for _ in range(20):
        v, d = 0.9 * v + 0.05 * v * v, d * (0.9 + 0.1 * v)
    close(x.grad.to_numpy(), d)
