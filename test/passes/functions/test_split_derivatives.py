"""Derivatives of functions of vectors and of complex numbers, against central differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from programs.foreign_vectors.cases import UNARY
from programs.foreign_vectors.random_functions import Writer

import mlirad as ti
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.mlir import MlirFunction, parse
from mlirad.mlir.run.derivatives import Program
from mlirad.pipeline.runner import run_pipeline

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def _program() -> Iterator[None]:
    ti.init(default_fp=ti.f64)
    yield
    ti.reset()


def wrong_derivatives(function: MlirFunction, arguments: list[Any]) -> list[str]:
    """Return the derivatives that are no differences."""
    values = [value if isinstance(value, int) else np.asarray(value) for value in arguments]
    comparisons = Program(function, values).compare(0)
    return [str(comparison) for comparison in comparisons if not comparison.agrees]


@pytest.mark.parametrize("seed", range(8))
def test_random_functions_of_vectors(seed: int) -> None:
    """Functions that read and write memory, in reverse and forward mode."""
    generator = np.random.default_rng(seed)
    function = parse(Writer(seed).function("f", 12, only_floats=True))
    arguments = [
        generator.uniform(-1.5, 1.5, p.shape) if p.is_array else int(generator.integers(0, 3))
        for p in function.arguments
    ]
    assert not wrong_derivatives(function, arguments)


def of_parts(body: str) -> MlirFunction:
    """Return a function of the parts of %z and %w that gives those of %r."""
    text = f"""
    func.func @f(%x: f64, %y: f64, %u: f64, %v: f64) -> (f64, f64) {{
      %z = complex.create %x, %y : complex<f64>
      %w = complex.create %u, %v : complex<f64>
      {body}
      %a = complex.re %r : complex<f64>
      %b = complex.im %r : complex<f64>
      return %a, %b : f64, f64
    }}"""
    with context():
        module = ir.Module.parse(text)
        run_pipeline(module.operation, "builtin.module(scalarize-complex)")
        return parse(str(module))


POINTS = [  # also where the parts are as large as each other, and on both sides of all axes
    [0.75, 0.75, 0.5, -0.5],
    [-0.5, 0.5, -1.25, 0.75],
    [0.3, -1.1, 0.0, 0.9],
    [1.25, 0.0, 0.7, 0.0],
    [0.0, -0.5, -0.4, 0.0],
]


@pytest.mark.parametrize("name", [*UNARY, "mul", "div", "pow", "abs", "angle"])
def test_functions_of_complex_numbers(name: str) -> None:
    """Each function, at points where another formula would have another derivative."""
    operands = "%z, %w" if name in ("mul", "div", "pow") else "%z"
    body = f"%r = complex.{name} {operands} : complex<f64>"
    if name in ("abs", "angle"):
        body = f"%q = complex.{name} %z : complex<f64>\n%r = complex.create %q, %x : complex<f64>"
    function = of_parts(body)
    assert not [wrong for point in POINTS for wrong in wrong_derivatives(function, point)]


def test_a_power_of_zero_has_no_derivative() -> None:
    """Its value is right; the derivative is not a number, rather than 0."""
    point = [np.array(value) for value in (0.0, 0.0, 1.0, 0.0)]
    program = Program(of_parts("%r = complex.pow %z, %w : complex<f64>"), point)
    program.run()
    assert [result.to_numpy().item() for result in program.results] == [0.0, 0.0]
    assert not np.isfinite(program.gradients(program.heads())[0])
