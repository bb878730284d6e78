"""A launch that nothing records deactivates derivatives with their fields, as programs need it that
chain gradients of kernels by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.lang.layout.tree import SNode

STEPS, SIZE, START = 4, 5, (1.2, 1.7, 3.1, 4.6, 9.3)


def _nested(*blocks: tuple[str, int]) -> list[SNode]:
    nodes: list[Any] = [ti.root]
    for kind, extent in blocks:
        nodes.append(getattr(nodes[-1], kind)(ti.i, extent))
    return nodes[1:]


LAYOUTS: dict[str, Callable[[], list[SNode]]] = {
    "pointer": lambda: _nested(("pointer", 16)),
    "pointer, dense": lambda: _nested(("pointer", 8), ("dense", 2)),
    "pointer, pointer": lambda: _nested(("pointer", 4), ("pointer", 4)),
    "pointer, bitmasked": lambda: _nested(("pointer", 4), ("bitmasked", 4)),
    "pointer, list": lambda: _nested(("pointer", 4), ("dynamic", 4)),
    "list": lambda: _nested(("dynamic", 16)),
}


@ti.kernel
def deactivate_cells(block: ti.template()):
    for cell in ti.grouped(block):
        ti.deactivate(block, cell)


@ti.kernel
def empty(block: ti.template()):
    ti.deactivate(block, [])


class Simulation:
    """Particles that move by a grid, which each step makes anew."""

    def __init__(self, layout: str, memory: str, *, by_kernel: bool) -> None:
        ti.init(default_fp=ti.f64)
        self.x, self.loss = (ti.field(ti.f64, s, needs_grad=True) for s in [(STEPS + 1, SIZE), ()])
        self.mass, self.speed = (ti.field(ti.f64, needs_grad=memory != "lazy") for _ in range(2))
        blocks = LAYOUTS[layout]()
        if memory == "placed":
            blocks[-1].place(self.mass, self.mass.grad, self.speed, self.speed.grad)
        else:
            blocks[-1].place(self.mass, self.speed)
        kernel = empty if layout == "list" else deactivate_cells
        self.block = blocks[0]
        self.clear = (lambda: kernel(self.block)) if by_kernel else self.block.deactivate_all
        self.scatter, self.smooth, self.gather, self.total = _kernels(self)
        self.clear()
        if memory == "lazy":
            ti.root.lazy_grad()

    def grid(self, t: int) -> None:
        self.clear()
        self.scatter(t)
        self.smooth()

    def step(self, t: int) -> None:
        self.grid(t)
        self.gather(t)

    def back(self, t: int) -> None:
        """The reverse of a step, which computes the grid again."""
        self.grid(t)
        self.gather.grad(t)
        self.smooth.grad()
        self.scatter.grad(t)

    def value(self, start: Any) -> float:
        self.x[0, :] = start
        self.loss[None] = 0
        for t in range(STEPS):
            self.step(t)
        self.total()
        return float(self.loss[None])

    def differences(self) -> Any:
        shifts = np.eye(SIZE) * 1e-6
        base = np.array(START)
        return [(self.value(base + d) - self.value(base - d)) / 2e-6 for d in shifts]


def _kernels(made: Simulation) -> tuple[Any, ...]:
    x, mass, speed, loss = made.x, made.mass, made.speed, made.loss

    @ti.kernel
    def scatter(t: ti.i32):
        for p in range(SIZE):
            cell = ti.cast(ti.floor(x[t, p]), ti.i32)
            part = x[t, p] - cell
            mass[cell] += 1.0 - part
            mass[cell + 1] += part

    @ti.kernel
    def smooth():
        for i in mass:
            speed[i] = ti.sin(mass[i]) + mass[i] ** 2

    @ti.kernel
    def gather(t: ti.i32):
        for p in range(SIZE):
            cell = ti.cast(ti.floor(x[t, p]), ti.i32)
            part = x[t, p] - cell
            x[t + 1, p] = x[t, p] + 0.1 * ((1.0 - part) * speed[cell] + part * speed[cell + 1])

    @ti.kernel
    def total():
        for p in range(SIZE):
            loss[None] += x[STEPS, p] ** 2

    return scatter, smooth, gather, total


@pytest.mark.parametrize(
    ("layout", "memory", "by_kernel"),
    [
        ("pointer, dense", "placed", False),
        ("pointer, dense", "needs_grad", True),
        ("pointer", "lazy", True),
        ("pointer, pointer", "placed", True),
        ("pointer, bitmasked", "needs_grad", False),
        ("pointer, bitmasked", "placed", True),
        ("pointer, list", "placed", True),
        ("list", "lazy", True),
    ],
)
def test_gradients_of_kernels_chained_by_hand(layout: str, memory: str, by_kernel: bool) -> None:
    made = Simulation(layout, memory, by_kernel=by_kernel)
    wanted = made.differences()
    made.value(START)
    for _ in range(2):
        ti.ad.clear_all_gradients()
        made.loss.grad[None] = 1.0
        made.total.grad()
        for t in reversed(range(STEPS)):
            made.back(t)
        assert made.x.grad.to_numpy()[0] == pytest.approx(np.array(wanted), rel=1e-6)


@pytest.mark.parametrize("by_kernel", [False, True])
@pytest.mark.parametrize("kept", [False, True])
def test_a_gradient_of_its_own_that_deactivates(by_kernel: bool, kept: bool) -> None:
    """Steps that a checkpointed loop does again leave what gradients are to read."""
    made = Simulation("pointer, dense", "placed", by_kernel=by_kernel)

    @ti.ad.grad_replaced
    def step(t):
        made.step(t)

    @ti.ad.grad_for(step)
    def step_gradient(t):
        made.back(t)

    wanted = made.differences()
    made.x[0, :] = START
    made.loss[None] = 0
    state = [made.x, made.mass, made.speed]
    with ti.ad.Tape(made.loss):
        steps = ti.ad.checkpointed(range(STEPS), state=state, snapshots=1)
        for t in steps if kept else range(STEPS):
            step(t)
        made.total()
    assert made.x.grad.to_numpy()[0] == pytest.approx(np.array(wanted), rel=1e-6)


@pytest.mark.parametrize("layout", ["pointer, dense", "pointer, pointer", "pointer, list"])
@pytest.mark.parametrize("by_kernel", [False, True])
def test_what_goes_and_what_stays(layout: str, by_kernel: bool) -> None:
    """Derivatives of what is deactivated go, those that came when the kernel was fast too; what
    lies elsewhere stays."""
    ti.init(default_fp=ti.f64)
    blocks = LAYOUTS[layout]()
    x, y = (ti.Vector.field(2, ti.f64) for _ in range(2))
    blocks[-1].place(x, y)

    @ti.kernel
    def first():
        for _ in range(1):
            ti.deactivate(blocks[0], [0])

    for _ in range(3):
        x[1] = [1.0, 2.0]
        first()
    ti.root.lazy_grad()
    ti.root.dense(ti.i, 16).place(y.dual)
    ti.root.lazy_dual()
    for _ in range(3):
        for i in (1, 9):
            x[i] = y[i] = [1.0, 2.0]
            for derivative in (x.grad, x.dual, y.grad, y.dual):
                derivative[i] = [3.0, 4.0]
        if by_kernel:
            first()
        else:
            blocks[0].deactivate_all()
        for field in (x, y, x.grad, x.dual, y.grad):
            assert not field.to_numpy()[:4].any()
            assert field.to_numpy()[9].any() == by_kernel
        assert y.dual.to_numpy()[[1, 9]].tolist() == [[3.0, 4.0]] * 2


def test_a_kernel_that_reads_what_is_not_active_has_a_derivative_that_goes_too() -> None:
    ti.init(default_fp=ti.f64)
    x, out = ti.field(ti.f64, needs_grad=True), ti.field(ti.f64, 16, needs_grad=True)
    block = ti.root.pointer(ti.i, 8)
    block.dense(ti.i, 2).place(x, x.grad)

    @ti.kernel
    def shift():
        for i in range(15):
            out[i] = 3.0 * x[i + 1]

    x[3] = 1.0
    for _ in range(2):
        out.grad.fill(1.0)
        shift.grad()
        assert x.grad.to_numpy().tolist() == [0.0] + [3.0] * 15
        block.deactivate_all()
        assert not x.grad.to_numpy().any()


def test_cells_that_keep_what_they_hold_keep_derivatives() -> None:
    """Also those of a pointer block in a bitmasked cell that is not active."""
    ti.init(default_fp=ti.f64)
    outer = ti.root.bitmasked(ti.i, 4)
    inner = outer.pointer(ti.i, 4)
    x = ti.field(ti.f64, needs_grad=True)
    inner.place(x)
    for i in (1, 9):
        x[i], x.grad[i] = 2.0, 5.0

    @ti.kernel
    def leave():
        for _ in range(1):
            ti.deactivate(outer, [0])

    leave()
    inner.deactivate_all()
    assert (x[1], x.grad[1], x[9], x.grad[9]) == (2.0, 5.0, 0.0, 0.0)


def test_an_infinity_and_a_nan_go_too() -> None:
    ti.init()
    x = ti.field(ti.f32, needs_grad=True)
    block = ti.root.pointer(ti.i, 4)
    block.place(x)
    for value in (np.inf, np.nan):
        x[2], x.grad[2] = 1.0, value
        deactivate_cells(block)
        assert x.grad[2] == 0.0


class Forces:
    """A simulation that takes forces from an energy on a grid, which each step makes anew."""

    def __init__(self, layout: str, *, by_kernel: bool, fills: bool = False) -> None:
        ti.init(default_fp=ti.f64)
        self.x = ti.field(ti.f64, 8, needs_grad=True)
        self.grid = ti.field(ti.f64, needs_grad=True)
        self.energy, self.loss = (ti.field(ti.f64, (), needs_grad=True) for _ in range(2))
        blocks = LAYOUTS[layout]()
        blocks[-1].place(self.grid)
        self.block, self.by_kernel, self.fills = blocks[0], by_kernel, fills
        self.scatter, self.add, self.push, self.total = _force_kernels(self)
        self.start = np.linspace(0.4, 1.2, 8)
        shifts = np.eye(8) * 1e-6
        low, high = ([self.value(self.start + s * d) for d in shifts] for s in (-1, 1))
        self.wanted = (np.array(high) - low) / 2e-6
        self.plain = self.value(self.start)
        self.x.from_numpy(self.start)

    def step(self) -> None:
        if self.by_kernel:
            deactivate_cells(self.block)
        else:
            self.block.deactivate_all()
        if self.fills:
            self.grid.grad.fill(0)
        self.scatter()
        self.energy.grad[None] = 1.0
        self.add.grad()
        self.push()

    def run(self) -> None:
        self.loss[None] = 0
        for _ in range(3):
            self.step()
        self.total()

    def value(self, start: Any) -> float:
        self.x.from_numpy(start)
        self.run()
        return float(self.loss[None])


def _force_kernels(made: Forces) -> tuple[Any, ...]:
    x, grid, energy, loss = made.x, made.grid, made.energy, made.loss

    @ti.kernel
    def scatter():
        for i in range(8):
            if x[i] > 0.5:
                grid[i] += x[i] * x[i]

    @ti.kernel
    def add():
        for i in grid:
            energy[None] += 0.1 * grid[i] ** 3

    @ti.kernel
    def push():
        for i in range(8):
            x[i] = x[i] - 0.1 * grid.grad[i] * x[i]

    @ti.kernel
    def total():
        for i in range(8):
            loss[None] += x[i] ** 2

    return scatter, add, push, total


@pytest.mark.parametrize(
    ("layout", "by_kernel", "fills"),
    [
        ("pointer, dense", False, False),
        ("pointer, dense", True, True),
        ("pointer, pointer", True, False),
        ("pointer, bitmasked", False, False),
        ("pointer, list", True, False),
    ],
)
def test_gradients_that_a_program_uses_go_on_a_tape_too(
    layout: str, by_kernel: bool, fills: bool
) -> None:
    made = Forces(layout, by_kernel=by_kernel, fills=fills)
    with ti.ad.FwdMode(made.loss, made.x, seed=np.eye(8)) as mode:
        made.run()
    assert made.loss[None] == pytest.approx(made.plain, rel=1e-14)
    assert mode.tangents(made.loss) == pytest.approx(made.wanted, rel=1e-6)
    made.x.from_numpy(made.start)
    with ti.ad.Tape(made.loss):
        made.run()
    assert made.loss[None] == pytest.approx(made.plain, rel=1e-14)
    assert made.x.grad.to_numpy() == pytest.approx(made.wanted, rel=1e-6)


def test_gradients_that_a_function_with_a_gradient_of_its_own_uses_go_too() -> None:
    made = Forces("pointer, dense", by_kernel=True)
    step = ti.ad.grad_replaced(made.step)
    ti.ad.grad_for(step)(lambda: None)
    made.loss[None] = 0
    with ti.ad.Tape(made.loss):
        for _ in range(3):
            step()
        made.total()
    assert made.loss[None] == pytest.approx(made.plain, rel=1e-14)


def test_gradients_that_a_program_uses_in_checkpointed_loops() -> None:
    made = Forces("pointer, dense", by_kernel=True)
    refusal = "deactivates 'grid', of which the program uses the gradient"
    with pytest.raises(ti.TaichiRuntimeError, match=refusal), ti.ad.Tape(made.loss):
        made.step()
        for _ in ti.ad.checkpointed(range(2), state=[made.x, made.grid], snapshots=1):
            deactivate_cells(made.block)
