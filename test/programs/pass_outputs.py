"""The functions of a pass' own lit test, run with the pass and without it: as they are, and their
derivatives."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.errors import MLIRError, TaichiCompilationError
from mlirad.ir.requirements import is_private, symbol_of
from mlirad.ir.walk import functions
from mlirad.mlir.function import MlirFunction
from mlirad.mlir.parameters import Parameter
from mlirad.mlir.run.comparison import Distance
from mlirad.mlir.run.kernels.derivative_fields import give_derivatives
from mlirad.mlir.run.kernels.entry import (
    copied,
    entry_function,
    label_arguments,
    make_launchable,
)
from mlirad.mlir.run.kernels.kernel_derivatives import marked
from mlirad.mlir.source import function_of
from mlirad.pipeline.mode import REVERSE, with_tangents
from mlirad.pipeline.opt.command import parse_command
from mlirad.pipeline.opt.source_text import chunks
from mlirad.pipeline.runner import Watcher, compile_pipeline
from mlirad.pipeline.stages.derivation import MARKED, derivation
from mlirad.pipeline.stages.functions import DEFINITIONS, function_stages
from mlirad.pipeline.stages.legal import illegal
from mlirad.pipeline.stages.stage import behind, join
from mlirad.runtime.memory.values import Values
from programs.pass_walks import Start, parsed

PASSES = Path(__file__).parents[1] / "passes"
_RUN = re.compile(r"// RUN: mlirad-opt %s (.*?)(?:\||$)")


class LitFunction(NamedTuple):
    """A function of a module of a lit test, and the passes up to the one that is tested."""

    text: str
    name: str
    before: str
    tested: str


def group_of(name: str) -> str:
    """Return the folder that a pass is in."""
    (path,) = PASSES.rglob(f"{name.replace('-', '_')}.mlir")
    return path.parent.name


def lit_functions(name: str) -> Iterator[LitFunction]:
    """Yield the functions of the lit test of a pass, with what its first line runs."""
    (path,) = PASSES.rglob(f"{name.replace('-', '_')}.mlir")
    text = path.read_text()
    options = next(options for options in _runs(text) if name in map(_pass_of, options))
    is_split = any("split-input-file" in option for option in options)
    steps = [o for o in options if "split-input-file" not in o and "verify-diag" not in o]
    position = max(k for k, option in enumerate(steps) if _pass_of(option) == name)
    with context():
        before, tested = (
            str(parse_command(part).pipeline) for part in (steps[:position], [steps[position]])
        )
        parts = [*chunks(text, "// -----")] if is_split else [text]
        modules = [parsed(part) for part in parts]
        for part, module in zip(parts, modules):
            names = [symbol_of(f) for f in functions(module.operation) if not is_private(f)]
            yield from (LitFunction(part, entry, before, tested) for entry in names)


class ForeignFunction(NamedTuple):
    """A function of a lit test that a pass changed on its way to a kernel."""

    name: str
    function: MlirFunction

    def values(self) -> list[Values | int]:
        """Return what to call it with: random numbers."""
        generator = np.random.default_rng(0)
        return [_random(generator, p) for p in self.function.arguments]


def _random(generator: np.random.Generator, parameter: Parameter) -> Values | int:
    if parameter.shape is None:
        return 2
    shape = [4 if extent < 0 else extent for extent in parameter.shape]
    if parameter.dtype.is_float:
        return np.asarray(generator.uniform(0.5, 1.5, shape), parameter.dtype.numpy)
    return np.asarray(generator.integers(0, 2, shape), parameter.dtype.numpy)


def of_functions(name: str) -> Iterator[ForeignFunction]:
    """Yield the functions of the lit test of a pass that it changes on their way to kernels."""
    for function in lit_functions(name):
        try:
            if _is_changed(function, name):
                module = parsed(function.text)
                yield ForeignFunction(function.name, function_of(module, "-", function.name))
        except TaichiCompilationError:
            continue  # what is refused is looked at elsewhere


def _is_changed(function: LitFunction, name: str) -> bool:
    """Return whether a pass changes something while a function becomes a kernel."""
    texts: dict[str, str] = {}
    changed: list[str] = []

    def note(step: str, op: ir.Operation) -> None:
        if step == name and str(op) != texts[step]:
            changed.append(step)

    before = Watcher(before=lambda step, op: texts.update({step: str(op)}), after=note)
    with context():
        module = parsed(function.text)
        for op in functions(module.operation):
            if symbol_of(op) != function.name:
                op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        for pipeline in (f"builtin.module({DEFINITIONS})", join(function_stages())):
            with suppress(TaichiCompilationError), module.operation.location:  # if it is refused
                root = copied(module).operation
                compile_pipeline(root, pipeline, is_foreign=True, watchers=[before])()
    return bool(changed)


def _runs(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        run = _RUN.match(line)
        if run is not None:
            yield shlex.split(run[1])


def _pass_of(option: str) -> str:
    return option.lstrip("-").partition("=")[0]


def compare(function: LitFunction, mode: str) -> tuple[Distance, Start] | None:
    """Compare what a function computes with the pass and without, in a mode; None if the pass does
    not change it, it has no derivative, or it takes what a launch cannot pass."""
    try:
        return _compare(function, mode)
    except MLIRError:
        raise
    except TaichiCompilationError:
        return None


def _compare(function: LitFunction, mode: str) -> tuple[Distance, Start] | None:
    with context():
        module = parsed(function.text)
        label_arguments(module.operation)
        _run(module, function.before)
        changed = _changed(module, function)
        if mode == "primal":
            pair = None if str(changed) == str(module) else (module, changed)
        else:
            pair = _derivatives(module, changed, function, mode)
        if pair is None:
            return None
    start = Start()
    return start.compare(*pair, function.name), start


def _derivatives(
    module: ir.Module, changed: ir.Module, function: LitFunction, mode: str
) -> tuple[ir.Module, ir.Module] | None:
    """Return the derivative of a function, and the one that the pass made or changed: it runs in
    front of differentiation if what it leaves can still be differentiated, and else behind."""
    if [*illegal(module.operation, "field")]:
        return None
    is_early = str(changed) != str(module) and not [*illegal(changed.operation, "field")]
    derivative = _derivative(module, function.name, mode)
    if is_early:
        return derivative, _derivative(changed, function.name, mode)
    late = _changed(derivative, function)
    return None if str(late) == str(derivative) else (derivative, late)


def _derivative(module: ir.Module, name: str, mode: str) -> ir.Module:
    module = copied(module)
    entry = entry_function(module.operation, name, "-")
    make_launchable(module.operation, entry)
    give_derivatives(module.operation, entry)
    if mode == "reverse":
        reverse = marked(module)
        _run(reverse, join(behind(MARKED, derivation(REVERSE))))
        return reverse
    _run(module, join(derivation(with_tangents(1))))
    return module


def _changed(module: ir.Module, function: LitFunction) -> ir.Module:
    changed = copied(module)
    _run(changed, function.tested)
    return changed


def _run(module: ir.Module, pipeline: str) -> None:
    compile_pipeline(module.operation, pipeline, verify=True, is_foreign=True)()
