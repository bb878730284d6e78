"""Random tapes against a reverse in NumPy: launches over boxes, in many places and in place, what
Python writes and copies, functions without a gradient, on fields and arrays of all kinds."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.runtime.derivative_kind import ADJOINT

N, TAPES = 40, 10
Array = np.ndarray[Any, Any]
Adjoints = dict[str, Array]


def kernels(kind: Any) -> dict[str, Any]:
    @ti.kernel
    def mix(a: kind, b: kind, first: ti.i32, last: ti.i32, c: ti.f64):
        for i in range(first, last):
            b[i] = ti.sin(a[i] * c) + b[i] * a[(i + 1) % N]

    @ti.kernel
    def change(a: kind, first: ti.i32, last: ti.i32, c: ti.f64):
        for i in range(first, last):
            a[i] = ti.cos(a[i]) * c + a[i] * a[i] * 0.5

    @ti.kernel
    def stride(a: kind, b: kind, first: ti.i32, count: ti.i32):
        for k in range(count):
            b[first + 2 * k] += a[k] * a[k]

    @ti.kernel
    def add(a: kind, loss: ti.template(), c: ti.f64):
        for i in range(N):
            loss[None] += c * a[i] * a[i] * a[i]

    return {"mix": mix, "change": change, "stride": stride, "add": add}


def _has_gradient(one: Any) -> bool:
    if isinstance(one, ti.Field):
        return one.has(ADJOINT)
    return not isinstance(one, np.ndarray) and one.grad is not None


class RandomTape:
    """A program, run step by step here and in NumPy, which notes how adjoints go back."""

    def __init__(self, seed: int) -> None:
        self.random, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        self.fields = {f"f{k}": self._field(k) for k in range(self.random.randint(1, 3))}
        self.arrays = {f"a{k}": self._array() for k in range(self.random.randint(0, 3))}
        self.memory = {**self.fields, **self.arrays}
        self.graded = {name for name, one in self.memory.items() if _has_gradient(one)}
        self.values = {name: self.numbers.uniform(-1, 1, N) for name in self.memory}
        for name, value in self.values.items():
            self._put(name, value)
        self.total, self.is_cut, self.back = 0.0, False, list[Callable[[Adjoints], None]]()
        self.on_fields, self.on_arrays = kernels(ti.template()), kernels(ti.types.ndarray())
        self.log: list[object] = []

    def _field(self, number: int) -> Any:
        return ti.field(ti.f64, N, needs_grad=number == 0 or self.random.random() < 0.6)

    def _array(self) -> Any:
        kind = self.random.choice(["numpy", "plain", "graded"])
        return np.zeros(N) if kind == "numpy" else ti.ndarray(ti.f64, N, needs_grad=kind != "plain")

    def _put(self, name: str, value: Array) -> None:
        if isinstance(self.memory[name], np.ndarray):
            self.memory[name][:] = value
        else:
            self.memory[name].from_numpy(value)

    def _names(self, count: int) -> list[str]:
        groups = [list(group) for group in (self.fields, self.arrays) if len(group) >= count]
        return self.random.sample(self.random.choice(groups), count) if groups else []

    def _box(self) -> tuple[int, int]:
        if self.random.random() < 0.25:
            return 0, N
        first = self.random.randint(0, N)
        return first, min(N, first + self.random.randint(0, 6))

    def _launch(self, kernel: str, names: list[str], *values: Any) -> None:
        self.log.append((kernel, *names, *values))
        group = self.on_fields if names[0] in self.fields else self.on_arrays
        group[kernel](*[self.memory[name] for name in names], *values)

    def _stored(self, name: str, where: Any, back: Callable[[Adjoints], None]) -> None:
        """Elements were stored, of which adjoints go back unless they are constant."""

        def constant(adjoint: Adjoints) -> None:
            adjoint[name][where] = 0

        self.back.append(constant if self.is_cut else back)

    # Steps.

    def mix(self) -> None:
        if not (names := self._names(2)):
            return
        (first, last), c = self._box(), self.random.uniform(-2, 2)
        a, b = names
        self._launch("mix", names, first, last, c)
        i, x, y = np.arange(first, last), self.values[a].copy(), self.values[b].copy()
        self.values[b][i] = np.sin(x[i] * c) + y[i] * x[(i + 1) % N]

        def back(adjoint: Adjoints) -> None:
            arrived = adjoint[b][i].copy()
            adjoint[b][i] = arrived * x[(i + 1) % N]
            np.add.at(adjoint[a], i, arrived * c * np.cos(x[i] * c))
            np.add.at(adjoint[a], (i + 1) % N, arrived * y[i])

        self._stored(b, i, back)

    def change(self) -> None:
        self._change(self._names(1)[0], *self._box())

    def scattered(self) -> None:
        name, places = self._names(1)[0], list(range(N))
        self.random.shuffle(places)
        for place in places[: self.random.randint(1, N)]:
            self._change(name, place, place + 1)

    def _change(self, name: str, first: int, last: int) -> None:
        c = self.random.uniform(-1, 1)
        self._launch("change", [name], first, last, c)
        i, x = np.arange(first, last), self.values[name].copy()
        self.values[name][i] = np.cos(x[i]) * c + x[i] ** 2 * 0.5

        def back(adjoint: Adjoints) -> None:
            adjoint[name][i] *= -np.sin(x[i]) * c + x[i]

        self._stored(name, i, back)

    def stride(self) -> None:
        if not (names := self._names(2)):
            return
        first = self.random.randint(0, 5)
        count = self.random.randint(0, (N - first) // 2)
        self._launch("stride", names, first, count)
        (a, b), k = names, np.arange(count)
        x = self.values[a].copy()
        self.values[b][first + 2 * k] += x[k] ** 2

        def back(adjoint: Adjoints) -> None:
            np.add.at(adjoint[a], k, 2 * x[k] * adjoint[b][first + 2 * k])

        if not self.is_cut:
            self.back.append(back)

    def add(self) -> None:
        (name,), c = self._names(1), self.random.uniform(-1, 1)
        x = self.values[name].copy()
        self._launch_sum(name, c)
        self.total += c * float((x**3).sum())

        def back(adjoint: Adjoints) -> None:
            adjoint[name] += 3 * c * x**2

        self.back.append(back)

    def _launch_sum(self, name: str, c: float) -> None:
        self.log.append(("add", name))
        group = self.on_fields if name in self.fields else self.on_arrays
        group["add"](self.memory[name], self.loss, c)

    def write(self) -> None:
        name, x = self._names(1)[0], self.random.uniform(-1, 1)
        one = self.memory[name]
        first, last = sorted(self.random.sample(range(N + 1), 2))
        how = self.random.choice(["element", "all", "array", "slice"])
        if how == "slice" and isinstance(one, ti.Ndarray):
            how = "element"
        self.log.append((how, name, first, last))
        where: Any = {"element": first, "slice": slice(first, last)}.get(how, slice(None))
        value: Any = self.numbers.uniform(-1, 1, N) if how == "array" else x
        if how in ("element", "slice"):
            one[where] = value
        else:
            self._put(name, value if how == "array" else np.full(N, value))
        self.values[name][where] = value
        self._stored(name, where, lambda adjoint: adjoint[name].__setitem__(where, 0))

    def copy(self) -> None:
        if len(self.fields) < 2:
            return
        a, b = self.random.sample(list(self.fields), 2)
        self.log.append(("copy", a, b))
        self.memory[b].copy_from(self.memory[a])
        self.values[b][:] = self.values[a]

        def back(adjoint: Adjoints) -> None:
            adjoint[a] += adjoint[b]
            adjoint[b][:] = 0

        self._stored(b, slice(None), back)

    def read(self) -> None:
        self.memory[self._names(1)[0]][self.random.randrange(N)]

    def without_gradient(self) -> None:
        steps = self.random.choices(self.plain(), k=self.random.randint(1, 4))

        @ti.ad.no_grad
        def call() -> None:
            for step in steps:
                step()

        self.log.append("no_grad")
        self.is_cut = True
        call()
        self.is_cut = False
        self.log.append("end")

    def plain(self) -> list[Callable[[], None]]:
        often = [self.mix, self.mix, self.change, self.change]
        return [*often, self.scattered, self.stride, self.write, self.write, self.copy, self.read]

    def run(self) -> None:
        steps = [*self.plain(), self.add, self.add, self.without_gradient, self.without_gradient]
        for step in [*self.random.choices(steps, k=self.random.randint(4, 16)), self.add]:
            step()

    def adjoints(self) -> Adjoints:
        found = {name: np.zeros(N) for name in self.memory}
        for back in reversed(self.back):
            back(found)
        return found

    def check(self) -> None:
        assert self.loss[None] == pytest.approx(self.total, rel=1e-9)
        for name, adjoint in self.adjoints().items():
            one = self.memory[name]
            found = one if isinstance(one, np.ndarray) else one.to_numpy()
            np.testing.assert_allclose(
                found, self.values[name], 1e-10, 1e-12, err_msg=str(self.log)
            )
            if name in self.graded and np.abs(adjoint).max() < 1e9:
                gradient = one.grad.to_numpy()
                np.testing.assert_allclose(gradient, adjoint, 1e-8, 1e-9, err_msg=str(self.log))


@pytest.mark.parametrize("part", range(2))
def test_random_tapes(part: int) -> None:
    for seed in range(part, TAPES, 2):
        ti.init(default_fp=ti.f64, cpu_max_num_threads=1 + seed // 2 % 2)
        program = RandomTape(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of derivatives that are lost, as is meant
            with ti.ad.Tape(program.loss):
                program.run()
        program.check()
