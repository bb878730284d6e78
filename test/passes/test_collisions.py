"""Iterations that meet through indices that only the run knows: right, or refused before the
reverse."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from gradients import check, scalar, scatter, slope, variable
from programs.colliding import HEADER, Writer, indices
from programs.load import load

import mlirad as ti
from mlirad.runtime.program import program

pytestmark = pytest.mark.usefixtures("f64")
SAMPLE = 16


class Programs:
    """Random programs on the same fields; `outcomes` counts what became of them."""

    def __init__(self, seed: int, count: int, folder: Path) -> None:
        program().config.opt_level = 1  # which compiles faster
        self.random = Random(seed)
        self.writers = [Writer(self.random) for _ in range(count)]
        self.source = HEADER + "".join(
            [writer.kernels(number) for number, writer in enumerate(self.writers)]
        )
        self.module = load(self.source, folder)
        self.a = ti.ndarray(ti.f64, 16, needs_grad=True)
        self.inputs = [self.module.x, self.module.y, self.module.z, self.module.u, self.a]
        self.outcomes: dict[str, int] = {"right": 0, "refused": 0, "raised": 0}

    def run(self) -> dict[str, int]:
        """Differentiate every program."""
        for number in range(len(self.writers)):
            self._one(number)
        return self.outcomes

    def _one(self, number: int) -> None:
        draw = np.random.default_rng(number)
        start = [draw.uniform(0.5, 1.5, one.to_numpy().shape) for one in self.inputs]
        direction = [draw.uniform(-1.0, 1.0, values.shape) for values in start]
        whole = {name: indices(self.random) for name in ("k", "m", "q")}
        n = self.random.choice([3, 4, 4, 4])
        self._reset(start, whole)
        met = self.writers[number].meetings(
            n, {**dict(zip(("x", "y", "z", "u", "a"), start)), **whole}
        )
        text = "\n".join(self.writers[number].kernel)
        try:
            with ti.ad.Tape(self.module.loss):
                getattr(self.module, f"run{number}")(n, self.a)
                self.module.total(self.a)
        except ti.TaichiCompilationError:
            self.outcomes["refused"] += 1
            return
        except ti.TaichiRuntimeError as error:
            self.outcomes["raised"] += 1
            assert "of a parallel loop" in str(error), error
            assert met or "does both again" in str(error), f"{error}\n{text}"
            return
        found = sum(
            float((one.grad.to_numpy() * d).sum()) for one, d in zip(self.inputs, direction)
        )
        expected = slope(
            lambda h: self._loss(number, n, [s + h * d for s, d in zip(start, direction)], whole)
        )
        assert abs(found - expected) <= 1e-6 * abs(expected) + 1e-7, (
            f"{found} {expected} {met} {n} {whole}\n{text}"
        )
        self.outcomes["right"] += 1

    def _reset(self, start: list[Any], whole: dict[str, Any]) -> None:
        for one, values in zip(self.inputs, start):
            one.from_numpy(values)
            one.grad.fill(0)
        for name, values in whole.items():
            getattr(self.module, name).from_numpy(values)

    def _loss(self, number: int, n: int, start: list[Any], whole: dict[str, Any]) -> float:
        """What the serial program computes."""
        self._reset(start, whole)
        self.module.loss.fill(0)
        getattr(self.module, f"serial{number}")(n, self.a)
        self.module.total(self.a)
        return float(self.module.loss[None])


@pytest.mark.filterwarnings("ignore:.*hidden one.*")
def test_random_programs_are_right_or_refused(tmp_path: Path) -> None:
    outcomes = Programs(3, SAMPLE, tmp_path).run()
    assert outcomes["right"] > 2 and outcomes["raised"] > 2, outcomes


N = 8
DISTINCT, EQUAL = [3, 1, 0, 2, 5, 4, 7, 6], [3, 1, 0, 3, 5, 4, 7, 6]


def index(values: Any = EQUAL) -> Any:
    k = ti.field(ti.i32, shape=N)
    k.from_numpy(np.array(values, np.int32))
    return k


def check_both(kernel: Any, k: Any, inputs: list[Any], loss: Any, message: str) -> None:
    """Refused with equal indices, naming what is in `message`; right with distinct ones."""
    before = [one.to_numpy() for one in inputs]
    with pytest.raises(ti.TaichiRuntimeError, match=message), ti.ad.Tape(loss):
        kernel()
    for one, values in zip(inputs, before):
        one.from_numpy(values)
    k.from_numpy(np.array(DISTINCT, np.int32))
    check(kernel, inputs, loss)


def test_stores_through_an_index_from_memory() -> None:
    x, y, k, loss = variable(N), variable(N), index(), scalar()

    @ti.kernel
    def run():
        for i in x:
            y[k[i]] = x[i] ** 2
        for i in y:
            loss[None] += (i + 1) * y[i]

    check_both(
        run,
        k,
        [x, y],
        loss,
        r"test_collisions.py:\d+:13: 'x_1'\[3\] is written here in iteration (0 of a parallel "
        r"loop, and written in iteration 3|3 .* 0),.*serialize=True.*\n *y\[k\[i\]\] = x",
    )


def test_a_serial_loop_may_store_twice() -> None:
    x, y, k, loss = variable(N), variable(N), index(), scalar()

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i in x:
            y[k[i]] = x[i] ** 2

    @ti.kernel
    def add():
        for i in y:
            loss[None] += (i + 1) * y[i]

    def both() -> None:
        run()
        add()

    gradient = check(both, [x, y], loss)[0]
    assert gradient[0] == 0.0 != gradient[3]


def test_linear_reads_through_an_index_from_memory() -> None:
    x, k, loss = variable(2 * N), index([8, 9, 10, 0, 12, 13, 14, 15]), scalar()

    @ti.kernel
    def run():
        for i in range(N):
            x[i] = 2.0 * x[k[i]]
        for i in x:
            loss[None] += (i + 1) * x[i]

    with (
        pytest.raises(
            ti.TaichiRuntimeError,
            match=r"\[0\] is read here in iteration 3 .* written in iteration 0 at .*:13",
        ),
        ti.ad.Tape(loss),
    ):
        run()
    k.from_numpy(np.arange(8, 16, dtype=np.int32))
    check(run, [x], loss)


def test_factors_that_are_arguments_and_iterations_in_the_middle() -> None:
    x, y, loss = variable(40), variable(2000), scalar()

    @ti.kernel
    def rows(n: ti.i32):
        for i, j in ti.ndrange(4, 5):
            x[i * n + j] = 2.0 * x[i * n + j + 20]

    @ti.kernel
    def shifted(n: ti.i32):
        for i, j in ti.ndrange(4, 4):
            x[i * n + j] = 2.0 * x[i * n + j + 1]

    @ti.kernel
    def in_the_middle():
        for i in range(1000):
            y[i + ti.select(i // 2 == 250, 1 - 2 * (i % 2), 0)] = y[i + 1000]

    @ti.kernel
    def met():
        for i in range(1000):
            y[i + ti.select(i == 500, 1, 0)] = y[i + 1000]

    @ti.kernel
    def add():
        for i in x:
            loss[None] += (i + 1) * x[i]
        for i in y:
            loss[None] += y[i] ** 2

    def all_of_them() -> None:
        rows(5)
        in_the_middle()
        add()

    check(all_of_them, [x, y], loss)
    for kernel, arguments, message in (
        (rows, (4,), r"iteration \(\d, \d\) of"),
        (met, (), r"'x_1'\[501\] .* iteration 50[01]"),
        (shifted, (4,), r"'x'\[\d+\] is read here in iteration \(\d, \d\) .* in"),
    ):
        with pytest.raises(ti.TaichiRuntimeError, match=message), ti.ad.Tape(loss):
            kernel(*arguments)
            add()


def test_vectors_matrices_and_inner_loops() -> None:
    u, v, k, loss = (
        ti.Vector.field(3, ti.f64, N, needs_grad=True),
        variable(N, 3),
        index(),
        scalar(),
    )
    w = ti.Matrix.field(2, 2, ti.f64, (N, 2), needs_grad=True)

    @ti.kernel
    def run():
        for i in range(N):
            u[k[i]] = ti.Vector([v[i, 0], v[i, 1] ** 2, v[i, 2]])
            for j in range(i % 2 + 1):
                w[k[i], j][0, 1] = ti.sin(v[i, j])
        for i in range(N):
            loss[None] += u[i].norm_sqr() * (i + 1) + w[i, 0][0, 1] * w[i, 1][0, 1]

    check_both(
        run, k, [v, u, w], loss, r"'(u|w)'\[3, \d(, 0, 1)?\] is written here in iteration [03] "
    )


def test_array_arguments() -> None:
    k, loss = np.array(EQUAL, np.int32), scalar()
    a, c = (ti.ndarray(ti.f64, N, needs_grad=True) for _ in range(2))
    for one in (a, c):
        scatter(one)

    @ti.kernel
    def run(
        x: ti.types.ndarray(ti.f64, 1),
        y: ti.types.ndarray(ti.f64, 1),
        index: ti.types.ndarray(ti.i32, 1),
    ):
        for i in range(x.shape[0]):
            y[index[i]] = x[i] ** 2
        for i in range(x.shape[0]):
            loss[None] += (i + 1) * y[i]

    with (
        pytest.raises(ti.TaichiRuntimeError, match=r"an array argument\[3\] is written"),
        ti.ad.Tape(loss),
    ):
        run(a, c, k)
    k[:] = DISTINCT
    check(lambda: run(a, c, k), [a, c], loss)


def test_products_and_values_that_atomics_return() -> None:
    x, y, k, loss = variable(N), variable(N), index(), scalar()

    @ti.kernel
    def product():
        for i in x:
            ti.atomic_mul(y[k[i]], x[i])
        for i in y:
            loss[None] += y[i] * (i + 1)

    @ti.kernel
    def taken():
        for i in x:
            loss[None] += ti.atomic_add(y[k[i]], x[i]) * i

    for kernel in (product, taken):
        k.from_numpy(np.array(EQUAL, np.int32))
        check_both(kernel, k, [x, y], loss, r"'x_1'\[3\] is updated here in iteration")


def test_sums_that_other_iterations_read() -> None:
    """Several iterations add to an element: whoever reads it meets another one."""
    x, y, k, m, loss = (
        variable(N),
        variable(2 * N),
        index([1, 1, 2, 2, 3, 3, 4, 4]),
        index(),
        scalar(),
    )
    far = np.arange(8, 16, dtype=np.int32)

    @ti.kernel
    def run():
        for i in x:
            y[k[i]] += x[i]
            loss[None] += y[m[i]] ** 2

    for alone in ([1, *far[1:]], [*far[:7], 4]):
        m.from_numpy(np.array(alone, np.int32))
        with (
            pytest.raises(
                ti.TaichiRuntimeError,
                match=r"'x_1'\[[14]\] is read here in iteration [07] .* updated in",
            ),
            ti.ad.Tape(loss),
        ):
            run()
    m.from_numpy(far)
    check(run, [x, y], loss)


def test_many_neighbours_share_the_marks_of_a_check() -> None:
    """Every neighbour that is set to a constant may be one that another iteration adds to."""
    x, y, k, walls, loss = (
        variable(N),
        variable(2, 4 * N),
        index(),
        index(np.zeros(N)),
        scalar(),
    )

    @ti.kernel
    def run(row: ti.i32):
        for i in x:
            for o in ti.static(range(5)):
                y[row, k[i] + o] += (o + 1) * x[i]
                if walls[i] != 0:
                    y[row, k[i] + o] = 0.0

    @ti.kernel
    def total():
        for i, j in y:
            loss[None] += (j + 1) * y[i, j] ** 2

    def both():
        run(1)
        total()

    assert run.ir(1, stage="derived", mode="collisions").count("memref.alloc(") == 2
    check(both, [x, y], loss)  # no iteration sets
    k.from_numpy(np.array([0, 0, 5, 5, 10, 10, 15, 20], np.int32))
    walls[7] = 1
    check(both, [x, y], loss)  # one sets what no other adds to
    for wall, place in ((1, 0), (4, 10), (6, 20)):
        walls.from_numpy(np.arange(N, dtype=np.int32) == wall)
        k[6] = 18 if wall == 6 else 15
        with (
            pytest.raises(ti.TaichiRuntimeError, match=rf"'x_1'\[1, {place}\] is updated here"),
            ti.ad.Tape(loss),
        ):
            both()


def test_the_check_sees_memory_as_the_launch_saw_it() -> None:
    x, y, k, cursor, loss = variable(N), variable(2 * N), index(), index(range(N)), scalar()

    @ti.kernel
    def run():
        for i in x:
            y[k[i]] = x[i] ** 2

    @ti.kernel
    def change():
        for i in k:
            k[i] = (k[i] + i) % 2

    @ti.kernel
    def own_cursor(by: ti.i32):
        for i in x:
            for _ in range(2):
                y[cursor[i]] = x[i] * y[cursor[i]]
                cursor[i] += by

    @ti.kernel
    def add():
        for i in y:
            loss[None] += (i + 1) * y[i]

    def program() -> None:
        run()
        change()
        own_cursor(8)
        add()

    starts = [one.to_numpy() for one in (x, y)]

    def again(values: Any, by: int) -> None:
        k.from_numpy(np.array(values, np.int32))
        cursor.from_numpy(np.arange(N, dtype=np.int32))
        for one, start in zip((x, y), starts):
            one.from_numpy(start)
        with ti.ad.Tape(loss):
            run()
            change()
            own_cursor(by)
            add()

    again(DISTINCT, 8)
    gradient = x.grad.to_numpy()
    assert cursor.to_numpy().tolist() == list(range(16, 24))
    x.from_numpy(starts[0])
    y.from_numpy(starts[1])
    k.from_numpy(np.array(DISTINCT, np.int32))
    cursor.from_numpy(np.arange(N, dtype=np.int32))
    y_first = starts[1].copy()
    y_first[DISTINCT] = starts[0] ** 2
    weights = np.arange(1, 2 * N + 1)
    expected = weights[8:] * y_first[8:] + weights[:8] * y_first[:8]
    expected[:] += weights[DISTINCT] * starts[0][DISTINCT] * 2 * starts[0]
    assert gradient == pytest.approx(expected)
    with pytest.raises(ti.TaichiRuntimeError, match=r"\[3\] is written here in iteration"):
        again(EQUAL, 8)
    with pytest.raises(ti.TaichiRuntimeError, match=r"\[\d\] is (written|read) here in iteration"):
        again(DISTINCT, 1)


def test_other_ways_to_a_derivative() -> None:
    x, y, k, loss = variable(N), variable(N), index(), scalar()

    @ti.kernel
    def run():
        for i in x:
            y[k[i]] = x[i] ** 2

    @ti.kernel
    def add():
        for i in y:
            loss[None] += (i + 1) * y[i] ** 2

    def program() -> None:
        run()
        add()

    def forward() -> Any:
        loss.fill(0)
        with ti.ad.FwdMode(loss, x, seed=np.ones(N)):
            program()
        return loss.dual.to_numpy()

    def alone() -> Any:
        y.grad.fill(1.0)
        x.grad.fill(0.0)
        run.grad()
        return x.grad.to_numpy()

    ways = (forward, alone, lambda: ti.ad.hvp(program, loss, x, np.ones(N)))
    for way in ways:
        with pytest.raises(ti.TaichiRuntimeError, match=r"'x_1'\[3\] is written here in iteration"):
            way()
    k.from_numpy(np.array(DISTINCT, np.int32))
    values, weights = x.to_numpy(), np.array(DISTINCT) + 1
    for way, expected in zip(
        ways, ((4 * weights * values**3).sum(), 2 * values, 12 * weights * values**2)
    ):
        assert way() == pytest.approx(expected)


def test_sums_that_the_reverse_does_again() -> None:
    x, k, loss = variable(2 * N), index(), scalar()

    @ti.kernel
    def run():
        for i in range(N):
            x[k[i]] += ti.sin(x[N + i])
            loss[None] += ti.sin(x[N + k[7 - i]])
        for i in x:
            x[i] = (i + 1) * x[i] ** 2
        for i in x:
            loss[None] += x[i]

    check_both(
        run,
        k,
        [x],
        loss,
        r"'x'\[3\] is updated here in iteration [03] .*, so the reverse, which does both again",
    )


def test_sums_that_nothing_behind_them_reads_may_meet() -> None:
    x, k, loss = variable(2 * N), index(), scalar()

    @ti.kernel
    def run():
        for i in range(N):
            x[k[i]] += ti.sin(x[N + k[7 - i]])
        for i in x:
            loss[None] += (i + 1) * x[i] ** 2

    check(run, [x], loss)
    k[1] = N
    with pytest.raises(ti.TaichiRuntimeError, match=r"'x'\[8\] is read here"), ti.ad.Tape(loss):
        run()


def has_check(kernel: Any, *arguments: Any) -> bool:
    """Whether the reverse of a kernel wants a check."""
    return "grad.collisions" in kernel.ir(*arguments, stage="derived", mode="reverse")


def test_what_is_proven_or_does_not_matter_is_not_checked() -> None:
    x, y, k = variable(N), variable(N, N), index()
    t, flat, m = ti.field(ti.i32, shape=()), variable(64), index()

    @ti.kernel
    def particles():
        for i in x:
            x[i] = x[i] ** 2
            y[k[i], k[i]] += x[i] * y[k[i], k[i]] * 0.0 + x[i]

    @ti.kernel
    def scattered():
        for i in x:
            y[k[i], 0] += x[i]
            flat[k[i]] = 1.0
            m[k[i]] = i

    @ti.kernel
    def gathered():
        for i in x:
            x[i] = flat[k[i]] ** 2

    @ti.kernel
    def stencil():
        for i, j in ti.ndrange((1, N), (1, N)):
            y[i, j] = flat[8 * i + j] * flat[8 * i + j - 1]

    @ti.kernel
    def digits():
        for i, j in ti.ndrange(N, N):
            flat[8 * i + j] = flat[8 * i + j] ** 2

    @ti.kernel
    def by_time():
        for i in range(1, N):
            y[t[None], i] = y[t[None] - 1, i - 1] ** 2

    @ti.kernel
    def toggled(a: ti.i32):
        for i in range(1, N):
            y[a, i] = y[1 - a, i - 1] ** 2

    @ti.kernel
    def rows():
        for i in range(N):
            for j in range(N):
                y[i, k[j]] = y[i, k[j]] * x[j]

    for kernel, arguments in (
        (scattered, ()),
        (gathered, ()),
        (stencil, ()),
        (digits, ()),
        (by_time, ()),
        (toggled, (1,)),
        (rows, ()),
    ):
        assert not has_check(kernel, *arguments), kernel.__name__
    assert has_check(particles)
