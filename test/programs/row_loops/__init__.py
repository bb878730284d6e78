"""Random programs whose iterations run through rows, as blocks of threads do on a GPU: gradients
of blocks in any order of their threads against those of the CPU.

    cd test && PYTHONPATH=.. python -m programs.row_loops 0 300
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import mlirad as ti
from mlirad.errors import TaichiCompilationError
from programs.load import check_numbered, load

ROWS, COLUMNS = 5, 97
ORDERS = ("ascending", "descending", "shuffled")
FIELDS = ("a", "b", "c")
HEAD = f"""
import mlirad as ti

{", ".join(FIELDS)} = [ti.field(ti.f64, ({ROWS}, {COLUMNS}), needs_grad=True) for _ in range(3)]
r = ti.field(ti.f64, {ROWS}, needs_grad=True)
loss = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def add():
    for i, j in a:
        loss[None] += a[i, j] ** 2 + b[i, j] * c[i, j] + ti.sin(c[i, j])
    for i in r:
        loss[None] += r[i] ** 2
"""


def machine_with_blocks() -> Any:
    """The machine that the tests run on, if it has blocks of threads; else simt."""
    return getattr(ti, os.environ.get("MLIRAD_ARCH", "simt"))


class Writer:
    """Writes one program."""

    def __init__(self, number: int) -> None:
        self.random = Random(number)
        self.lines: list[str] = []
        self.numbers: list[str] = []  # local variables of an iteration

    def program(self) -> str:
        """The text of a module, with `run()`."""
        kernels = self.random.randint(1, 2)
        text = HEAD + "".join(self._kernel(number) for number in range(kernels))
        calls = "".join(f"    k{number}()\n" for number in range(kernels))
        return f"{text}\n\ndef run():\n{calls}    add()\n"

    def _kernel(self, number: int) -> str:
        self.lines, self.numbers = [], []
        steps = [self._sum, self._extreme, self._chosen, self._write, self._write, self._point]
        for _ in range(self.random.randint(2, 6)):
            self.random.choice(steps)()
        if self.random.random() < 0.3:
            self.lines.append(f"loss[None] += {self._number()}")
        body = "\n".join(f"        {line}" for line in self.lines)
        return f"\n\n@ti.kernel\ndef k{number}():\n    for i in range({ROWS}):\n{body}\n"

    def _sum(self) -> None:
        name = self._new()
        start, step = self.random.choice([("0.0", "+="), ("0.5", "+="), ("0.0", "-=")])
        self.lines += [f"{name} = {start}", *self._trips()]
        if self.random.random() < 0.3:
            self.lines += [
                f"    if {self._read()} > 0.1:",
                f"        {name} {step} {self._value()}",
            ]
        else:
            self.lines.append(f"    {name} {step} {self._value()}")
        self.numbers.append(name)

    def _extreme(self) -> None:
        name, function = self._new(), self.random.choice(["max", "min"])
        first = self.random.choice(["0.0", "-1e3", "1e3", "a[i, 0]"])
        self.lines += [f"{name} = {first}", *self._trips()]
        self.lines.append(f"    {name} = ti.{function}({name}, {self._read()})")
        self.numbers.append(name)

    def _chosen(self) -> None:
        name, sign = self._new(), self.random.choice(["<", "<=", ">", ">="])
        self.lines += [f"{name} = {self.random.choice(['0.0', '1e3', '-1e3'])}", f"{name}_at = 3"]
        self.lines += [*self._trips(), f"    v = {self._read()}", f"    if v {sign} {name}:"]
        self.lines += [f"        {name} = v", f"        {name}_at = j"]
        self.numbers += [name, f"b[i, {name}_at]"]

    def _write(self) -> None:
        target = self.random.choice(FIELDS)
        self.lines += self._trips()
        place = self.random.choice(["j", "j", f"{COLUMNS - 1} - j"])
        sign = self.random.choice(["=", "=", "+="])
        self.lines.append(f"    {target}[i, {place}] {sign} {self._value()}")

    def _point(self) -> None:
        target = self.random.choice(["r[i]", f"{self.random.choice(FIELDS)}[i, 7]"])
        sign = self.random.choice(["=", "+="])
        self.lines.append(f"{target} {sign} 0.3 * {self._number()}")

    def _trips(self) -> list[str]:
        bounds = self.random.choice([f"{COLUMNS}", f"{COLUMNS}", f"2, {COLUMNS}", f"1, {COLUMNS}"])
        return [f"for j in range({bounds}):"]

    def _value(self) -> str:
        inner = f"{self._read()} + 0.5 * {self._read()}"
        return self.random.choice(
            [
                f"0.1 * ({inner})",
                f"ti.tanh({inner})",
                f"0.1 * {self._read()} * {self._number()}",
                f"{self._read()} / (2.0 + ti.sin({self._number()}))",
            ]
        )

    def _read(self) -> str:
        place = self.random.choice(["j", "j", "j", f"{COLUMNS - 1} - j", "j // 2"])
        return f"{self.random.choice(FIELDS)}[i, {place}]"

    def _number(self) -> str:
        numbers = [*self.numbers, "r[i]", f"{self.random.choice(FIELDS)}[i, 7]"]
        return self.random.choice(numbers)

    def _new(self) -> str:
        return f"x{len(self.lines)}"


def check(number: int) -> str:
    """Compare one program. Return "right", "refused", or "right, shared" if blocks share rows.
    Raises AssertionError for gradients that differ."""
    text = Writer(number).program()
    order = ORDERS[number % 3]
    with tempfile.TemporaryDirectory() as folder:
        try:
            _, expected = _gradients(text, Path(folder), ti.x64)
            os.environ["MLIRAD_SIMT_ORDER"] = order
            shared, gradients = _gradients(text, Path(folder), machine_with_blocks())
        except (TaichiCompilationError, ti.TaichiRuntimeError):
            return "refused"
        finally:
            os.environ.pop("MLIRAD_SIMT_ORDER", None)
    for found, wanted in zip(gradients, expected):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=text)
    return "right, shared" if shared else "right"


def _gradients(text: str, folder: Path, arch: Any) -> tuple[bool, list[Any]]:
    """Whether blocks share rows, and the gradients."""
    ti.init(arch=arch, default_fp=ti.f64, offline_cache=False)
    module = load(text, folder)
    inputs = [getattr(module, name) for name in (*FIELDS, "r")]
    random = np.random.default_rng(7)
    for field in inputs:  # of few values, so many are equal
        field.from_numpy(random.integers(-6, 7, field.shape) / 8)
    with ti.ad.Tape(module.loss):
        module.run()
    if arch == ti.x64:
        shared = False
    else:
        shared = "all_reduce" in str(module.k0.ir(stage="memref", mode="reverse"))
    return shared, [module.loss.to_numpy(), *(field.grad.to_numpy() for field in inputs)]


def main() -> None:
    """Check some programs and print how many came out how."""
    check_numbered(check)
