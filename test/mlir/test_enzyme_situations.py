"""The situations of Enzyme's MLIR tests (`programs.enzyme`), by `mlirad-run --check`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs.enzyme import Situation, situations
from programs.enzyme.document import document
from runtime.cuda.machine import stub_the_driver

import mlirad as ti
from mlirad.mlir.run import main
from mlirad.mlir.run.derivatives import Program
from mlirad.mlir.run.function_command import FunctionCommand
from mlirad.runtime.executors import EXECUTORS

SITUATIONS = list(situations())
MACHINES = [("f64", "cpu"), ("f32", "cpu"), ("f64", "simt")]
FIRST = {situation.family: situation for situation in SITUATIONS[::-1] if not situation.refusal}
CURVED = ["square", "elementary", "power", "steps_in_place", "norm", "results_of_results"]
DOCUMENT = Path(__file__).parents[2] / "docs/enzyme.md"


def _name(situation: Situation) -> str:
    return f"{situation.family}-{situation.name}"


@pytest.mark.parametrize(("element", "machine"), MACHINES)
@pytest.mark.parametrize("situation", SITUATIONS, ids=_name)
def test_situations(
    situation: Situation,
    element: str,
    machine: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    if element == "f32" and re.search(r"\bf32\b", situation.text):
        pytest.skip("has both")
    file = tmp_path / "situation.mlir"
    file.write_text(re.sub(r"f64", element, situation.text))
    values = [value.replace("f64", element) for value in situation.values]
    status = main([str(file), "--check", "--arch", machine, "--", *values])
    ti.reset()
    output = capfd.readouterr()
    if situation.refusal is None:
        assert status == 0, output.out + output.err
        assert re.search(r"all \d+ derivatives agree", output.out)
        results = re.findall(r"result \d+ : \w+\n(\S+)", output.out) if situation.results else []
        assert [float(text) for text in results] == pytest.approx(situation.results)
    else:
        assert status == 1
        assert re.match(rf"mlirad-run: {re.escape(str(file))}:\d+:\d+: ", output.err), output.err
        refusal = situation.refusal.replace("f64", element)
        assert refusal in output.err


@pytest.mark.parametrize("situation", FIRST.values(), ids=_name)
def test_on_a_gpu(
    situation: Situation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The first situation of each family as PTX, whose launches a stub of the driver runs; all of
    them have been."""
    monkeypatch.setitem(EXECUTORS, "cuda", EXECUTORS["cuda"])
    stub_the_driver()
    test_situations(situation, "f64", "cuda", tmp_path, capfd)


@pytest.mark.parametrize("name", CURVED)
def test_second_derivatives(name: str) -> None:
    """ForwardMode/nested_dataflow, Passes/region_capture_nested: forward mode over reverse mode."""
    (situation,) = (s for s in SITUATIONS if s.name == name)
    ti.init(default_fp=ti.f64, log_level="error")
    function = ti.mlir.parse(situation.text)
    values = FunctionCommand(function, situation.values).values
    program = Program(function, values)
    places = [ti.field(ti.f64, a.shape, needs_grad=True) for a in program.inputs]
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def give(place: ti.template(), array: ti.types.ndarray()):
        for index in ti.grouped(place):
            array[index] = place[index]

    @ti.kernel
    def add(array: ti.types.ndarray()):
        for index in ti.grouped(array):
            loss[None] += array[index] ** 2

    def run() -> None:
        for place, array in zip(places, program.working):
            give(place, array)
        passed: list[Any] = list(values)
        for number, array in zip(program.active, program.working):
            passed[number] = array
        function(*passed, out=program.results or None)
        for array in program.outputs:
            add(array)

    starts = [np.asarray(values[number]) for number in program.active]
    directions = [np.cos(np.arange(s.size)).reshape(s.shape) for s in starts]

    def gradients(step: float) -> list[np.ndarray]:
        for place, start, direction in zip(places, starts, directions):
            place.from_numpy(start + step * direction)
        loss[None] = 0
        with ti.ad.Tape(loss):
            run()
        return [place.grad.to_numpy() for place in places]

    pairs = zip(gradients(1e-5), gradients(-1e-5))
    expected = [(above - below) / 2e-5 for above, below in pairs]
    gradients(0)
    products = ti.ad.hvp(run, loss, places, directions)
    ti.reset()
    for product, difference in zip(products, expected):
        np.testing.assert_allclose(product, difference, rtol=1e-6, atol=1e-6)


def test_document() -> None:
    """`python -m programs.enzyme > ../docs/enzyme.md` writes it."""
    assert DOCUMENT.read_text() == document()
