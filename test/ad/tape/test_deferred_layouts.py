"""Random programs over rows of fields, in every layout that there is, while writes are deferred and
memory holds NaNs; against the same computed by NumPy. A failing program is printed."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from deferred_writes import defer_all
from programs.layouts import LAYOUTS, SHIFT
from programs.load import load
from programs.rows import Array, Program

import mlirad as ti
from mlirad.pipeline.runner import VERIFY

ACTIONS = ("tape", "more", "hand", "fill", "write", "put", "clear", "row", "product", "look")


class Run:
    """A program over fields of a layout, beside what NumPy says of it: `x` are the values of both
    fields, `g` their gradients."""

    def __init__(self, layout: str, random: Random, folder: Path) -> None:
        self.program, self.random = Program(random), random
        shape, parts = self.program.shape, self.program.components
        self.first = SHIFT if layout == "shifted" else (0, 0, 0)
        names = ("u", "v")
        self.fields = [
            ti.field(ti.f64, needs_grad=True, name=name)
            if parts == 1
            else ti.Vector.field(parts, ti.f64, needs_grad=True, name=name)
            for name in names
        ]
        LAYOUTS[layout](self.fields, shape)
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        self.source = self.program.source(self.first)
        made = load(self.source, folder).kernels(*self.fields, self.loss)
        self.step, self.total, self.clear = made
        self.x = self._numbers((2, *shape, parts))
        self.g = np.zeros_like(self.x)
        for field, values in zip(self.fields, self.x):
            for index in np.ndindex(shape):  # which makes it active
                field[self._index(index)] = (
                    values[index].tolist() if parts > 1 else values[index][0]
                )

    def _numbers(self, shape: tuple[int, ...]) -> Array:
        return np.random.default_rng(self.random.randrange(1 << 32)).uniform(-1, 1, shape)

    def _index(self, index: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(place + first for place, first in zip(index, self.first))

    def _set(self, number: int) -> None:
        grad = self.fields[number].grad
        grad.from_numpy(self.g[number].reshape(grad.to_numpy().shape))

    def _launch(self) -> None:
        for t in self.program.rows:
            self.step(t)
        self.total(0)

    def act(self, action: str) -> None:
        """Do something to gradients, here and there."""
        getattr(self, f"_{action}")()

    def _tape(self, *, clear: bool = True) -> None:
        with ti.ad.Tape(self.loss, clear_gradients=clear):
            self._launch()
        self.g *= not clear
        self.program.run(self.x)
        self.program.reverse(self.g, self.x)

    def _more(self) -> None:
        self._tape(clear=False)

    def _hand(self) -> None:
        self.loss.grad[None] = 1.0
        self.total.grad(0)
        self.program.seed(self.g, self.x)
        for t in self.random.sample(range(2, self.program.shape[0]), 2):
            self.step.grad(t)
            self.program.back(self.g, t)

    def _fill(self) -> None:
        number = self.random.randrange(2)
        self.fields[number].grad.fill(2.5)
        self.g[number] = 2.5

    def _write(self) -> None:
        number = self.random.randrange(2)
        self.g[number] = self._numbers(self.g[number].shape)
        self._set(number)

    def _put(self) -> None:
        number, shape = self.random.randrange(2), self.program.shape
        index = tuple(self.random.randrange(extent) for extent in shape)
        self.g[(number, *index)] = 1.5
        parts = self.program.components
        self.fields[number].grad[self._index(index)] = 1.5 if parts == 1 else [1.5] * parts

    def _clear(self) -> None:
        ti.ad.clear_all_gradients()
        self.g[...] = 0

    def _row(self) -> None:
        t = self.random.randrange(self.program.shape[0])
        self.clear(t)
        self.program.clear(self.g, t)

    def _product(self) -> None:
        """Twice: what the first overwrote is still to be put back when the second begins."""
        v, x = np.zeros_like(self.x), self.x.copy()
        v[0] = self._numbers(v[0].shape)
        given = v[0].reshape(self.fields[0].to_numpy().shape).copy()
        expected, self.g[...] = np.zeros_like(v), 0
        self.program.run(x)
        self.program.reverse(self.g, x)
        self.program.run(v)
        self.program.reverse(expected, v)
        for _ in range(2):
            found = ti.ad.hvp(self._launch, self.loss, self.fields[0], given)
            np.testing.assert_allclose(found.reshape(v[0].shape), expected[0], atol=1e-11)
        self._set(1)

    def _look(self) -> None:
        for field, x, g in zip(self.fields, self.x, self.g):
            np.testing.assert_allclose(field.grad.to_numpy().reshape(g.shape), g, atol=1e-11)
            np.testing.assert_allclose(field.to_numpy().reshape(x.shape), x, atol=1e-11)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VERIFY, raising=False)  # as users compile
    defer_all(monkeypatch)
    check(layout, 0, tmp_path)


def check(layout: str, seed: int, folder: Path) -> None:
    """One program in a layout, and several things that are done to its gradients."""
    random = Random(f"{layout} {seed}")
    ti.init(default_fp=ti.f64, cpu_max_num_threads=random.choice([1, 2]), opt_level=0)
    run = Run(layout, random, folder)
    actions = ["tape", *random.choices(ACTIONS, k=5), "look"]
    try:
        for action in actions:
            run.act(action)
    except Exception:
        print(actions, run.source, sep="\n")
        raise
