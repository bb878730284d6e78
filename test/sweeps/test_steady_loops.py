"""Loops that overwrite memory and read none of it: their reverse does not write again."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mlirad as ti

N, STEPS = 12, 5


class Wave:
    """A wave that a kernel steps through three fields: three of its loops read what others wrote,
    and one reads what it overwrites."""

    def __init__(self, machine: object) -> None:
        ti.init(arch=machine, default_fp=ti.f64)
        start, old, now, new = (ti.field(ti.f64, N, needs_grad=True) for _ in range(4))
        loss = ti.field(ti.f64, (), needs_grad=True)

        @ti.kernel
        def begin():
            for i in range(N):
                old[i], now[i] = start[i], start[i]

        @ti.kernel
        def steps(bend: ti.f64):
            for _ in range(1):
                for _t in range(STEPS):
                    for i in range(1, N - 1):
                        pull = now[i - 1] + now[i + 1] - 2.0 * now[i]
                        new[i] = 2.0 * now[i] - old[i] + 0.1 * ti.sin(pull * now[i])
                    for i in range(N):
                        old[i] = now[i]
                    for i in range(N):
                        now[i] = new[i]
                    for i in range(1, N):
                        now[i] = now[i] + bend * ti.sin(now[i - 1] * now[i])

        @ti.kernel
        def measure():
            for i in range(N):
                loss[None] += now[i] ** 2

        self.start, self.new, self.loss = start, new, loss
        self.begin, self.steps, self.measure = begin, steps, measure

    def run(self) -> None:
        """All kernels, for the loss."""
        self.begin()
        self.steps(0.3)
        self.measure()

    def value(self, x: np.ndarray) -> float:
        """The loss at what the wave starts from."""
        self.start.from_numpy(x)
        self.new.fill(0.0)
        self.loss[None] = 0.0
        self.run()
        return float(self.loss[None])


@pytest.mark.parametrize("machine", [ti.cpu, ti.simt])
def test_gradients(machine: object) -> None:
    wave = Wave(machine)
    values = np.linspace(0.2, 1.1, N)
    wave.value(values)
    wave.new.fill(0.0)
    with ti.ad.Tape(wave.loss):
        wave.run()
    gradient = wave.start.grad.to_numpy()
    for i in range(N):
        step = 1e-5 * (np.arange(N) == i)
        difference = (wave.value(values + step) - wave.value(values - step)) / 2e-5
        assert gradient[i] == pytest.approx(difference, rel=1e-7, abs=1e-8)


def test_the_reverse_of_a_steady_loop_does_not_write_again() -> None:
    """The four loops of a step are run again; only the one that is not steady writes once more, and
    takes that back."""
    text = Wave(ti.cpu).steps.ir(0.3, mode="reverse", stage="derived")
    stores = re.findall(r"field\.store .*\{grad\.again\}", text)
    assert len(stores) == 4 + 2
