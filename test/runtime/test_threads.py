"""Launches, tapes and compiling from several Python threads."""

from __future__ import annotations

import ast
import gc
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.frontend.python.source.source_text import parsed
from mlirad.lang.kernels.kernel_variants import KernelVariants
from mlirad.runtime.program import program

SIZE = 64


@pytest.fixture(autouse=True)
def often() -> Iterator[None]:
    """Threads take turns a hundred times as often as they do, and share all loops."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    start()
    yield
    sys.setswitchinterval(interval)
    ti.reset()


def start(**options: Any) -> None:
    """Begin a program in double precision whose loops run on two threads each."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=2, **options)
    program().config.thread_worth = 0


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Run something in several threads that begin together; what each returns. Raises what one of
    them raised."""
    gate = Barrier(count)

    def begin(number: int) -> Any:
        gate.wait(60)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))


def in_another(work: Callable[[], Any]) -> Any:
    """Run something in a thread of its own; what it returns."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(60)


@ti.kernel
def twice(a: ti.f64, b: ti.i32) -> ti.f64:
    return a * 2 + b


@ti.kernel
def pair(a: ti.f64) -> ti.types.vector(2, ti.f64):  # type: ignore[valid-type]
    return ti.Vector([a, -a])


@ti.kernel
def count_up(v: ti.types.ndarray(), a: ti.f64) -> ti.f64:  # type: ignore[valid-type]
    s = 0.0
    for i in range(v.shape[0]):
        v[i] = a + i
        s += v[i]
    return s


@ti.kernel
def square(x: ti.template(), loss: ti.template(), a: ti.f64):  # type: ignore[valid-type]
    for i in x:
        loss[None] += a * x[i] ** 2


