"""The Mandelbrot set: a `while` that each point leaves when it likes."""

from typing import Any

from benchmarks.workload import Workload

MOST_STEPS = 200


def build(ti: Any, size: int) -> Workload:
    """An image of `size` x `size` points. The loss is the sum of all steps; it has no slope."""
    steps = ti.field(ti.i32, (size, size))
    loss = ti.field(ti.f32, ())

    @ti.kernel
    def escape():
        for i, j in steps:
            cx, cy = -2.0 + 2.5 * j / size, -1.25 + 2.5 * i / size
            x, y, k = 0.0, 0.0, 0
            while x * x + y * y < 4.0 and k < MOST_STEPS:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                k += 1
            steps[i, j] = k
        for i, j in steps:
            loss[None] += ti.cast(steps[i, j], ti.f32)

    return Workload(escape, loss, [])
