"""Random programs whose kernels store values that their reverses need, and overwrite some of them:
gradients with values loaded from fields against gradients with all of them computed again.

    cd test && PYTHONPATH=.. python -m programs.stored_values 0 300
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import mlirad as ti
from mlirad.analysis.races import lasting_stores
from mlirad.errors import TaichiCompilationError
from programs.load import check_numbered, load

COUNT = 6
FIELDS = ("a", "b", "c", "d")
HEAD = f"""
import mlirad as ti

{", ".join(FIELDS)} = [ti.field(ti.f64, {COUNT}, needs_grad=True) for _ in range(4)]
m = ti.field(ti.f64, ({COUNT}, {COUNT}), needs_grad=True)
v = ti.Vector.field(2, ti.f64, {COUNT}, needs_grad=True)
loss = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def add():
    for i in range({COUNT}):
        loss[None] += a[i] ** 2 + b[i] * c[i] + ti.sin(d[i]) + v[i].norm_sqr()
        for j in range({COUNT}):
            loss[None] += m[i, j] ** 3
"""


class Writer:
    """Writes the kernels of one program, and what is done with them."""

    def __init__(self, number: int) -> None:
        self.random = Random(number)
        self.lines: list[str] = []
        self.locals: list[str] = []
        self.is_serial = False
        self.targets: dict[str, str] = {}  # what a parallel loop writes, and the index of its own

    def program(self) -> str:
        """The text of a module, with `run()`."""
        kernels = self.random.randint(1, 4)
        text = HEAD + "".join(self._kernel(k) for k in range(kernels))
        steps = [self._step(kernels) for _ in range(self.random.randint(2, 7))]
        return text + "\n\ndef run():\n" + "".join(f"    {s}\n" for s in [*steps, "add()"])

    def _step(self, kernels: int) -> str:
        if self.random.random() < 0.15:
            field = self.random.choice(FIELDS)
            return self.random.choice(
                [f"{field}[{self.random.randrange(COUNT)}] = 0.3", f"{field}.fill(0.2)"]
            )
        return f"k{self.random.randrange(kernels)}({self.random.randrange(COUNT)})"

    def _kernel(self, number: int) -> str:
        self.lines, self.locals = [], []
        for _ in range(self.random.randint(1, 2)):
            self.is_serial = self.random.random() < 0.3
            if self.is_serial:
                self._line(1, "ti.loop_config(serialize=True)")
            self._line(1, f"for i in range({COUNT}):")
            self.locals = []
            names = self.random.sample([*FIELDS, "m", "v"], self.random.randint(1, 4))
            places = ["i", "i", f"{COUNT - 1} - i", f"(i + 2) % {COUNT}"]
            self.targets = {name: self.random.choice(places) for name in names}
            self._block(2, self.random.randint(1, 4), ["i"])
        return f"\n\n@ti.kernel\ndef k{number}(t: ti.i32):\n" + "".join(self.lines)

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text + "\n")

    def _block(self, depth: int, count: int, indices: list[str]) -> None:
        outer = list(self.locals)
        for _ in range(count):
            chance = self.random.random()
            if chance < 0.15 and depth < 4:
                self._line(depth, f"if {self.random.choice(indices)} % 2 == {depth % 2}:")
                self._block(depth + 1, self.random.randint(1, 2), indices)
            elif chance < 0.35 and depth < 4:
                index = "jk"[len(indices) - 1] if len(indices) < 3 else "l"
                self._line(depth, f"for {index} in range({self.random.choice([COUNT, 't'])}):")
                self._block(depth + 1, self.random.randint(1, 3), [*indices, index])
            else:
                self._store(depth, indices)
        self.locals = outer

    def _store(self, depth: int, indices: list[str]) -> None:
        name = f"x{len(self.lines)}"
        if self.random.random() < 0.3:
            self._line(depth, f"{name} = 0.1")
            self._line(depth, f"for n in range({COUNT}):")
            self._line(depth + 1, f"{name} += 0.3 * {self._read(['n'])} * {self._read(indices)}")
            self.locals.append(name)
            name += "y"
        self._line(depth, f"{name} = {self._value(indices)}")
        self.locals.append(name)
        for _ in range(self.random.randint(1, 2)):
            sign = self.random.choice(["=", "=", "=", "+="])
            self._line(depth, f"{self._target(indices)} {sign} {name}")
        if self.random.random() < 0.4:
            self._line(depth, f"{self._target(indices)} += 0.2 * {name} * {name}")

    def _value(self, indices: list[str]) -> str:
        inner = f"{self._read(indices)} + 0.5 * {self._read(indices)}"
        return self.random.choice(
            [
                f"ti.tanh({inner})",
                f"ti.exp(-ti.abs({inner}))",
                f"ti.sqrt(1.0 + ({inner}) ** 2)",
                f"1.0 / (1.5 + ti.sin({inner}))",
                f"{self._read(indices)} * {self._read(indices)}",
                f"ti.tanh({inner}) * {self._read(indices)}",
            ]
        )

    def _read(self, indices: list[str]) -> str:
        if self.locals and self.random.random() < 0.4:
            return self.random.choice(self.locals)
        return self._element(indices)

    def _element(self, indices: list[str]) -> str:
        """What is read: of what other iterations write, nothing."""
        name = self.random.choice([*FIELDS, "m", "v"])
        if name in self.targets and not self.is_serial:
            return self._of(name, self.targets[name], indices)
        index = self.random.choice(indices)
        places = [
            index,
            index,
            f"{COUNT - 1} - {index}",
            f"({index} + 1) % {COUNT}",
            f"{index} // 2",
        ]
        return self._of(name, self.random.choice(places), indices)

    def _target(self, indices: list[str]) -> str:
        name = self.random.choice(list(self.targets))
        if not self.is_serial or self.random.random() < 0.5:
            return self._of(name, self.targets[name], indices)
        return self._element(indices)

    def _of(self, name: str, index: str, indices: list[str]) -> str:
        if name == "m":
            return f"m[{index}, {self.random.choice([*indices, 't'])}]"
        if name == "v":
            return f"v[{index}][{self.random.randrange(2)}]"
        return f"{name}[{index}]"


def check(number: int) -> str:
    """Run one program both ways. Return "right", "refused", or "right, loaded" if a reverse has
    loaded something. Raises AssertionError for gradients that differ."""
    text = Writer(number).program()
    with tempfile.TemporaryDirectory() as folder:
        try:
            loaded, gradients = _gradients(text, Path(folder), 0)
            _, expected = _gradients(text, Path(folder), 1 << 60)
        except (TaichiCompilationError, ti.TaichiRuntimeError):
            return "refused"
    for found, wanted in zip(gradients, expected):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=text)
    return "right, loaded" if loaded else "right"


def _gradients(text: str, folder: Path, least: int) -> tuple[bool, list[Any]]:
    """Whether a reverse has loaded something, and the gradients, where a load has to spare so many
    operations."""
    before, lasting_stores.LEAST = lasting_stores.LEAST, least
    try:
        ti.init(default_fp=ti.f64, offline_cache=False)
        module = load(text, folder)
        inputs = [getattr(module, name) for name in (*FIELDS, "m", "v")]
        values = np.random.default_rng(7)
        for field in inputs:
            shape = field.to_numpy().shape
            field.from_numpy(values.uniform(-0.9, 0.9, shape))
        with ti.ad.Tape(module.loss) as tape:
            module.run()
    finally:
        lasting_stores.LEAST = before
    loaded = any(
        getattr(entry, "holds_stored", False) and entry.derivative.stored is not None
        for entry in tape.entries
    )
    return loaded, [field.grad.to_numpy() for field in inputs]


def main() -> None:
    """Check some programs and print how many came out how."""
    check_numbered(check)
