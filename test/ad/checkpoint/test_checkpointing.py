"""Checkpointed loops: the gradients of a tape that saves everything, to the bit; few states; what
is refused, by name."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from gradients import check, scalar, scatter, slope, variable

import mlirad as ti
from mlirad.ad.checkpoint.schedule import executions
from mlirad.examples.throw import Jelly
from mlirad.runtime.program import program

N = 5
Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """The order of all sums is fixed."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1, random_seed=3)
    yield
    ti.reset()


class Oscillators:
    """Masses on springs, which step in place; constants, a sum over time, a beginning that
    overwrites the state."""

    def __init__(self) -> None:
        self.start, self.stiff, self.x, self.v, self.loss = (
            variable(N),
            variable(N),
            variable(N),
            variable(N),
            scalar(),
        )
        self.force = ti.field(ti.f64, shape=())
        start, stiff, x, v, loss, force = (
            self.start,
            self.stiff,
            self.x,
            self.v,
            self.loss,
            self.force,
        )

        @ti.kernel
        def begin():
            for i in x:
                x[i] = start[i]
                v[i] = ti.sin(x[i]) * start[i]

        @ti.kernel
        def step(t: ti.i32, dt: ti.f64):
            for i in x:
                v[i] -= (
                    dt * stiff[i] * ti.sin(x[i]) * (1 + 0.1 * ti.cos(0.3 * t))
                    + dt * force[None] * x[i] ** 2
                )
            for i in x:
                x[i] += dt * v[i]

        @ti.kernel
        def collect(t: ti.i32):
            for i in x:
                loss[None] += 0.01 * t * x[i] ** 2

        @ti.kernel
        def finish():
            for i in x:
                loss[None] += x[i] * v[i]

        self.begin, self.step, self.collect, self.finish = begin, step, collect, finish

    @property
    def state(self) -> list[Any]:
        """What the steps write."""
        return [self.x, self.v]

    def body(self, t: int) -> None:
        """A step."""
        self.step(t, 0.05)
        self.collect(t)

    def run(self, over: Iterable[int], body: Callable[[int], None] | None = None) -> None:
        """All of it."""
        self.begin()
        for t in over:
            (body or self.body)(t)
        self.finish()

    def contents(self) -> list[Array]:
        """The gradients, and what is left in memory."""
        return [
            f.to_numpy()
            for f in (self.start.grad, self.stiff.grad, self.x, self.v, self.loss, self.force)
        ]

    def plain(self, over: Iterable[int], body: Callable[[int], None] | None = None) -> list[Array]:
        """By a tape that saves everything."""
        with ti.ad.Tape(self.loss):
            self.run(over, body)
        return self.contents()


def check_same(found: list[Array], expected: list[Array]) -> None:
    """To the bit."""
    for a, c in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, c)


def test_known_numbers_of_steps() -> None:
    p = Oscillators()
    for steps in (1, 2, 13, 100):
        expected = p.plain(range(steps))
        for snapshots in (1, 2, 5, 10, 20, 40, 200):
            if steps < 100 or snapshots >= 5:
                check_known(p, steps, snapshots, expected)
    check_known(p, 1000, 20, p.plain(range(1000)))


def check_known(p: Oscillators, steps: int, snapshots: int, expected: list[Array]) -> None:
    """The gradient, how often steps are run, how many states are kept."""
    with ti.ad.Tape(p.loss) as tape:
        loop = ti.ad.checkpointed(range(steps), state=p.state, snapshots=snapshots)
        p.run(loop)
    check_same(p.contents(), expected)
    found = loop.statistics
    assert found.executions == executions(steps, snapshots)
    assert found.peak_states <= snapshots + 1
    assert (found.steps, found.state_bytes) == (steps, 16 * N)
    for _ in range(2):  # rows of a Jacobian
        tape.grad()
        check_same(p.contents(), expected)
    assert found.peak_states <= snapshots + 1


