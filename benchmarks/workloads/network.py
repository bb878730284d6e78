"""Two dense layers with tanh as plain loops: every row reads the weights, their gradients are sums
over rows."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload

INPUTS, HIDDEN, OUTPUTS = 32, 64, 8


def build(ti: Any, size: int) -> Workload:
    """`size` rows."""
    given, wanted = ti.field(ti.f32, (size, INPUTS)), ti.field(ti.f32, (size, OUTPUTS))
    hidden = ti.field(ti.f32, (size, HIDDEN), needs_grad=True)
    inner = ti.field(ti.f32, (HIDDEN, INPUTS), needs_grad=True)
    outer = ti.field(ti.f32, (OUTPUTS, HIDDEN), needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)
    random = np.random.default_rng(31)
    for array, spread in (
        (given, 1.0),
        (wanted, 0.5),
        (inner, INPUTS**-0.5),
        (outer, HIDDEN**-0.5),
    ):
        array.from_numpy(random.normal(0, spread, array.shape).astype(np.float32))

    @ti.kernel
    def encode():
        for r, h in ti.ndrange(size, HIDDEN):
            total = 0.0
            for k in range(INPUTS):
                total += inner[h, k] * given[r, k]
            hidden[r, h] = ti.tanh(total)

    @ti.kernel
    def decode():
        for r, o in ti.ndrange(size, OUTPUTS):
            total = 0.0
            for h in range(HIDDEN):
                total += outer[o, h] * hidden[r, h]
            miss = ti.tanh(total) - wanted[r, o]
            loss[None] += miss * miss / size

    def forward() -> None:
        encode()
        decode()

    return Workload(forward, loss, [inner, outer])
