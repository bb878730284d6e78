"""Random functions with local arrays compute the same, and have the same derivatives, behind
`remove-local-accesses`; what it removes is counted."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import mlirad as ti
from mlirad.ad import jvp, vjp
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.mlir.function import MlirFunction
from mlirad.pipeline.runner import run_pipeline

HEAD = """func.func @f(
    %x: !field.array<{e}, [4]> {{field.argument = 0 : i64, field.role = ["argument", 0]}},
    %y: !field.array<{e}, [4]> {{field.argument = 1 : i64, field.role = ["argument", 1]}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %half = arith.constant 0.5 : {e}
  %a = "field.alloca"() : () -> !field.array<{e}, [4]>
  %b = "field.alloca"() : () -> !field.array<{e}, [4]>
"""


class Writer:
    """A function whose statements are drawn: arithmetic, accesses of local arrays, and blocks."""

    def __init__(self, seed: int, element: str) -> None:
        self.draw, self.element = Random(seed), element
        self.lines, self.count = [HEAD.format(e=element)], 0
        self.array = f"!field.array<{element}, [4]>"

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def load(self, array: str, index: str) -> str:
        name = self.name()
        self.lines.append(
            f'{name} = "field.load"({array}, {index}) : ({self.array}, index) -> {self.element}'
        )
        return name

    def store(self, value: str, array: str, index: str) -> None:
        types = f"({self.element}, {self.array}, index)"
        self.lines.append(f'"field.store"({value}, {array}, {index}) : {types} -> ()')

    def add(self, value: str, array: str, index: str) -> None:
        types = f"({self.element}, {self.array}, index) -> {self.element}"
        kind = '{kind = "add"}'
        self.lines.append(
            f'{self.name()} = "field.atomic"({value}, {array}, {index}) {kind} : {types}'
        )

    def text(self) -> str:
        for k in range(4):
            self.store(self.load("%x", f"%c{k}"), "%a", f"%c{k}")
        self.statements(8, [f"%c{k}" for k in range(4)], ["%half"], depth=2)
        for k in range(4):
            self.add(self.load(self.draw.choice(["%a", "%b"]), f"%c{k}"), "%y", f"%c{k}")
        return "\n".join([*self.lines, "return", "}"])

    def statements(self, count: int, indices: list[str], values: list[str], depth: int) -> None:
        for _ in range(count):
            self.statement(indices, values, depth)

    def statement(self, indices: list[str], values: list[str], depth: int) -> None:
        draw, array, index = self.draw, self.draw.choice(["%a", "%b"]), self.draw.choice(indices)
        choice = draw.randrange(6 if depth else 4)
        if choice == 0:
            values.append(self.load(array, index))
        elif choice == 1:
            self.store(draw.choice(values), array, index)
        elif choice == 2:
            self.add(draw.choice(values), array, index)
        elif choice == 3:
            x, y, product, name = draw.choice(values), draw.choice(values), self.name(), self.name()
            self.lines.append(f"{product} = arith.mulf {x}, {y} : {self.element}")
            self.lines.append(f"{name} = math.sin {product} : {self.element}")
            values.append(name)
        else:
            self.block(indices, values, depth - 1, is_loop=choice == 4)

    def block(self, indices: list[str], values: list[str], depth: int, *, is_loop: bool) -> None:
        number = self.name()
        if is_loop:
            self.lines.append(f"scf.for {number} = %c0 to %c3 step %c1 {{")
            self.statements(4, [*indices, number], [*values], depth)
        else:
            x = self.load("%x", self.draw.choice(indices))
            self.lines.append(f"{number} = arith.cmpf ogt, {x}, %half : {self.element}")
            self.lines.append(f"scf.if {number} {{")
            self.statements(3, indices, [*values], depth)
        self.lines.append("}")


def transformed(text: str, pipeline: str) -> tuple[MlirFunction, int]:
    """Return a function behind a pipeline, and how many accesses it has."""
    with context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_pipeline(module.operation, f"builtin.module({pipeline})")
        count = str(module).count("field.load") + str(module).count("field.store")
    return MlirFunction(module, "f", "-"), count


def computed(function: MlirFunction, dtype: Any, mode: str) -> list[npt.NDArray[Any]]:
    """Return what a function computes, and a derivative."""
    x, y = (ti.ndarray(dtype, 4, needs_grad=True) for _ in range(2))
    values, direction = np.array([[0.3, 0.9, -0.4, 0.7], [1.0, -0.5, 2.0, 0.25]], dtype.numpy)

    def run() -> None:
        y.fill(0)
        function(x, y)

    if mode == "reverse":
        result, derivative = vjp(run, inputs=[x], output=[y])(values, adjoint=(direction,))
    else:
        result, derivative = jvp(run, inputs=[x], output=[y])(values, tangent=(direction,))
    return [*map(np.asarray, (result, derivative))]


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("arch", ["cpu", "simt"])
@pytest.mark.parametrize(("element", "tolerance"), [("f32", 1e-5), ("f64", 1e-12)])
def test_derivatives_stay(mode: str, arch: str, element: str, tolerance: float) -> None:
    """Of functions that have a reverse: a local that is overwritten may be needed."""
    dtype = getattr(ti, element)
    ti.init(arch=getattr(ti, arch), default_fp=dtype)
    counts, compared = np.zeros(2, int), 0
    for seed in range(5):
        text = Writer(seed, element).text()
        function, before = transformed(text, "cse")
        try:
            expected = computed(function, dtype, mode)
        except ti.TaichiCompilationError:
            continue
        function, after = transformed(text, "remove-local-accesses,canonicalize,cse")
        results = computed(function, dtype, mode)
        np.testing.assert_allclose(results, expected, rtol=tolerance, atol=tolerance)
        assert after <= before
        counts, compared = counts + (before, after), compared + np.any(expected[1])
    assert compared >= 2
    assert counts[1] < 0.95 * counts[0]
