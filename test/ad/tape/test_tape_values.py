"""What a tape leaves in fields is what the same kernels leave without one, to the bit, `fast_math`
or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti

COUNT, STEPS = 257, 20


@pytest.mark.parametrize("fast_math", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_a_kernel_that_is_launched_loop_by_loop(dtype: str, threads: int, fast_math: bool) -> None:
    ti.init(default_fp=getattr(ti, dtype), cpu_max_num_threads=threads, fast_math=fast_math)
    x, y, f, speed = (ti.field(float, COUNT, needs_grad=True) for _ in range(4))
    loss = ti.field(float, (), needs_grad=True)

    @ti.kernel
    def step():
        for i in x:
            x[i] = x[i] * x[i] * (1.0 - 0.01 / y[i]) / (0.1 + x[i])
        for i in x:
            right = x[(i + 1) % COUNT]
            f[i] = x[i] * right / y[i] + right * y[i] - ti.sqrt(x[i] * x[i] + y[i]) / 3.0
        for i in x:
            speed[i] = 0.9 * speed[i] + f[i] * y[i] - x[i] / (1.0 + f[i] * f[i])
            x[i] = x[i] * (1.0 - 0.01 * y[i]) + 0.01 * speed[i] / y[i]

    @ti.kernel
    def measure():
        for i in x:
            loss[None] += x[i] * x[i]

    start = np.random.default_rng(0).uniform(0.3, 1.7, (2, COUNT))

    def run() -> None:
        for _ in range(STEPS):
            step()
        measure()

    def left() -> list[np.ndarray[Any, Any]]:
        return [field.to_numpy() for field in (x, speed, f)]

    def reset() -> None:
        for field, values in zip((x, y), start):
            field.from_numpy(values)
        speed.fill(0)
        loss.fill(0)

    reset()
    run()
    plain = left()
    reset()
    with ti.ad.Tape(loss) as tape:
        run()
    assert len(tape.entries) > STEPS + 1  # the kernel's loops are launches of their own
    np.testing.assert_array_equal(left(), plain)
    reset()
    with ti.ad.FwdMode(loss, x, seed=[1.0] * COUNT):
        run()
    np.testing.assert_array_equal(left(), plain)
