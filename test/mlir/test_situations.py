"""Functions as hostile users write them: floats as bits, pointers, memory by other names, calls,
odd loops. Each is right, against upstream's lowering and differences, or refused at its line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs.foreign_functions import check, upstream

import mlirad as ti
from mlirad.mlir.run.derivatives import Program

FOLDER = Path(__file__).parent
EXTENT = 6  # of an axis that a type leaves open


def situations(kind: str) -> list[Any]:
    """The texts of a file, and the integers that they are called with."""
    file = (FOLDER / f"situations_{kind}.txt").read_text()
    return [situation(text) for text in re.split(r"\n\n(?=// )", file.strip())]


def situation(text: str) -> Any:
    """A text, whose first line has its name, and the integer if it is not 2."""
    name, _, number = text.splitlines()[0].removeprefix("// ").partition(": ")
    return pytest.param(text, int(number or 2), id=name.replace(" ", "-"))


def program_of(text: str, number: int) -> Program:
    """The function on numbers that are nowhere special."""
    function, generator = ti.mlir.parse(text, "f"), np.random.default_rng(3)
    values: list[np.ndarray | int] = []
    for parameter in function.arguments:
        shape = [extent if extent >= 0 else EXTENT for extent in parameter.shape or ()]
        if not parameter.is_array:
            values.append(number)
        elif parameter.dtype.is_float:
            values.append(np.asarray(generator.uniform(0.3, 1.3, shape), parameter.dtype.numpy))
        else:
            values.append(np.asarray(generator.integers(0, 3, shape), parameter.dtype.numpy))
    return Program(function, values)


def expected_of(text: str, program: Program) -> list[np.ndarray] | None:
    """What upstream's own passes compute, of the functions that they and our engine know."""
    try:
        return upstream.outputs(text, program.arguments)
    except Exception:
        return None


@pytest.mark.parametrize("arch", [ti.cpu, ti.simt])
@pytest.mark.parametrize("element", ["f64", "f32"])
@pytest.mark.parametrize(("text", "number"), situations("right"))
def test_right(text: str, number: int, element: str, arch: str) -> None:
    """Values are upstream's, and both modes agree with differences."""
    if element == "f32":
        if "bitcast" in text or "llvm" in text or "f32" in text:
            pytest.skip("a program of 64 bits")
        text = text.replace("f64", "f32")
    ti.init(arch, default_fp=ti.f64, log_level="error", opt_level=1)
    program = program_of(text, number)
    expected = expected_of(text, program)
    if expected is None:
        assert all(comparison.agrees for comparison in program.compare(0))
    else:
        is_rough = element == "f32" or "f16" in text
        outcome = check._compare(program, expected, 0, is_rough=is_rough)
        assert outcome.kind == "right", outcome.message


NAMED = {
    "vjp": """func.func @f({parameters}) -> f64 {{
  %one_ = arith.constant 1.0 : f64
  %derivative_ = grad.vjp @primal {{active = [0]}} : ({types}, f64) -> f64
  %slope_ = func.call_indirect %derivative_({names}, %one_) : ({types}, f64) -> f64
  return %slope_ : f64
}}""",
    "jvp": """func.func @f({parameters}) -> f64 {{
  %one_ = arith.constant 1.0 : f64
  %derivative_ = grad.jvp @primal {{active = [0]}} : ({types}, f64) -> (f64, f64)
  %value_, %slope_ = func.call_indirect %derivative_({names}, %one_) : ({types}, f64) -> (f64, f64)
  return %slope_ : f64
}}""",
}
SIGNATURE = re.compile(r"func\.func @f\((%\w+: f64\b[^)]*)\) -> f64 \{")
BY_SIZE = ("alloc in while", "cf irreducible")  # what they keep depends on numbers


@pytest.mark.parametrize("kind", NAMED)
@pytest.mark.parametrize(
    ("text", "number"),
    [s for s in situations("right") if SIGNATURE.search(s.values[0])],
)
def test_named_derivatives(text: str, number: int, kind: str) -> None:
    """A derivative that the module asks for is that of a tape, and has derivatives itself."""
    ti.init(ti.cpu, default_fp=ti.f64, log_level="error", opt_level=1)
    program = program_of(text, number)
    zeros = [np.zeros(output.shape) for output in program.outputs[1:]]
    (expected, *_) = program.gradients([np.array(1.0), *zeros])
    parameters = SIGNATURE.search(text)[1]
    pairs = [parameter.split(": ", 1) for parameter in parameters.split(", ")]
    names, types = (", ".join(column) for column in zip(*pairs))
    derivative = NAMED[kind].format(parameters=parameters, names=names, types=types)
    named = f"{text.replace('func.func @f(', 'func.func private @primal(')}\n{derivative}"
    if kind == "vjp" and text.startswith(tuple(f"// {name}" for name in BY_SIZE)):
        with pytest.raises(ti.TaichiCompilationError, match="an allocation whose size"):
            program_of(named, number)
        return
    program = program_of(named, number)
    program.run()
    assert program.outputs[0].to_numpy() == pytest.approx(expected)
    assert all(comparison.agrees for comparison in program.compare(0))


@pytest.mark.parametrize(("text", "number"), situations("refused"))
def test_refused(text: str, number: int) -> None:
    """The error has the line, and says what is wrong there."""
    line, message = next(
        (place, row.partition("// refused: ")[2])
        for place, row in enumerate(text.splitlines(), 1)
        if "// refused: " in row
    )
    ti.init(ti.cpu, default_fp=ti.f64, log_level="error", opt_level=1)
    with pytest.raises(ti.TaichiCompilationError) as error:
        program_of(text, number).compare(0)
    assert f":{line}:" in str(error.value).splitlines()[0]
    assert message in str(error.value)