def test_unknown_numbers_of_steps() -> None:
    p, steps = Oscillators(), 60
    expected = p.plain(range(steps))
    makers = (lambda: iter(range(steps)), itertools.count, lambda: range(1000))
    for make, snapshots in itertools.product(makers, (1, 3, 10, 40)):
        over = make()  # all but the first are left by `break`
        with ti.ad.Tape(p.loss):
            p.begin()
            loop = ti.ad.checkpointed(over, state=p.state, snapshots=snapshots)
            for t in loop:
                if t == steps:
                    break
                p.body(t)
            p.finish()
        check_same(p.contents(), expected)
        assert loop.statistics.peak_states <= snapshots + 1
        assert loop.statistics.steps == steps
        if not isinstance(over, range):
            assert loop.statistics.executions <= 2 * executions(steps, snapshots)


def test_a_function_of_the_step() -> None:
    p = Oscillators()
    expected = p.plain(range(20))
    with ti.ad.Tape(p.loss):
        p.begin()
        loop = ti.ad.checkpointed(p.body, range(20), state=p.state, snapshots=4)
        p.finish()
    check_same(p.contents(), expected)
    assert loop.statistics.executions == executions(20, 4)


@pytest.mark.filterwarnings("ignore:.*has no dual")
def test_against_finite_differences() -> None:
    p = Oscillators()

    def run() -> None:
        inside = program().threads.recorder is not None
        p.run(ti.ad.checkpointed(range(12), state=p.state, snapshots=3) if inside else range(12))

    check(run, [p.start, p.stiff], p.loss)
    v = np.linspace(-1, 1, N)
    product = ti.ad.hvp(run, p.loss, p.stiff, v)
    np.testing.assert_array_equal(product, ti.ad.hvp(lambda: p.run(range(12)), p.loss, p.stiff, v))
    with ti.ad.Tape(p.loss, grad_check=[p.start, p.stiff]) as tape:
        run()
    ti.ad.check(tape, [p.start])


def test_threads() -> None:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=2)
    program().config.thread_worth = 0
    p = Oscillators()
    expected = p.plain(range(30))
    with ti.ad.Tape(p.loss):
        p.run(ti.ad.checkpointed(range(30), state=p.state, snapshots=4))
    for a, c in zip(p.contents(), expected, strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-12)


