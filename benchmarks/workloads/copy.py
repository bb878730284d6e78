"""A field copied to another: nothing but memory."""

from typing import Any

from benchmarks.workload import Workload


def build(ti: Any, size: int) -> Workload:
    """`size` elements."""
    x = ti.field(ti.f32, size, needs_grad=True)
    y = ti.field(ti.f32, size, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)
    x.fill(0.5)

    @ti.kernel
    def copy():
        for i in x:
            y[i] = x[i]

    @ti.kernel
    def pick():
        for _ in range(1):
            loss[None] += y[size // 3]

    def forward() -> None:
        copy()
        pick()

    return Workload(forward, loss, [x])
