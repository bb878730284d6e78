"""Kernels on their way to code, pass by pass: each that a pass of ours changes computes what it did
before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.ir.ops import Builtin
from mlirad.ir.walk import functions
from mlirad.mlir.run.comparison import Distance, distance
from mlirad.mlir.run.kernels.derivative_fields import give_derivatives
from mlirad.mlir.run.kernels.entry import copied, label_arguments
from mlirad.mlir.run.kernels.kernel_run import Inputs, KernelRun
from mlirad.mlir.run.values import Slot
from mlirad.pipeline.opt.parsing import Reading
from mlirad.pipeline.registry import is_pass
from mlirad.pipeline.runner import compile_pipeline
from mlirad.pipeline.stages.stage import Stage, join
from mlirad.pipeline.text import Step, parse_pipeline
from mlirad.runtime.memory.values import Values
from mlirad.runtime.program import program


def parsed(text: str) -> ir.Module:
    """Return the module that a text is, in short or generic form."""
    return Reading(text, "-", is_whole_file=False).module()


class Change(NamedTuple):
    """A pass that changed a module, and how far what it computes is from what it did; none of what
    is compared differs from what runs started from if nothing was computed."""

    name: str
    distance: Distance


def walk(text: str, stages: list[Stage], looked_at: frozenset[str]) -> Iterator[Change]:
    """Run a pipeline on a kernel, and compare around the first change by each of some passes."""
    with context():
        module = parsed(text)
        label_arguments(module.operation)
        for function in functions(module.operation):
            if "sym_visibility" not in function.attributes:
                give_derivatives(module.operation, function)
    start, left = Start(), set(looked_at)
    for step in _steps(parse_pipeline(join(stages)).steps):
        if not left:
            return
        before = copied(module) if step.name in left else None
        with context():
            compile_pipeline(module.operation, str(step), verify=True)()
        if before is not None and str(before) != str(module):
            assert is_pass(step.name)
            left.remove(step.name)
            yield Change(step.name, start.compare(before, module))


def _steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Yield passes one by one; upstream's, in anchors, as they are."""
    for step in steps:
        yield Step(Builtin.MODULE, steps=(step,), is_anchor=True) if step.is_anchor else step


class Start:
    """The values that runs start from: random arrays and fields, of which integers are small."""

    def __init__(self) -> None:
        self._generator = np.random.default_rng(0)
        self._values: list[Values | int] = []
        self._fields: dict[str, Values] = {}
        self.outputs: list[dict[str, Values]] = []  # of the runs of the last comparison

    def compare(self, before: ir.Module, after: ir.Module, entry: str | None = None) -> Distance:
        """Return how far what two modules compute is apart."""
        self.outputs = [self._outputs(copied(module), entry) for module in (before, after)]
        return distance("outputs", *self.outputs)

    def _outputs(self, module: ir.Module, entry: str | None) -> dict[str, Values]:
        """Return what a run leaves; arguments by their order, which passes that add some keep."""
        run = KernelRun(module, entry, "-", program())
        for slot in [*run.arguments.values()][len(self._values) :]:
            self._values.append(self._value(slot))
        for name, slot in run.fields.items():
            if name not in self._fields:
                self._fields[name] = np.asarray(self._value(slot))
        fields = {name: self._fields[name] for name in run.fields}
        places = {f"argument {n}": f"argument #{k}" for k, n in enumerate(run.arguments)}
        values = dict(zip(run.arguments, self._values))
        outputs = run.run(Inputs(values, fields, is_whole=True))
        return {places.get(name, name): array for name, array in outputs.items()}

    def _value(self, slot: Slot) -> Values | int:
        if slot.shape is None:
            return 2 if slot.dtype.bits > 1 else 1
        shape = [8 if extent < 0 else extent for extent in slot.shape]
        if slot.dtype.is_float:
            return np.asarray(self._generator.uniform(0.5, 1.5, shape), slot.dtype.numpy)
        return np.asarray(self._generator.integers(0, 2, shape), slot.dtype.numpy)
