"""Tapes within a budget: gradients to the bit, bytes that are held, what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from budgets import TooSmall, check_within_budgets, within

import mlirad as ti
from mlirad.ad.budget.budget import Budget
from mlirad.ad.checkpoint.schedule import executions
from mlirad.errors import TaichiMemoryError, TaichiRuntimeError, TaichiTypeError
from mlirad.runtime.program import program as current_program

N, STEPS = 40, 30


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1)


class Chain:
    """Steps in place, with a factor, and a sum of squares at the end."""

    def __init__(self, count: int = N) -> None:
        self.x = ti.field(ti.f64, count, needs_grad=True)
        self.p = ti.field(ti.f64, (), needs_grad=True)
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        x, p, loss = self.x, self.p, self.loss

        @ti.kernel
        def step(t: ti.i32):
            for i in x:
                x[i] = ti.sin(x[i]) * p[None] + 0.1 * x[i] * (t % 3)

        @ti.kernel
        def total():
            for i in x:
                loss[None] += x[i] ** 2

        self.step, self.total = step, total

    def prepare(self) -> None:
        self.x.from_numpy(np.linspace(0.0, 1.0, self.x.shape[0]))
        self.p.fill(0.7)

    def run(self) -> None:
        for t in range(STEPS):
            self.step(t)
        self.total()


def test_a_chain_in_place() -> None:
    chain = Chain()
    parts = (1.0, 0.5, 0.25, 0.1)
    fields = [chain.x, chain.p]
    assert check_within_budgets(chain.loss, chain.run, chain.prepare, fields, parts) > STEPS


def test_launches_of_a_chain_are_as_many_as_the_schedule_needs() -> None:
    chain = Chain()
    chain.prepare()
    states = 6
    tape = within(chain.loss, chain.run, (states + 1) * 8 * N + 64)
    assert isinstance(tape.ledger.keeper, Budget)
    repeated = sum(tape.ledger.keeper.planner.repeated.values())
    assert repeated + STEPS <= 1.25 * (executions(STEPS, states) - STEPS)


@pytest.mark.filterwarnings("ignore:.*that derivative is lost")
def test_several_fields_parts_and_writes_from_python() -> None:
    """Boundaries, sums, a field over time, values that Python writes, copies."""
    u, v, w = (ti.field(ti.f64, (8, 8), needs_grad=True) for _ in range(3))
    history = ti.field(ti.f64, STEPS, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def inner():
        for i, j in ti.ndrange((1, 7), (1, 7)):
            v[i, j] = u[i, j] * u[i + 1, j] + 0.3 * u[i, j - 1]

    @ti.kernel
    def edges(t: ti.i32):
        ti.loop_config(serialize=True)
        for i in range(8):
            v[0, i] = v[1, i] * 0.5
            v[i, 0] = v[i, 1] ** 2
            history[t] += v[i, 3] * w[i, 2]

    @ti.kernel
    def total():
        for i, j in u:
            loss[None] += u[i, j] * v[i, j]
        for t in range(STEPS):
            loss[None] += history[t] ** 2

    def prepare() -> None:
        random = np.random.default_rng(0)
        for field in (u, v, w):
            field.from_numpy(random.uniform(0.3, 1.0, (8, 8)))
        history.fill(0)

    def run() -> None:
        for t in range(STEPS):
            inner()
            edges(t)
            u.copy_from(v)
            if t % 7 == 3:
                u[2, 3] = 0.4
                w.fill(0.1 * t)
        total()

    assert check_within_budgets(loss, run, prepare, [u, v, w, history]) > 0


@pytest.mark.filterwarnings("ignore:.*that derivative is lost")
def test_elements_that_python_writes_one_by_one() -> None:
    """In order and at random, of arrays that launches have touched and of others; few units."""
    chain, size = Chain(400), 400
    y = ti.field(ti.f64, (20, 20), needs_grad=True)
    x, random = chain.x, np.random.default_rng(0)
    places = [tuple(map(int, place)) for place in random.integers(0, 20, (300, 2))]

    @ti.kernel
    def mix():
        for i in x:
            x[i] = x[i] * y[i // 20, i % 20] + 0.1

    def run() -> None:
        for t in range(3):
            chain.step(t)
            mix()
            for i in range(size):
                x[i] = 0.3 + 0.001 * i * t
                if i == 200:
                    x[7] = 0.9
            for i, j in places:
                y[i, j] = 0.1 * t + 0.01 * j
            x[t] = 0.7
            mix()
            x[3], x[399] = 0.2, 0.3
            chain.step(t)
            mix()
        chain.total()

    def prepare() -> None:
        chain.prepare()
        y.from_numpy(np.linspace(0.2, 0.9, 400).reshape(20, 20))

    check_within_budgets(chain.loss, run, prepare, [x, y], (0.9, 0.3))
    prepare()
    tape = within(chain.loss, run, 10**6)
    assert isinstance(tape.ledger.keeper, Budget)
    assert len(tape.ledger.keeper.planner.graph.steps) < 3 * size
    assert len(tape.ledger.keeper.units.places) < size


def test_ndarrays_and_arrays_that_are_read() -> None:
    loss = ti.field(ti.f64, (), needs_grad=True)
    state, weights = ti.ndarray(ti.f64, N, needs_grad=True), np.linspace(0.1, 0.9, N)

    @ti.kernel
    def step(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in range(N):
            a[i] = a[i] * a[i] * b[i] + 0.3

    @ti.kernel
    def total(a: ti.types.ndarray()):
        for i in range(N):
            loss[None] += a[i] ** 3

    def gradient(**options: Any) -> np.ndarray[Any, Any]:
        state.from_numpy(np.linspace(0.2, 0.8, N))
        with ti.ad.Tape(loss, **options):
            for _ in range(STEPS):
                step(state, weights)
            total(state)
        assert state.grad is not None
        return state.grad.to_numpy()

    np.testing.assert_array_equal(gradient(memory=8 * N * 5 + 64), gradient())


def test_an_array_that_python_changes_is_noticed() -> None:
    chain, weights = Chain(), np.ones(N)
    x = chain.x

    @ti.kernel
    def scale(b: ti.types.ndarray()):
        for i in range(N):
            x[i] = ti.sin(x[i]) * b[i]

    chain.prepare()
    with (
        pytest.raises(TaichiRuntimeError, match="kernel 'scale'"),
        ti.ad.Tape(chain.loss, memory=3 * 8 * N + 64),
    ):
        for t in range(STEPS):
            scale(weights)
            weights[3] = 1.0 + t
        chain.total()


def test_the_same_random_numbers_are_drawn_again() -> None:
    chain = Chain()
    x = chain.x

    @ti.kernel
    def shake():
        for i in x:
            x[i] = x[i] * x[i] + ti.random(ti.f64)

    def gradient(**options: Any) -> np.ndarray[Any, Any]:
        chain.prepare()
        current_program().random.launches = 0
        with ti.ad.Tape(chain.loss, **options):
            for _ in range(8):
                shake()
            chain.total()
        return x.grad.to_numpy()

    np.testing.assert_array_equal(gradient(memory=8 * N * 3 + 64), gradient())


def test_a_kernel_that_prints_prints_once(capfd: pytest.CaptureFixture[str]) -> None:
    chain = Chain()
    x = chain.x

    @ti.kernel
    def speak(t: ti.i32):
        print("step", t)
        for i in x:
            x[i] = x[i] * x[i] + 0.1

    chain.prepare()
    with ti.ad.Tape(chain.loss, memory=8 * N * 8 + 64) as tape:
        for t in range(4):
            for _ in range(3):
                chain.step(t)
            speak(t)
        chain.total()
    assert isinstance(tape.ledger.keeper, Budget)
    assert tape.ledger.keeper.planner.repeated
    assert capfd.readouterr().out == "step 0\nstep 1\nstep 2\nstep 3\n"


def test_a_function_with_a_gradient_of_its_own() -> None:
    chain = Chain()
    x = chain.x

    @ti.kernel
    def halve():
        for i in x:
            x[i] = x[i] * 0.5

    @ti.kernel
    def halve_back():
        for i in x:
            x.grad[i] = x.grad[i] * 0.5

    @ti.ad.grad_replaced
    def half() -> None:
        halve()

    @ti.ad.grad_for(half)
    def half_grad() -> None:
        halve_back()

    def run() -> None:
        for t in range(12):
            chain.step(t)
            half()
        chain.total()

    assert check_within_budgets(chain.loss, run, chain.prepare, [chain.x, chain.p]) > 0


def test_several_outputs_one_after_the_other() -> None:
    chain = Chain()
    y = ti.field(ti.f64, N, needs_grad=True)
    x = chain.x

    @ti.kernel
    def out():
        for i in x:
            y[i] = x[i] * x[i]

    def gradients(**options: Any) -> list[Any]:
        chain.prepare()
        with ti.ad.Tape(**options) as tape:
            for t in range(STEPS):
                chain.step(t)
            out()
        found = []
        for k in range(3):
            seed = np.zeros(N)
            seed[k] = 1.0
            tape.grad({y: seed})
            found.append(x.grad.to_numpy())
        return found

    np.testing.assert_array_equal(gradients(memory=8 * N * 5), gradients())


@pytest.mark.parametrize("options", [{"anomaly": True}, {"rules": "refuse"}])
def test_options_of_the_tape(options: dict[str, Any]) -> None:
    chain = Chain()
    chain.prepare()
    if options == {"rules": "refuse"}:
        with (
            pytest.raises((RuntimeError, TaichiTypeError)),
            ti.ad.Tape(chain.loss, memory="1MB", **options),
        ):
            chain.run()
        return
    found = []
    for memory in ({}, {"memory": 8 * N * 4 + 64}):
        chain.prepare()
        with ti.ad.Tape(chain.loss, **memory, **options):
            chain.run()
        found.append(chain.x.grad.to_numpy())
    np.testing.assert_array_equal(*found)


def test_a_gradient_is_checked_within_a_budget() -> None:
    chain = Chain(4)
    chain.prepare()
    with ti.ad.Tape(chain.loss, memory=8 * 4 * 4 + 64, grad_check=[chain.p]):
        chain.run()


def test_what_is_kept_is_explained() -> None:
    chain = Chain()
    chain.prepare()
    tape = within(chain.loss, chain.run, 8 * N * 4 + 64)
    text = str(tape.explain())
    assert re.search(r"kernel 'step': launched again \d+ times, .* ms; its reverses .* ms", text)
    assert "x: given up" in text
    assert 0 < tape.explain().bytes <= 8 * N * 4 + 64


def test_the_most_that_was_held_is_explained() -> None:
    """It follows the limit; what is left after the reverse does not."""
    chain = Chain()
    peaks, left = [], set()
    for states in (3, 4, 6):
        limit = 8 * N * states + 64
        chain.prepare()
        explanation = within(chain.loss, chain.run, limit).explain()
        assert limit - 8 * N < explanation.peak_bytes <= limit
        assert f"at most {explanation.peak_bytes} were held" in str(explanation)
        peaks.append(explanation.peak_bytes)
        left.add(explanation.bytes)
    assert peaks == sorted({*peaks})
    assert len(left) == 1 and max(left) < min(peaks)
    chain.prepare()
    with ti.ad.Tape(chain.loss) as tape:
        chain.run()
    assert tape.explain().peak_bytes == tape.explain().bytes > max(peaks)


def test_a_budget_that_is_too_small_names_the_least() -> None:
    chain = Chain()
    chain.prepare()
    with pytest.raises(TooSmall) as refused:
        within(chain.loss, chain.run, 8)
    least = refused.value.least
    assert 2 * 8 * N <= least < 3 * 8 * N
    chain.prepare()
    within(chain.loss, chain.run, least)
    chain.prepare()
    with (
        pytest.raises(TaichiMemoryError, match=f"memory={least} is the lowest"),
        ti.ad.Tape(chain.loss, memory=least - 1),
    ):
        chain.run()


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("ends_early", [False, True])
def test_a_part_is_at_least_what_a_small_program_needs(count: int, ends_early: bool) -> None:
    """That includes what the program leaves, so it may be more than all that would be kept."""
    chain = Chain(count)
    z = ti.field(ti.f64, count, needs_grad=True)

    @ti.kernel
    def mix(w: ti.f64):
        for i in z:
            z[i] = chain.x[i] * z[i] + w

    def run() -> None:
        for t in range(1 if ends_early else 3):
            mix(t)
            chain.x[0] = 0.5 + t  # which cannot be made again
            chain.step(t)
        chain.total()

    def prepare() -> None:
        chain.prepare()
        z.fill(0.3)

    parts = (1e-9, 0.01, 0.25, 0.5, 0.75, 0.99)
    check_within_budgets(chain.loss, run, prepare, [chain.x, chain.p, z], parts)
    prepare()
    with pytest.raises(TooSmall) as refused:
        within(chain.loss, run, 1)
    for part in parts:
        prepare()
        budget = within(chain.loss, run, part).ledger.keeper
        assert isinstance(budget, Budget)
        assert budget.limit == max(int(part * budget.would_keep), refused.value.least)
        assert f"memory={part}: {budget.limit} bytes" in str(budget.explain([]))


@pytest.mark.filterwarnings("ignore:.*that derivative is lost")
def test_a_part_of_second_derivatives() -> None:
    chain = Chain(1)
    chain.prepare()

    def run() -> None:
        chain.loss[None] = 0.0
        chain.step(1)
        chain.total()

    expected = ti.ad.hvp(run, chain.loss, chain.x, np.ones(1))
    for part in (0.01, 0.5):
        np.testing.assert_array_equal(
            ti.ad.hvp(run, chain.loss, chain.x, np.ones(1), memory=part), expected
        )


@pytest.mark.parametrize("memory", [0, "0B", 7, 0.01, 0.99])
def test_a_program_of_which_nothing_is_kept_needs_no_memory(memory: Any) -> None:
    chain, y = Chain(), ti.field(ti.f64, N, needs_grad=True)

    @ti.kernel
    def apart():
        for i in y:
            y[i] = ti.sin(chain.x[i])

    @ti.kernel
    def add_up():
        for i in y:
            chain.loss[None] += y[i] ** 2

    chain.prepare()
    for _ in range(2):
        with ti.ad.Tape(chain.loss, memory=memory):
            apart()
            add_up()
        x = chain.x.to_numpy()
        np.testing.assert_allclose(chain.x.grad.to_numpy(), np.sin(2 * x), rtol=1e-14)


@pytest.mark.parametrize(
    "memory",
    [
        -1,
        "much",
        "12 parsecs",
        "9" * 400,
        "9" * 308 + "MB",
        "-3MB",
        "",
        0.0,
        -0.5,
        1.5,
        float("nan"),
        float("inf"),
        True,
        np.True_,
        np.int64(5),
        np.float64(2.0),
        [1],
    ],
)
def test_amounts_that_are_none(memory: Any) -> None:
    chain = Chain()
    with pytest.raises(TaichiTypeError, match="expected memory= as a number of bytes"):
        ti.ad.Tape(chain.loss, memory=memory)


def _refused(body: Callable[[], None], message: str) -> None:
    chain = Chain()
    with pytest.raises(TaichiRuntimeError, match=message), ti.ad.Tape(chain.loss, memory=10**6):
        body()


def test_what_cannot_be_within_a_budget_is_named() -> None:
    blocks = ti.field(ti.f64)
    ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(blocks)

    @ti.kernel
    def fill_blocks():
        for i in range(4):
            blocks[i] = 1.0

    _refused(fill_blocks, "kernel 'fill_blocks' .*sparse")


def test_the_program_of_the_documentation(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs/checkpointing.md").read_text()
    (program,) = (
        block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "memory=" in block
    )
    file = tmp_path / "program.py"
    file.write_text(program)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "kernel 'turn': launched again" in done.stdout