def differentiable() -> tuple[Any, Any]:
    """A field and a loss of it, filled with 0, 1, 2 ..."""
    x, loss = ti.field(ti.f64, SIZE, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    x.from_numpy(np.arange(SIZE))
    return x, loss


def make(number: int) -> Any:
    """A kernel that no other call makes."""

    @ti.kernel
    def made(a: ti.f64) -> ti.f64:
        s = 0.0
        for i in range(SIZE):
            s += a * i + number
        return s

    return made


def test_threads_get_their_own_results() -> None:
    """Numbers, vectors and arrays, of one kernel that all of them launch."""

    def work(number: int) -> None:
        mine = np.zeros(SIZE)
        for k in range(300):
            a = float(number * 1000 + k)
            assert twice(a, k) == 2 * a + k
            assert list(pair(a)) == [a, -a]
            assert count_up(mine, a) == SIZE * a + SIZE * (SIZE - 1) / 2
            assert mine[5] == a + 5

    at_once(4, work)


def test_first_calls_at_once() -> None:
    """Of kernels of their own, and of one that all of them have."""
    shared = make(100)
    found = at_once(8, lambda number: (make(number)(1.0), shared(float(number))))
    total = SIZE * (SIZE - 1) / 2
    assert found == [(total + SIZE * number, number * total + 100 * SIZE) for number in range(8)]
    assert len({id(variant) for variant in shared._variants._by_key.values()}) == 1


def test_a_kernel_is_launched_while_another_is_compiled() -> None:
    """And is not taken for one that a kernel calls."""
    done = Event()
    twice(1.0, 1)

    def launch() -> int:
        count = 0
        while not done.is_set():
            assert twice(float(count), 1) == 2.0 * count + 1
            assert ti.max(count, 2) == max(count, 2)
            count += 1
        return count

    with ThreadPoolExecutor(1) as pool:
        launched = pool.submit(launch)
        for number in range(10):
            make(number)(1.0)
        done.set()
        assert launched.result(60) > 0


def test_a_tape_records_what_its_thread_launches() -> None:
    """Launches and writes of others are no part of it."""
    (x, loss), (y, other) = differentiable(), differentiable()
    with ti.ad.Tape(loss) as tape:
        square(x, loss, 1.0)
        in_another(lambda: (square(y, other, 1.0), y.fill(2.0), square(x, other, 3.0)))
    assert len(tape.calls) == 1
    np.testing.assert_array_equal(x.grad.to_numpy(), 2.0 * np.arange(SIZE))


def test_forward_mode_belongs_to_its_thread() -> None:
    """Launches of others have no tangents."""
    x, loss = differentiable()
    with ti.ad.FwdMode(loss, x, seed=np.ones(SIZE)) as mode:
        square(x, loss, 1.0)
        in_another(lambda: square(x, loss, 5.0))
    assert len(mode.calls) == 1
    assert loss.dual[None] == SIZE * (SIZE - 1)


def test_checkpointed_steps_belong_to_their_thread() -> None:
    """What another thread launches between two steps is not run again."""

    @ti.kernel
    def step(x: ti.template()):  # type: ignore[valid-type]
        for i in x:
            x[i] = x[i] * x[i]

    x, loss = differentiable()
    y, _ = differentiable()
    x.fill(1.01)
    step(y)
    y.fill(2.0)
    with ti.ad.Tape(loss):
        for t in ti.ad.checkpointed(range(5), state=[x], snapshots=2):
            step(x)
            if t == 2:
                in_another(lambda: step(y))
        square(x, loss, 0.5)
    assert y[3] == 4.0
    np.testing.assert_allclose(x.grad.to_numpy(), 32 * 1.01**63, rtol=1e-12)


def test_tapes_of_threads_leave_each_others_gradients_alone() -> None:
    """Also between the end of one and the reading of its gradients."""

    def work(number: int) -> None:
        x, loss = differentiable()
        for k in range(40):
            a = float(number + k)
            with ti.ad.Tape(loss):
                square(x, loss, a)
            np.testing.assert_array_equal(x.grad.to_numpy(), 2 * a * np.arange(SIZE))

    at_once(4, work)


def test_a_tape_clears_gradients_of_another_thread_when_it_uses_them() -> None:
    """While that thread lives; afterwards at once, as always."""
    (x, loss), (y, other) = differentiable(), differentiable()

    def record(field: Any, result: Any) -> None:
        with ti.ad.Tape(result):
            square(field, result, 1.0)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(record, x, loss).result(60)
        record(y, other)
        assert x.grad[3] == 6.0
        record(x, other)
        np.testing.assert_array_equal(x.grad.to_numpy(), 2.0 * np.arange(SIZE))
        pool.submit(record, x, loss).result(60)
    record(y, other)
    assert not x.grad.to_numpy().any()


def test_gradients_outlive_the_threads_that_computed_them() -> None:
    """Whichever of two threads ends first: a later tape of the main thread clears both."""
    pairs = [differentiable() for _ in range(2)]

    def work(k: int) -> None:
        x, loss = pairs[k]
        with ti.ad.Tape(loss):
            square(x, loss, 1.0)

    for k in range(2):
        work(k)
    for k in range(2):
        thread = Thread(target=work, args=(k,))
        thread.start()
        thread.join()
    for x, _ in pairs:
        np.testing.assert_array_equal(x.grad.to_numpy(), 2.0 * np.arange(SIZE))
    work(0)
    assert not pairs[1][0].grad.to_numpy().any()


def test_a_closed_tape_is_disturbed_by_its_own_thread_only() -> None:
    """And by the one that asks for gradients."""
    (x, loss), (y, other) = differentiable(), differentiable()
    with ti.ad.Tape() as tape:
        square(x, loss, 1.0)
    in_another(lambda: (square(y, other, 1.0), y.fill(1.0)))
    tape.grad({loss: 2.0})
    np.testing.assert_array_equal(x.grad.to_numpy(), 4.0 * np.arange(SIZE))

    def changes_and_asks() -> None:
        x.fill(1.0)
        tape.grad({loss: 2.0})

    with pytest.raises(RuntimeError, match="after the tape was closed"):
        in_another(changes_and_asks)
    in_another(lambda: tape.grad({loss: 3.0}))
    square(y, other, 1.0)
    with pytest.raises(RuntimeError, match="after the tape was closed"):
        tape.grad({loss: 2.0})


def test_a_tape_is_left_in_its_thread() -> None:
    """Elsewhere it has nothing to end."""
    x, loss = differentiable()
    tape = ti.ad.Tape(loss)
    tape.__enter__()
    square(x, loss, 1.0)
    with pytest.raises(RuntimeError, match="left in the thread that entered it"):
        in_another(lambda: tape.__exit__(None, None, None))
    tape.__exit__(None, None, None)
    assert x.grad[2] == 4.0


def test_failed_checks_are_raised_where_they_were_launched() -> None:
    """Each thread gets the error of its own index, and those without one get none."""
    start(debug=True)
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def store(i: ti.i32):
        x[i] = 1

    def work(number: int) -> None:
        for k in range(100):
            if number % 2 == 0:
                store(k % 8)
                continue
            with pytest.raises(
                AssertionError, match=rf"\[{100 * number + k}\]|{100 * number + k}\b"
            ):
                store(100 * number + k)

    at_once(4, work)


def test_validation_watches_a_thread_by_itself() -> None:
    """What one tape reads, another thread's may write."""
    start(debug=True)
    x, loss = differentiable()

    @ti.kernel
    def write():
        for i in x:
            x[i] = 1.0

    def other() -> None:
        with (
            pytest.warns(UserWarning, match="no kernel launched in this tape writes to its loss"),
            ti.ad.Tape(loss, validation=True),
        ):
            write()

    with ti.ad.Tape(loss, validation=True):
        square(x, loss, 1.0)
        in_another(other)
    with pytest.raises(AssertionError, match="overwritten"), ti.ad.Tape(loss, validation=True):
        square(x, loss, 1.0)
        write()


def test_random_numbers_of_threads() -> None:
    """No two launches draw the same, and a reverse repeats the draw of its own thread."""

    @ti.kernel
    def draw(x: ti.template()) -> ti.f64:  # type: ignore[valid-type]
        r = ti.random(ti.f64)
        for _ in range(1):
            x[1] += r * x[0]
        return r

    fields = [ti.field(ti.f64, 2, needs_grad=True) for _ in range(4)]

    def work(number: int) -> list[float]:
        x, found = fields[number], []
        for _ in range(50):
            x.grad.from_numpy(np.array([0.0, 1.0]))
            found.append(draw(x))
            draw.grad(x)
            assert x.grad[0] == found[-1]
        return found

    drawn = [number for found in at_once(4, work) for number in found]
    assert len(set(drawn)) == len(drawn) == 200


def test_a_kernel_has_its_variants_once_however_many_threads_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two sets of them would forget each other's seeds."""
    made = []

    class Slow(KernelVariants):
        def __init__(self, *arguments: Any) -> None:
            made.append(arguments)
            time.sleep(0.02)
            super().__init__(*arguments)

    monkeypatch.setattr("mlirad.lang.kernels.kernel.KernelVariants", Slow)
    x = ti.field(ti.f64, 1)

    @ti.kernel
    def draw(x: ti.template()) -> ti.f64:  # type: ignore[valid-type]
        return x[0] + ti.random(ti.f64)

    drawn = at_once(4, lambda number: [draw(x)])
    assert len(made) == 1
    assert len({found[0] for found in drawn}) == 4


def test_fields_declared_by_threads_have_their_own_memory() -> None:
    """And names, though all are called the same."""

    def work(number: int) -> list[Any]:
        found = []
        for _ in range(20):
            x = ti.field(ti.f64, 4, needs_grad=True)
            x.fill(number)
            x.grad.fill(-number)
            found.append(x)
        assert all(
            (x.to_numpy() == number).all() and (x.grad.to_numpy() == -number).all() for x in found
        )
        return [x.symbol for x in found]

    names = [name for found in at_once(4, work) for name in found]
    assert len(set(names)) == 80


def test_init_while_threads_launch() -> None:
    """What a thread launches is right, or names the field of the program that was ended."""
    x = ti.field(ti.f64, 1000)

    @ti.kernel
    def add(x: ti.template(), a: ti.f64) -> ti.f64:  # type: ignore[valid-type]
        for i in x:
            x[i] += a
        return a

    done, reasons = Event(), []

    def work(number: int) -> None:
        mine = np.zeros(SIZE)
        while not done.is_set():
            assert twice(float(number), 1) == 2 * number + 1
            assert count_up(mine, 1.0) == SIZE + SIZE * (SIZE - 1) / 2
            try:
                assert add(x, float(number)) == number
            except ti.TaichiCompilationError as error:
                reasons.append(str(error))

    with ThreadPoolExecutor(3) as pool:
        workers = [pool.submit(work, number) for number in range(3)]
        for _ in range(6):
            time.sleep(0.1)
            start()
            time.sleep(0.1)
            x = ti.field(ti.f64, 1000)
        done.set()
        for worker in workers:
            worker.result(60)
    assert [
        reason
        for reason in reasons
        if "belongs to a program that ti.init() or ti.reset() ended" not in reason
    ] == []


def test_threads_come_and_go() -> None:
    """Each with a parallel loop of its own."""
    x, loss = differentiable()
    square(x, loss, 0.0)
    for _ in range(100):
        thread = Thread(target=square, args=(x, loss, 1.0))
        thread.start()
        thread.join()
    assert loss[None] == 100 * sum(i * i for i in range(SIZE))


def test_derivatives_of_whole_programs_take_turns() -> None:
    """They put all fields back, so one waits for the other."""
    x, loss = differentiable()
    gradient = ti.ad.grad(lambda: square(x, loss, 1.0), inputs=x, output=loss)

    def work(number: int) -> None:
        for k in range(5):
            value = np.arange(SIZE) + float(number + k)
            np.testing.assert_array_equal(gradient(value), 2 * value)

    at_once(4, work)


def test_derivatives_of_whole_programs_refuse_company() -> None:
    """A launch of another thread would be undone."""
    (x, loss), (y, other) = differentiable(), differentiable()

    def run() -> None:
        square(x, loss, 1.0)
        in_another(lambda: square(y, other, 1.0))

    with pytest.raises(RuntimeError, match="another thread launched"):
        ti.ad.grad(run, inputs=x, output=loss)(np.ones(SIZE))
    assert other[None] == sum(i * i for i in range(SIZE))


def test_stress() -> None:
    """20,000 launches: fields, arrays, results, first calls and tapes, in eight threads."""
    begin = time.monotonic()

    def work(number: int) -> int:
        x, loss = differentiable()
        y, mine, own = ti.field(ti.f64, SIZE), np.zeros(SIZE), ti.ndarray(ti.f64, SIZE)
        generator = np.random.default_rng(number)

        @ti.kernel
        def scale(a: ti.f64):
            for i in y:
                y[i] = a * i

        launches = 0
        while launches < 2500:
            a, b = float(generator.integers(1000) + 1000 * number), int(generator.integers(1000))
            for k in range(20):
                assert twice(a + k, b) == 2 * (a + k) + b
            scale(a)
            np.testing.assert_array_equal(y.to_numpy(), a * np.arange(SIZE))
            assert count_up(mine, a) == count_up(own, a) == SIZE * a + SIZE * (SIZE - 1) / 2
            np.testing.assert_array_equal(mine, a + np.arange(SIZE))
            np.testing.assert_array_equal(own.to_numpy(), mine)
            value = generator.integers(10, size=SIZE).astype(float)
            x.from_numpy(value)
            with ti.ad.Tape(loss):
                square(x, loss, a)
            assert loss[None] == a * (value**2).sum()
            np.testing.assert_array_equal(x.grad.to_numpy(), 2 * a * value)
            with ti.ad.Tape() as tape:
                square(x, loss, a)
            tape.grad({loss: 2.0})
            np.testing.assert_array_equal(x.grad.to_numpy(), 4 * a * value)
            launches += 27
        return launches

    assert sum(at_once(8, work)) >= 20_000
    assert time.monotonic() - begin < 60


class Cycle:
    """An object that only the garbage collector ends, in Python code, which lets other threads go
    on."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        sum(range(50))


def test_syntax_trees_in_threads() -> None:
    text = Path(__file__).read_text()

    def parse(number: int) -> list[int]:
        return [len(parsed(text).body) for _ in range(20) if [Cycle() for _ in range(20)]]

    thresholds = gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(5)
    try:
        counts = at_once(4, parse)
    finally:
        gc.set_threshold(*thresholds)
    assert counts == [[len(ast.parse(text).body)] * 20] * 4
