"""What a tape keeps: nothing of programs indexed by time, at most a state a step of those that step
in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradients import State, check, scalar, scatter, variable

import mlirad as ti
from mlirad.runtime.capacity import Capacity
from mlirad.runtime.memory.host.host_elements import HostKept
from mlirad.runtime.memory.host.host_memory import HostMemory

pytestmark = pytest.mark.usefixtures("f64")
N, STEPS = 6, 8


def gradients(
    run: Callable[[], Any], inputs: list[Any], loss: Any, rules: str
) -> tuple[list[np.ndarray], int]:
    """The gradients of a program, and the bytes that its tape kept."""
    start = State(inputs, loss)
    with ti.ad.Tape(loss, rules=rules) as tape:
        run()
    found = [x.grad.to_numpy() for x in inputs]
    start.restore()
    return found, tape.explain().bytes


def check_cost(
    indexed: Callable[[], Any],
    in_place: Callable[[], Any],
    inputs: list[Any],
    loss: Any,
    state: int,
) -> None:
    """The same gradients by both forms and both rules; `state` is the size of a state in bytes."""
    expected, nothing = gradients(indexed, inputs, loss, "refuse")
    assert nothing == 0
    found, nothing = gradients(indexed, inputs, loss, "save")
    assert nothing == 0
    for a, c in zip(found, expected):  # threads add to a grid in any order
        np.testing.assert_allclose(a, c, rtol=1e-13, atol=1e-14)
    found, kept = gradients(in_place, inputs, loss, "save")
    for a, c in zip(found, expected):
        np.testing.assert_allclose(a, c, rtol=1e-10, atol=1e-13)
    assert 0 < kept <= STEPS * state


def test_waves() -> None:
    start, speed, loss = variable(N, N), variable(N, N), scalar()
    u = ti.field(ti.f64, shape=(STEPS + 2, N, N), needs_grad=True)
    a, c = (ti.field(ti.f64, shape=(N, N), needs_grad=True) for _ in range(2))

    @ti.func
    def bent(now: ti.template(), i, j):
        return now[i + 1, j] + now[i - 1, j] + now[i, j + 1] + now[i, j - 1] - 4 * now[i, j]

    @ti.kernel
    def begin():
        for i, j in start:
            u[0, i, j] = start[i, j]
            u[1, i, j] = start[i, j]

    @ti.kernel
    def step(t: ti.i32):
        for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
            turn = (
                u[t, i + 1, j] + u[t, i - 1, j] + u[t, i, j + 1] + u[t, i, j - 1] - 4 * u[t, i, j]
            )
            u[t + 1, i, j] = 2 * u[t, i, j] - u[t - 1, i, j] + 0.1 * ti.sin(speed[i, j] * turn)

    @ti.kernel
    def begin_in_place():
        for i, j in start:
            a[i, j] = start[i, j]
            c[i, j] = start[i, j] * (1 if 0 < i < N - 1 and 0 < j < N - 1 else 0)

    @ti.kernel
    def step_in_place(before: ti.template(), now: ti.template()):
        for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
            before[i, j] = (
                2 * now[i, j] - before[i, j] + 0.1 * ti.sin(speed[i, j] * bent(now, i, j))
            )

    @ti.kernel
    def finish(last: ti.template()):
        for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
            loss[None] += last[i, j] ** 2

    @ti.kernel
    def finish_indexed():
        for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
            loss[None] += u[STEPS + 1, i, j] ** 2

    start.from_numpy(np.pad(start.to_numpy()[1:-1, 1:-1], 1))  # nothing moves at the border

    def indexed() -> None:
        begin()
        for t in range(1, STEPS + 1):
            step(t)
        finish_indexed()

    def in_place() -> None:
        begin_in_place()
        for t in range(STEPS):
            step_in_place(*((a, c) if t % 2 == 0 else (c, a)))
        finish(a if STEPS % 2 else c)

    for f in (a, c, u):
        f.fill(0)
    inner = [
        gradient[1:-1, 1:-1] for gradient in gradients(indexed, [start, speed], loss, "refuse")[0]
    ]
    found, kept = gradients(in_place, [start, speed], loss, "save")
    for mine, other in zip(found, inner):
        np.testing.assert_allclose(mine[1:-1, 1:-1], other, rtol=1e-9, atol=1e-12)
    assert 0 < kept <= STEPS * 8 * N * N
    assert gradients(indexed, [start, speed], loss, "save")[1] == 0


def test_mass_spring() -> None:
    x0, v0, stiff, loss = variable(N), variable(N, low=-0.5, high=0.5), variable(N), scalar()
    x, v = (ti.field(ti.f64, shape=(STEPS + 1, N), needs_grad=True) for _ in range(2))
    force = ti.field(ti.f64, shape=(STEPS, N), needs_grad=True)
    p, q, f = variable(N), variable(N), variable(N)

    @ti.kernel
    def begin():
        for i in range(N):
            x[0, i], v[0, i] = x0[i], v0[i]

    @ti.kernel
    def pull(t: ti.i32):
        for i in range(N - 1):
            d = stiff[i] * ti.sin(x[t, i + 1] - x[t, i])
            force[t, i] += d
            force[t, i + 1] -= d

    @ti.kernel
    def move(t: ti.i32):
        for i in range(N):
            v[t + 1, i] = 0.9 * v[t, i] + 0.1 * force[t, i]
            x[t + 1, i] = x[t, i] + 0.1 * v[t + 1, i]

    @ti.kernel
    def begin_in_place():
        for i in range(N):
            p[i], q[i] = x0[i], v0[i]

    @ti.kernel
    def clear():
        for i in range(N):
            f[i] = 0.0

    @ti.kernel
    def pull_in_place():
        for i in range(N - 1):
            d = stiff[i] * ti.sin(p[i + 1] - p[i])
            f[i] += d
            f[i + 1] -= d

    @ti.kernel
    def move_in_place():
        for i in range(N):
            q[i] = 0.9 * q[i] + 0.1 * f[i]
            p[i] += 0.1 * q[i]

    @ti.kernel
    def finish():
        for i in range(N):
            loss[None] += x[STEPS, i] ** 2

    @ti.kernel
    def finish_in_place():
        for i in range(N):
            loss[None] += p[i] ** 2

    def indexed() -> None:
        begin()
        for t in range(STEPS):
            pull(t)
            move(t)
        finish()

    def in_place() -> None:
        begin_in_place()
        for _ in range(STEPS):
            clear()
            pull_in_place()
            move_in_place()
        finish_in_place()

    check_cost(indexed, in_place, [x0, v0, stiff], loss, 8 * 2 * N)


def test_particles_and_a_grid() -> None:
    """A material point method of one dimension: to the grid, and back by the momentum found
    there."""
    cells = 8
    x0, v0, loss = variable(N, low=2.2, high=4.8), variable(N), scalar()
    x, v = (ti.field(ti.f64, shape=(STEPS + 1, N), needs_grad=True) for _ in range(2))
    mass, momentum = (ti.field(ti.f64, shape=(STEPS, cells), needs_grad=True) for _ in range(2))
    p, q, m, s = variable(N), variable(N), variable(cells), variable(cells)

    @ti.kernel
    def begin():
        for i in range(N):
            x[0, i], v[0, i] = x0[i], v0[i]

    @ti.kernel
    def to_grid(t: ti.i32):
        for i in range(N):
            base = ti.cast(x[t, i], ti.i32)
            part = x[t, i] - base
            for k in ti.static(range(2)):
                weight = part if k == 1 else 1 - part
                mass[t, base + k] += weight
                momentum[t, base + k] += weight * v[t, i]

    @ti.kernel
    def to_particles(t: ti.i32):
        for i in range(N):
            base = ti.cast(x[t, i], ti.i32)
            part = x[t, i] - base
            speed = 0.0
            for k in ti.static(range(2)):
                speed += (
                    (part if k == 1 else 1 - part)
                    * momentum[t, base + k]
                    / (mass[t, base + k] + 0.1)
                )
            v[t + 1, i] = speed
            x[t + 1, i] = x[t, i] + 0.05 * speed

    @ti.kernel
    def begin_in_place():
        for i in range(N):
            p[i], q[i] = x0[i], v0[i]

    @ti.kernel
    def clear():
        for j in range(cells):
            m[j], s[j] = 0.0, 0.0

    @ti.kernel
    def to_grid_in_place():
        for i in range(N):
            base = ti.cast(p[i], ti.i32)
            part = p[i] - base
            for k in ti.static(range(2)):
                weight = part if k == 1 else 1 - part
                m[base + k] += weight
                s[base + k] += weight * q[i]

    @ti.kernel
    def to_particles_in_place():
        for i in range(N):
            base = ti.cast(p[i], ti.i32)
            part = p[i] - base
            speed = 0.0
            for k in ti.static(range(2)):
                speed += (part if k == 1 else 1 - part) * s[base + k] / (m[base + k] + 0.1)
            q[i] = speed
            p[i] += 0.05 * speed

    @ti.kernel
    def finish():
        for i in range(N):
            loss[None] += x[STEPS, i] ** 2 + v[STEPS, i]

    @ti.kernel
    def finish_in_place():
        for i in range(N):
            loss[None] += p[i] ** 2 + q[i]

    def indexed() -> None:
        begin()
        mass.fill(0)
        momentum.fill(0)
        for t in range(STEPS):
            to_grid(t)
            to_particles(t)
        finish()

    def in_place() -> None:
        begin_in_place()
        for _ in range(STEPS):
            clear()
            to_grid_in_place()
            to_particles_in_place()
        finish_in_place()

    check_cost(indexed, in_place, [x0, v0], loss, 8 * 2 * (N + cells))


@pytest.mark.filterwarnings("ignore:field")
@pytest.mark.parametrize("loops", [1, 2])
def test_a_gradient_that_comes_between_two_launches(loops: int) -> None:
    """The reverse of a launch is that of the gradients there were: what the tape kept belongs to
    it."""
    x, w, y, loss = variable(N), variable(N), variable(N), scalar()
    factor = ti.field(ti.f64, shape=N)
    factor.fill(1.5)

    @ti.kernel
    def scale():
        for i in range(N):
            w[i] *= factor[i]
            if ti.static(loops == 1):
                y[i] += x[i] * w[i]
        if ti.static(loops == 2):
            for i in range(N):
                y[i] += x[i] * w[i]

    @ti.kernel
    def give():
        for i in range(N):
            factor[i] = ti.sin(x[i])

    @ti.kernel
    def total():
        for i in range(N):
            loss[None] += y[i]

    def run() -> None:
        scale()
        give()
        scale()
        total()

    check(run, [x, w], loss)


def test_reverses_of_destroyed_fields_are_refused() -> None:
    x, loss = variable(N), scalar()
    builder = ti.FieldsBuilder()
    y = ti.field(ti.f64)
    builder.dense(ti.i, N).place(y)
    tree = builder.finalize()

    @ti.kernel
    def run():
        for i in range(N):
            loss[None] += x[i] * y[i]

    with pytest.raises(ti.TaichiRuntimeError, match="destroyed"), ti.ad.Tape(loss):
        run()
        tree.destroy()


WRITES = {
    "an element": lambda x, _: x.__setitem__(1, 3.0),
    "fill": lambda x, _: x.fill(2.0),
    "an array": lambda x, _: x.from_numpy(np.ones(N)),
    "a copy": lambda x, other: x.copy_from(other),
}


@pytest.mark.parametrize("array", ["field", "ndarray"])
@pytest.mark.parametrize("write", WRITES)
def test_a_write_between_a_launch_and_its_reverse(write: str, array: str) -> None:
    loss = scalar()
    if array == "field":
        x, other = variable(N), variable(N)
    else:
        x, other = (ti.ndarray(ti.f64, shape=N, needs_grad=True) for _ in range(2))
        scatter(x)

    @ti.kernel
    def on_field(power: ti.i32):
        for i in range(N):
            loss[None] += x[i] ** power

    @ti.kernel
    def on_array(power: ti.i32, x: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        for i in range(N):
            loss[None] += x[i] ** power

    kernel, rest = (on_field, ()) if array == "field" else (on_array, (x,))
    kernel(2, *rest)
    loss.grad[None] = 1.0
    WRITES[write](x, other)
    with pytest.raises(
        ti.TaichiRuntimeError, match="written from Python after the kernel was launched"
    ):
        kernel.grad(2, *rest)
    assert np.all(x.grad.to_numpy() == 0.0)
    kernel(2, *rest)
    kernel.grad(2, *rest)
    assert x.grad.to_numpy() == pytest.approx(2 * x.to_numpy())
    WRITES[write](x, other)
    kernel.grad(3, *rest)  # a state put back by hand, for a launch that is not the last one
    loss[None] = 0.0  # not needed


def test_reverses_without_a_launch_and_in_turn() -> None:
    x, y, loss = variable(N), variable(N), scalar()

    @ti.kernel
    def square():
        for i in range(N):
            y[i] = x[i] ** 2

    @ti.kernel
    def cube():
        for i in range(N):
            loss[None] += y[i] ** 3

    x.fill(1.5)
    y.fill(2.25)
    loss.grad[None] = 1.0
    cube.grad()
    assert y.grad.to_numpy() == pytest.approx(3 * 2.25**2)
    y.grad.fill(0.0)
    square()
    cube()
    loss[None] = 0.0
    loss.grad[None] = 1.0
    cube.grad()
    square.grad()
    assert x.grad.to_numpy() == pytest.approx(6 * 1.5**5)
    with ti.ad.Tape(loss):
        square()
        x.fill(0.5)
        cube()
    square.grad()


def test_a_copy_after_the_tape_was_closed() -> None:
    x, y, loss = variable(N), variable(N, seed=1), scalar()

    @ti.kernel
    def total():
        for i in range(N):
            loss[None] += x[i] ** 2

    with ti.ad.Tape(loss) as tape:
        total()
    x.copy_from(y)
    with pytest.raises(ti.TaichiRuntimeError, match="after the tape was closed"):
        tape.grad()


@pytest.mark.parametrize(
    "boxes",
    [
        [
            (0, 6),
            (2, 8),
            (0, 6),
            (0, 8),
            (2, 8),
            (0, 6),
        ],  # the same again and again: copied once at the end
        [(0, 3), (3, 6), (2, 5), (1, 8), (0, 8)],  # each once: exchanged
        [(0, 6), (0, 6), (1, 3), (0, 6), (2, 4)],
    ],
)
def test_parts_that_overlap(boxes: list[tuple[int, int]]) -> None:
    x, y, loss = variable(8, seed=3), variable(8, seed=4), scalar()

    @ti.kernel
    def square(first: int, last: int):
        for i in range(first, last):
            x[i] = x[i] * x[i] * y[i] + 0.5 * x[i]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] * y[i]

    def run() -> None:
        for first, last in boxes:
            square(first, last)
        total()

    check(run, [x, y], loss)
    with ti.ad.Tape(loss) as tape:
        run()
    left, found = State([x, y], loss), [x.grad.to_numpy(), y.grad.to_numpy()]
    for _ in range(2):
        tape.grad()
        left.check_same(loss)
        for field, gradient in zip((x, y), found):
            np.testing.assert_array_equal(field.grad.to_numpy(), gradient)


def test_copies_of_many_sizes_lie_in_one_arena() -> None:
    memory, random = HostMemory(), np.random.default_rng(5)
    arena = memory.arena(Capacity())
    arrays = [
        random.standard_normal(shape)
        for shape in [(3,), (), (100, 7), (5000,), (200_000,), (1, 2, 3)] * 3
    ]
    arrays += [
        arrays[2].astype(np.float32)[::2, 1:4],
        np.zeros((0, 3)),
        np.arange(9, dtype=np.int8),
    ]
    copies = [arena.keep(memory.wrap(array), None, "x") for array in arrays]
    expected = [array.copy() for array in arrays]
    for array in arrays:
        array.fill(0)
    for copy, values in zip(copies, expected):
        assert isinstance(copy, HostKept) and copy.nbytes == values.nbytes
        assert copy._copy.dtype == values.dtype and copy._copy.flags.aligned
        copy.restore()
    for array, values in zip(arrays, expected):
        np.testing.assert_array_equal(array, values)


@pytest.mark.cpu_code("remarks of its passes")
def test_a_kernel_of_loops_that_need_what_later_ones_overwrite_explains_itself() -> None:
    """A tape launches its loops one by one; so the reverse of the whole is none."""
    x, y, loss = variable(N), variable(N), scalar()

    @ti.kernel
    def twice():
        for i in x:
            y[i] = x[i] * x[i]
        for i in x:
            x[i] = ti.sin(y[i])
        for i in y:
            loss[None] += x[i] * y[i]

    shown = str(twice.explain())
    assert "reverse:" in shown and shown.count("primal:") == 3
    check(twice, [x], loss)