class TestBodies:
    """What a step may do besides launching kernels."""

    def compare(
        self,
        p: Oscillators,
        body: Callable[[int], None],
        state: list[Any],
        scratch: Any = (),
        steps: int = 23,
    ) -> None:
        """A body under a schedule, and under one for an unknown number of steps, against a tape
        that saves everything."""
        launches = program().random.launches
        expected = p.plain(range(steps), body)
        for over in (range(steps), iter(range(steps))):
            program().random.launches = launches
            with ti.ad.Tape(p.loss):
                p.run(ti.ad.checkpointed(over, state=state, scratch=scratch, snapshots=3), body)
            check_same(p.contents(), expected)

    @pytest.mark.filterwarnings("ignore:.*is written in Python inside a tape")
    def test_writes_from_python(self) -> None:
        p = Oscillators()
        weights = ti.field(ti.f64, shape=N)
        vectors = ti.Vector.field(2, ti.f64, shape=3)

        @ti.kernel
        def push():
            for i in p.x:
                p.v[i] += 0.01 * weights[i] * p.x[i] ** 2 + vectors[1][0] * p.x[i] * vectors[2][1]

        def body(t: int) -> None:
            p.force[None] = np.sin(t)
            weights.fill(0.1 * (t // 5))
            weights[t % N] = 0.3
            vectors[1] = [0.01 * t, 2.0]
            vectors[2][1] = 0.1 * t
            if t % 3 == 0:
                p.v.from_numpy(0.9 * np.arange(N) / (t + 1))
            p.body(t)
            push()

        self.compare(p, body, [*p.state, p.force, weights, vectors])

    def test_copies(self) -> None:
        p = Oscillators()
        before = variable(N)

        @ti.kernel
        def turn():
            for i in p.x:
                p.x[i] = p.x[i] + 0.1 * p.x[i] * ti.cos(before[i])

        def body(t: int) -> None:
            before.copy_from(p.x)
            p.body(t)
            turn()

        self.compare(p, body, [*p.state, before])

    def test_random_numbers(self) -> None:
        p = Oscillators()

        @ti.kernel
        def shake():
            for i in p.x:
                p.x[i] *= 1 + 0.1 * ti.random()

        def body(t: int) -> None:
            p.body(t)
            shake()

        self.compare(p, body, p.state)

    @pytest.mark.filterwarnings("ignore:.*is read in Python inside a tape")
    @pytest.mark.filterwarnings("ignore:.*is used in Python inside a tape")
    def test_what_python_decides(self) -> None:
        p = Oscillators()

        @ti.kernel
        def size() -> ti.f64:
            s = 0.0
            for i in range(N):
                s += p.x[i] ** 2
            return s

        def body(t: int) -> None:
            p.step(t, 0.01 if size() > 3.0 else 0.05)
            if p.x[2] > 0.8:
                p.collect(t)

        self.compare(p, body, p.state)

    def test_buffers_that_change_places(self) -> None:
        p = Oscillators()

        @ti.kernel
        def swap(a: ti.template(), b: ti.template()):
            for i in a:
                b[i] = b[i] * 0.9 + 0.1 * a[i] * a[(i + 1) % N]

        self.compare(p, lambda t: swap(*((p.x, p.v) if t % 2 else (p.v, p.x))), p.state)

    def test_fields_without_gradients(self) -> None:
        p = Oscillators()
        middle = ti.field(ti.f64, shape=N, name="middle")

        @ti.kernel
        def store():
            for i in middle:
                middle[i] = p.x[i] ** 2

        @ti.kernel
        def load():
            for i in middle:
                p.v[i] += 0.1 * middle[i]

        def body(t: int) -> None:
            store()
            p.body(t)
            load()

        with pytest.warns(UserWarning, match="middle.*->"):
            self.compare(p, body, [*p.state, middle])
        self.compare(p, body, p.state, scratch=[middle])

    def test_functions_with_gradients_of_their_own(self) -> None:
        p = Oscillators()

        @ti.kernel
        def double():
            for i in p.x:
                p.x[i] = 1.1 * p.x[i]

        @ti.kernel
        def double_grad(factor: ti.f64):
            for i in p.x:
                p.x.grad[i] *= factor * p.x[i]

        @ti.kernel
        def damp():
            for i in p.v:
                p.v[i] *= 0.99

        @ti.ad.grad_replaced
        def call(factor: float) -> None:
            double()

        @ti.ad.grad_for(call)
        def call_grad(factor: float) -> None:
            double_grad(factor)

        @ti.kernel
        def take(values: ti.types.ndarray(), first: ti.i32):
            for i in range(first, first + 2):
                p.v[i] = values[i]

        constants = np.linspace(0, 1, N)

        @ti.ad.no_grad
        def hidden() -> None:
            damp()
            take(constants, t_now[0] % (N - 2))
            p.v[t_now[0] % N] = 0.25

        t_now = [0]

        def body(t: int) -> None:
            t_now[0] = t
            p.step(t, 0.05)
            call(1.0 + 0.1 * t)
            if t % 4 == 0:
                hidden()

        self.compare(p, body, [*p.state, p.loss])

    @pytest.mark.filterwarnings("ignore:.*is written in Python inside a tape")
    def test_arrays(self) -> None:
        a, c, loss = (
            ti.ndarray(ti.f64, shape=N, needs_grad=True),
            ti.ndarray(ti.f64, shape=N, needs_grad=True),
            scalar(),
        )
        inputs = [np.linspace(t, t + 1, N) for t in range(20)]

        @ti.kernel
        def step(
            a: ti.types.ndarray(),
            c: ti.types.ndarray(),
            u: ti.types.ndarray(dtype=ti.f64, ndim=1),
            t: ti.f64,
        ):
            for i in range(N):
                a[i] = ti.sin(a[i]) + c[i] * a[i] * u[i] * 0.1 + 0.01 * t

        @ti.kernel
        def finish(a: ti.types.ndarray()):
            for i in range(N):
                loss[None] += a[i] ** 2

        def run(over: Iterable[int]) -> list[Array]:
            scatter(a)
            scatter(c, seed=1)
            a.grad.fill(0)
            c.grad.fill(0)
            with ti.ad.Tape(loss):
                for t in over:
                    step(a, c, inputs[t][::1], t * 0.5)
                    if t % 7 == 6:
                        a[1] = 0.3 * t
                finish(a)
            return [a.grad.to_numpy(), c.grad.to_numpy(), a.to_numpy(), loss.to_numpy()]

        class Lazy:
            def __iter__(self) -> Iterator[int]:
                self.loop = ti.ad.checkpointed(range(20), state=[a], snapshots=3)
                return iter(self.loop)

        expected = run(range(20))
        check_same(run(Lazy()), expected)
        inputs[1:] = [inputs[0]] * 19
        reused = inputs[0]

        class Changing(Lazy):
            def __iter__(self) -> Iterator[int]:
                for t in super().__iter__():
                    reused[0] = t
                    yield t

        with pytest.raises(
            ti.TaichiRuntimeError, match="array argument 'u' of kernel 'step' has changed"
        ):
            run(Changing())


class TestAround:
    """What stands around a loop, and loops in one another."""

    def test_fields_that_are_overwritten_later(self) -> None:
        p = Oscillators()

        @ti.kernel
        def spoil():
            for i in p.x:
                p.loss[None] += p.stiff[i] * p.x[i]
                p.stiff[i] = 0.0
                p.x[i] = 7.0
                p.v[i] = p.x[i]

        def run(over: Iterable[int]) -> list[Array]:
            scatter(p.stiff)
            p.force[None] = 0.2
            with ti.ad.Tape(p.loss):
                p.begin()
                p.finish()  # reads the state, which the loop overwrites
                p.run(over)
                spoil()
                p.force[None] = 3.0
            return [*p.contents(), p.stiff.to_numpy()]

        expected = run(range(15))

        class Lazy:
            def __iter__(self) -> Iterator[int]:
                return iter(ti.ad.checkpointed(range(15), state=p.state, snapshots=2))

        check_same(run(Lazy()), expected)

    @pytest.mark.parametrize("inner", [1, 4])
    @pytest.mark.parametrize("outer", [1, 3])
    def test_loops_in_a_loop(self, outer: int, inner: int) -> None:
        p = Oscillators()

        @ti.kernel
        def tune():
            for i in p.x:
                p.stiff[i] += 0.01 * p.x[i] * p.v[i]
                p.x[i] = ti.sin(p.x[i])

        def run(checkpointed: bool) -> None:
            scatter(p.stiff)
            p.begin()
            for k in (
                ti.ad.checkpointed(range(7), state=[*p.state, p.stiff], snapshots=outer)
                if checkpointed
                else range(7)
            ):
                over: Iterable[int] = range(5 + k % 2)
                if checkpointed:
                    over = ti.ad.checkpointed(
                        over if k % 3 else iter(over), state=p.state, snapshots=inner
                    )
                for t in over:
                    p.body(t + k)
                tune()
                for t in (
                    ti.ad.checkpointed(range(3), state=p.state, snapshots=1)
                    if checkpointed
                    else range(3)
                ):
                    p.body(t)
            p.finish()

        with ti.ad.Tape(p.loss):
            run(False)
        expected = p.contents()
        with ti.ad.Tape(p.loss) as tape:
            run(True)
        check_same(p.contents(), expected)
        tape.grad()
        check_same(p.contents(), expected)

    def test_loops_one_after_another(self) -> None:
        p = Oscillators()

        def run(over: Callable[[int], Iterable[int]]) -> list[Array]:
            with ti.ad.Tape(p.loss):
                p.run(over(12))
                p.collect(3)
                p.run(over(9))
            return p.contents()

        expected = run(range)
        check_same(
            run(lambda n: ti.ad.checkpointed(range(n), state=p.state, snapshots=3)), expected
        )

    def test_exceptions(self) -> None:
        p = Oscillators()
        expected = p.plain(range(10))
        with pytest.raises(KeyError, match="mine"), ti.ad.Tape(p.loss) as tape:
            p.begin()
            for t in ti.ad.checkpointed(range(10), state=p.state, snapshots=3):
                p.body(t)
                if t == 5:
                    raise KeyError("mine")
        assert program().threads.recorder is None
        assert tape.explain().bytes == 0
        with pytest.raises(ti.TaichiRuntimeError, match="an exception ended the block"):
            tape.grad()
        with ti.ad.Tape(p.loss):
            p.run(ti.ad.checkpointed(range(10), state=p.state, snapshots=3))
        check_same(p.contents(), expected)

    def test_an_iterator_that_stays_open(self) -> None:
        p = Oscillators()
        expected = p.plain(range(4))
        with ti.ad.Tape(p.loss):
            p.begin()
            items = iter(ti.ad.checkpointed(range(10), state=p.state, snapshots=3))
            for _ in range(4):
                p.body(next(items))
            p.finish()
        check_same(p.contents(), expected)
        items.close()
        assert program().threads.recorder is None

    def test_inside_a_function_with_a_gradient(self) -> None:
        p = Oscillators()

        @ti.ad.no_grad
        def call() -> None:
            for t in ti.ad.checkpointed(range(3), state=p.state, snapshots=1):
                p.step(t, 0.1)

        with ti.ad.Tape(p.loss):
            p.begin()
            call()
            p.finish()
        np.testing.assert_array_equal(p.stiff.grad.to_numpy(), 0.0)

    def test_explained(self) -> None:
        p = Oscillators()
        with ti.ad.Tape(p.loss) as tape:
            p.run(ti.ad.checkpointed(range(50), state=p.state, snapshots=4))
        rows = [row for row in tape.explain() if row.verdict == "snapshot"]
        assert [(row.array, row.bytes) for row in rows] == [(f.symbol, 4 * 8 * N) for f in p.state]
        with ti.ad.Tape(p.loss) as tape:
            p.run(range(50))
        assert tape.explain().bytes > 5 * sum(row.bytes for row in rows)

    def test_memory(self) -> None:
        p = Oscillators()
        expected = p.plain(range(200))
        for memory in (880, "880", f"{880 / 1024} KiB", "0.88KB"):
            with ti.ad.Tape(p.loss):
                loop = ti.ad.checkpointed(range(200), state=p.state, memory=memory)
                p.run(loop)
            check_same(p.contents(), expected)
            assert loop.statistics.executions == executions(200, 8)
            assert loop.statistics.peak_bytes <= 880


class TestTapes:
    """Options of the tape around a loop."""

    def test_rules_that_refuse(self) -> None:
        p = Oscillators()
        with (
            pytest.raises(ti.TaichiRuntimeError, match='saves snapshots, which rules="refuse"'),
            ti.ad.Tape(p.loss, rules="refuse"),
        ):
            p.run(ti.ad.checkpointed(range(5), state=p.state, snapshots=3))

    def test_validation(self) -> None:
        ti.init(default_fp=ti.f64, debug=True, cpu_max_num_threads=1)
        u, c, loss = variable(13, N), variable(N), scalar()

        @ti.kernel
        def step(t: ti.i32):
            for i in c:
                u[t + 1, i] = ti.sin(u[t, i]) * c[i]

        @ti.kernel
        def finish():
            for i in c:
                loss[None] += u[12, i]

        def run(over: Iterable[int]) -> Array:
            with ti.ad.Tape(loss, validation=True):
                for t in over:
                    step(t)
                finish()
            return c.grad.to_numpy()

        class Lazy:
            def __iter__(self) -> Iterator[int]:
                return iter(ti.ad.checkpointed(range(12), state=[u], snapshots=3))

        np.testing.assert_array_equal(run(Lazy()), run(range(12)))
        p = Oscillators()
        with (
            pytest.raises(ti.TaichiAssertionError, match="Breaks the global data access rule"),
            ti.ad.Tape(p.loss, validation=True),
        ):
            p.run(ti.ad.checkpointed(range(5), state=p.state, snapshots=3))

    def test_anomalies(self) -> None:
        p = Oscillators()
        with ti.ad.Tape(p.loss, anomaly=True):
            p.run(ti.ad.checkpointed(range(5), state=p.state, snapshots=2))
        found = p.contents()
        with ti.ad.Tape(p.loss, anomaly=True):
            p.run(range(5))
        check_same(found, p.contents())

        @ti.kernel
        def root(t: ti.i32):
            for i in p.x:
                p.loss[None] += ti.sqrt(p.x[i] - p.x[0]) if t == 3 else 0.0

        def body(t: int) -> None:
            p.body(t)
            root(t)

        p.start.fill(1.0)
        p.stiff.fill(1.0)
        with (
            pytest.raises(ti.TaichiAssertionError, match=r"kernel=root\) field '.*grad'.* becomes"),
            ti.ad.Tape(p.loss, anomaly=True),
        ):
            p.run(ti.ad.checkpointed(range(8), state=p.state, snapshots=2), body)
        assert not np.isnan(p.x.to_numpy()).any()


class TestRefused:
    """Errors that name what is wrong."""

    def refuse(
        self,
        p: Oscillators,
        message: str,
        body: Callable[[int], None] | None = None,
        error: type[Exception] = ti.TaichiRuntimeError,
        **options: Any,
    ) -> None:
        """Expect an error, and a tape that works afterwards."""
        with pytest.raises(error, match=message), ti.ad.Tape(p.loss):
            given = {"state": p.state, "snapshots": 3, **options}
            p.run(ti.ad.checkpointed(given.pop("over", range(9)), **given), body)
        assert program().threads.recorder is None
        expected = p.plain(range(6))
        with ti.ad.Tape(p.loss):
            p.run(ti.ad.checkpointed(range(6), state=p.state, snapshots=2))
        check_same(p.contents(), expected)

    def test_options(self) -> None:
        p = Oscillators()
        self.refuse(p, "snapshots=0: expected at least 1", snapshots=0)
        self.refuse(p, "snapshots=-3: expected at least 1", snapshots=-3)
        self.refuse(p, "expected a number for snapshots=, got 2.5", snapshots=2.5, error=TypeError)
        self.refuse(p, "either snapshots= or memory=", snapshots=None, error=TypeError)
        self.refuse(p, "either snapshots= or memory=", memory="1MB", error=TypeError)
        self.refuse(
            p,
            r"memory='100B' is too small: a state has 80 bytes, and 320 are needed",
            snapshots=None,
            memory="100B",
        )
        self.refuse(p, "like '512MB', got 'much'", snapshots=None, memory="much", error=TypeError)
        self.refuse(p, "expected a range or another iterable, got int", over=7, error=TypeError)
        with pytest.raises(TypeError, match="expected a function as step"), ti.ad.Tape(p.loss):
            ti.ad.checkpointed(3, range(7), state=p.state, snapshots=3)

    def test_states(self) -> None:
        p = Oscillators()
        whole = ti.field(ti.i32, shape=N, name="whole")
        self.refuse(
            p,
            "state=: expected fields and ti.ndarrays, got ndarray",
            state=[p.x, np.ones(3)],
            error=TypeError,
        )
        self.refuse(
            p,
            "state=: expected a list of fields and ti.ndarrays, got str",
            state="x",
            error=TypeError,
        )
        self.refuse(
            p,
            f"does not take gradients: field '{p.x.symbol}.grad'",
            state=[p.x.grad],
            error=TypeError,
        )
        self.refuse(
            p,
            f"field '{p.x.symbol}' is both in state= and in scratch=",
            scratch=[p.x],
            error=TypeError,
        )
        self.refuse(
            p,
            "scratch= takes float fields: put field 'whole' into state=",
            scratch=[whole],
            error=TypeError,
        )

    def test_fields_that_were_not_declared(self) -> None:
        p = Oscillators()

        @ti.kernel
        def store():
            for i in p.x:
                p.v[i] = p.x[i]

        self.refuse(
            p,
            rf"kernel 'step' writes to field '{p.v.symbol}' at .*py:\d+:\d+, which is neither",
            state=[p.x],
        )
        self.refuse(
            p,
            rf"kernel 'store' writes to field '{p.v.symbol}' at .*py:\d+:\d+, which is neither",
            lambda t: store(),
            state=[p.x],
        )

        def write(t: int) -> None:
            p.body(t)
            p.force[None] = 1.0

        self.refuse(
            p, rf"Python writes to field '{p.force.symbol}' at .*py:\d+, which is neither", write
        )

        def copy(t: int) -> None:
            p.stiff.copy_from(p.x)

        self.refuse(p, rf"copy_from writes to field '{p.stiff.symbol}'", copy)

        @ti.kernel
        def own(a: ti.types.ndarray()):
            for i in range(N):
                a[i] = a[i] + p.x[i]

        array = ti.ndarray(ti.f64, shape=N, needs_grad=True)
        self.refuse(
            p, r"kernel 'own' writes to an array argument of shape \(5,\)", lambda t: own(array)
        )
        self.refuse(
            p,
            "kernel 'own' writes to an array argument at .* that is not a ti.ndarray",
            lambda t: own(np.ones(N)),
        )

    def test_activity_that_was_not_declared(self) -> None:
        p = Oscillators()
        block = ti.root.pointer(ti.i, N)
        y, z = ti.field(ti.f64), ti.field(ti.f64)
        block.dynamic(ti.j, 2).place(y)
        block.place(z)

        @ti.kernel
        def activate(t: ti.i32):
            ti.activate(block, [t])

        @ti.kernel
        def append(t: ti.i32):
            y[t].append(1.0)

        @ti.kernel
        def deactivate(t: ti.i32):
            ti.deactivate(block, [t])

        activity = r"writes to the activity of field '[yz]' at .*py:\d+:\d+, which is neither"
        for change in (activate, append):
            self.refuse(p, rf"kernel '{change.__name__}' {activity}", change, state=[p.x])
        # with the activity of `z`, but not that of the lists
        self.refuse(p, rf"kernel 'append' {activity}", append, state=[p.x, z])
        self.refuse(
            p, rf"'deactivate' writes to field '{y.symbol}' at .*neither", deactivate, state=[z]
        )
        self.refuse(p, "'deactivate' writes to .*neither", deactivate, state=[p.x])

    def test_sums(self) -> None:
        p = Oscillators()

        @ti.kernel
        def use():
            for i in p.x:
                p.x[i] += 0.01 * p.loss[None]

        def body(t: int) -> None:
            p.body(t)
            use()

        self.refuse(
            p,
            rf"kernel 'use' reads field '{p.loss.symbol}' at .*, to which steps add: put it into "
            rf"state=",
            body,
        )

        def other(t: int) -> None:
            use()
            p.body(t)

        self.refuse(
            p, rf"kernel 'collect' adds to field '{p.loss.symbol}' at .*, which is read at", other
        )
        expected = p.plain(range(9), body)
        with ti.ad.Tape(p.loss):
            p.run(ti.ad.checkpointed(range(9), state=[*p.state, p.loss], snapshots=2), body)
        check_same(p.contents(), expected)

        @ti.ad.grad_replaced
        def call() -> None:
            p.step(0, 0.1)

        @ti.ad.grad_for(call)
        def call_grad() -> None:
            """Nothing."""

        def replaced(t: int) -> None:
            p.body(t)
            call()

        self.refuse(p, "function 'call' has its own gradient, which may read", replaced)

    def test_gradient_fields(self) -> None:
        p = Oscillators()

        @ti.kernel
        def descend():
            for i in p.x:
                p.x[i] -= 0.1 * p.x.grad[i]

        self.refuse(
            p, rf"kernel 'descend' uses the gradient field '{p.x.symbol}.grad'", lambda t: descend()
        )

    def test_scratch_that_is_read_first(self) -> None:
        p = Oscillators()
        memory = variable(N)

        @ti.kernel
        def remember():
            for i in p.x:
                p.x[i] += 0.1 * memory[i]
                memory[i] = p.x[i] ** 2

        def body(t: int) -> None:
            p.body(t)
            remember()

        self.refuse(
            p,
            rf"step \d produces NaN in its state.*a step reads one of '{memory.symbol}'",
            body,
            scratch=[memory],
        )

    def test_places(self) -> None:
        p = Oscillators()
        with ti.ad.Tape(p.loss):
            p.begin()
            loop = ti.ad.checkpointed(range(3), state=p.state, snapshots=3)
            other = ti.ad.checkpointed(range(3), state=p.state, snapshots=3)
            for t in loop:
                p.body(t)
            with pytest.raises(ti.TaichiRuntimeError, match="run only once"):
                next(iter(loop))
            p.finish()
        with pytest.raises(
            ti.TaichiRuntimeError, match="in the tape, and in the loop, in which it was created"
        ):
            next(iter(other))

    def test_without_a_tape_it_is_a_loop(self) -> None:
        """So that one function evaluates a loss, and is differentiated."""
        p, losses = Oscillators(), []
        for recorder in (nullcontext(), ti.ad.Tape(p.loss)):
            p.loss[None] = 0.0
            with recorder:
                p.begin()
                for t in ti.ad.checkpointed(range(3), state=p.state, snapshots=3):
                    p.body(t)
                p.finish()
            losses.append(p.loss[None])
        assert losses[0] == losses[1] != 0.0


@pytest.mark.cpu_code("memory of a device is not counted by Python")
def test_moving_averages() -> None:
    """The program of seed 002, 100,000 steps long: less than a hundredth of the memory. The
    gradient of 2,000 steps."""
    rows, steps = 32, 100_000
    data, ewma, loss = variable(rows, steps), variable(rows), scalar()

    @ti.kernel
    def step(col: ti.i32):
        for row in range(rows):
            ewma[row] = 0.5 * data[row, col] + 0.5 * ewma[row]

    @ti.kernel
    def finish():
        for row in range(rows):
            loss[None] += ewma[row] ** 2

    def record(steps: int, checkpointed: bool) -> tuple[ti.ad.Tape, int]:
        """A tape, and the bytes that it holds: snapshots, versions and records alike."""
        ewma.fill(0)
        tracemalloc.start()
        with ti.ad.Tape() as tape:
            for col in (
                ti.ad.checkpointed(range(steps), state=[ewma], snapshots=200)
                if checkpointed
                else range(steps)
            ):
                step(col)
            finish()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return tape, held

    record(2000, False)  # compiles
    _, twice = record(4000, False)
    tape, once = record(2000, False)
    tape.grad({loss: None})
    expected = data.grad.to_numpy()[:, :2000]
    np.testing.assert_allclose(
        expected[:, -40:], ewma.to_numpy()[:, None] * 0.5 ** np.arange(39, -1, -1), rtol=1e-12
    )
    tape, _ = record(2000, True)
    tape.grad({loss: None})
    np.testing.assert_array_equal(data.grad.to_numpy()[:, :2000], expected)
    tape, held = record(steps, True)
    assert tape.explain().bytes < held
    assert held < 0.015 * (twice - once) * steps / 2000  # what a tape that saves everything holds
    assert held < 0.01 * steps * rows * 8  # one state a step


class TestParticles:
    """A material point method that steps in place (the example `throw`)."""

    def test_gradients(self) -> None:
        jelly = Jelly(40, 60, 0.05)
        with ti.ad.Tape(jelly.loss):
            jelly.fly(range(60))
        expected = [
            jelly.throw.grad.to_numpy(),
            jelly.start.grad.to_numpy(),
            jelly.x.to_numpy(),
            jelly.loss.to_numpy(),
        ]
        with ti.ad.Tape(jelly.loss):
            jelly.fly(
                ti.ad.checkpointed(range(60), state=jelly.state, scratch=jelly.scratch, snapshots=4)
            )
        found = [
            jelly.throw.grad.to_numpy(),
            jelly.start.grad.to_numpy(),
            jelly.x.to_numpy(),
            jelly.loss.to_numpy(),
        ]
        for a, c in zip(found, expected, strict=True):  # threads of a GPU add in any order
            np.testing.assert_allclose(a, c, rtol=1e-11, atol=1e-14)
        begin = jelly.throw.to_numpy()

        def loss(change: Array) -> float:
            jelly.throw.from_numpy(begin + change)
            jelly.loss.fill(0)
            jelly.fly(range(60))
            return float(jelly.loss[None])

        for unit, derivative in zip(np.eye(2), expected[0]):
            assert slope(lambda h: loss(h * unit)) == pytest.approx(derivative, rel=1e-6)  # noqa: B023 - used at once

    def test_training_within_a_budget(self) -> None:
        jelly = Jelly(100, 256)
        losses = []
        for _ in range(4):
            found = jelly.descend("1MB")
            losses.append(float(jelly.loss[None]))
            assert found.peak_bytes <= 10**6
        assert losses == sorted(losses, reverse=True)
        assert losses[-1] < 0.01 * losses[0]
        assert found.executions == executions(256, found.peak_states - 1)
