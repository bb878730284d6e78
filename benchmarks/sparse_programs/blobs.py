"""A ring in three nested sparse blocks that turns: written to, gone through, blurred, and given up
at each step (as `taichi_sparse`)."""

from collections.abc import Callable
from typing import Any


def build(ti: Any, size: int) -> tuple[Callable[[], None], Callable[[], float]]:
    """`size` x `size` cells, most of them inactive; a step, and a digest."""
    x, blurred, total = ti.field(ti.f32), ti.field(ti.f32), ti.field(ti.f32, ())
    top = ti.root.pointer(ti.ij, size // 64)
    top.pointer(ti.ij, 4).pointer(ti.ij, 4).bitmasked(ti.ij, 4).place(x, blurred)

    @ti.kernel
    def activate(t: ti.f32):
        for i, j in ti.ndrange(size, size):
            p = ti.Vector([i, j]) / size - 0.5
            turned = ti.Vector([p[0] * ti.cos(t) - p[1] * ti.sin(t), p.dot(p)])
            if turned[1] > 0.03 and turned[1] < 0.05 and turned[0] > -0.1:
                x[i, j] = turned[0]

    @ti.kernel
    def blur():
        for i, j in x:
            if i > 0 and i < size - 1 and j > 0 and j < size - 1:
                around = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]
                blurred[i, j] = 0.5 * x[i, j] + 0.125 * around

    @ti.kernel
    def add_up():
        for i, j in blurred:
            total[None] += blurred[i, j]

    time = [0.0]

    def step() -> None:
        time[0] += 0.05
        top.deactivate_all()
        activate(time[0])
        for _ in range(4):
            blur()
            add_up()

    return step, lambda: float(total[None])
