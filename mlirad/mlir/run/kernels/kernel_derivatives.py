"""Derivatives of a kernel that is still to be differentiated, in both modes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.errors import SplitError, TaichiCompilationError
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import symbol_of
from mlirad.ir.signature import parameter_attributes
from mlirad.ir.walk import functions
from mlirad.mlir.run.kernels.derivative_fields import (
    adjoints_of,
    first_duals_of,
    give_derivatives,
)
from mlirad.mlir.run.kernels.entry import copied, entry_function, make_launchable
from mlirad.mlir.run.kernels.kernel_run import Inputs, KernelRun
from mlirad.pipeline.mode import REVERSE, with_tangents
from mlirad.pipeline.runner import compile_pipeline
from mlirad.pipeline.stages.derivation import MARKED, derivation
from mlirad.pipeline.stages.legal import illegal
from mlirad.pipeline.stages.stage import Stage, behind, join, up_to
from mlirad.runtime.memory.values import Values
from mlirad.runtime.program import Program

Arrays = Mapping[str, Values]
_LOWERED = "{} cannot be differentiated: it is already {}"


class LoweredError(TaichiCompilationError):
    """A kernel that can no longer be differentiated."""


class KernelDerivatives:
    """The primal of a kernel, its reverse and its tangents, each with memory of its own.

    Arrays have the names that runs give them: `x`, `argument 0`. Raises LoweredError for a kernel
    that is lowered, or differentiated, already, TaichiCompilationError for one that is refused.
    """

    def __init__(self, module: ir.Module, entry: str | None, file: str, program: Program) -> None:
        with context():
            function = entry_function(module.operation, entry, file)
            _require_field_level(module.operation, function)
            name = symbol_of(function)
            make_launchable(module.operation, function)
            give_derivatives(module.operation, function)
            self._adjoints = adjoints_of(module.operation)
            self._duals = first_duals_of(module.operation)
            primal, forward = copied(module), copied(module)
            reverse = marked(module)
            self._redone = {*_redone(reverse.operation)}
            _run(reverse, behind(MARKED, derivation(REVERSE)))
            _run(forward, derivation(with_tangents(1)))
        self.primal = KernelRun(primal, name, file, program)
        self._reverse = KernelRun(reverse, name, file, program)
        self._forward = KernelRun(forward, name, file, program)

    def active(self) -> list[str]:
        """Return the names of the arrays that derivatives pass through."""
        return [*self._adjoints, *self.primal.float_arrays()]

    def gradients(self, inputs: Inputs, heads: Arrays) -> dict[str, Values]:
        """Return the adjoints of arrays before a launch, by those behind it."""
        before, after = self.primal.start(inputs), self.primal.run(inputs)
        state = {
            name: before[name] if name in self._redone else value for name, value in after.items()
        }
        seeds = {self._adjoint(name): head for name, head in heads.items()}
        outputs = self._reverse.run(inputs.at(state, seeds))
        return {name: outputs[self._adjoint(name)] for name in heads}

    def tangents(self, inputs: Inputs, directions: Arrays) -> dict[str, Values]:
        """Return the tangents of arrays behind a launch, by those before it."""
        seeds = {self._dual(name): value for name, value in directions.items()}
        outputs = self._forward.run(inputs.at(self.primal.start(inputs), seeds))
        return {name: outputs[self._dual(name)] for name in directions}

    def _adjoint(self, name: str) -> str:
        return self._adjoints.get(name) or f"{_short(name)}.grad"

    def _dual(self, name: str) -> str:
        return self._duals.get(name) or f"{_short(name)}.dual0"


def marked(module: ir.Module) -> ir.Module:
    """Return a kernel as its reverse starts from. Its loops are serial if one overwrites what
    another one needs: a tape launches them one by one."""
    stages = up_to(MARKED, derivation(REVERSE))
    marked = copied(module)
    try:
        _run(marked, stages)
    except SplitError:
        marked = copied(module)
        _run(marked, [Stage("serial", "serialize-inner-loops{outer=true}"), *stages])
    return marked


def _short(name: str) -> str:
    """Return what an argument is called in the names of its derivatives."""
    return name.replace("argument ", "arg")


def _run(module: ir.Module, stages: list[Stage]) -> None:
    compile_pipeline(module.operation, join(stages), verify=True, is_foreign=True)()


def _redone(module: ir.Operation) -> Iterator[str]:
    """Yield the arrays that the reverse of a marked kernel wants as they are before a launch."""
    for function in functions(module):
        if "grad.redone" in function.attributes:
            for array in ir.ArrayAttr(function.attributes["grad.redone"]):
                is_field = isinstance(array, ir.FlatSymbolRefAttr)
                yield (
                    ir.FlatSymbolRefAttr(array).value
                    if is_field
                    else f"argument {ir.IntegerAttr(array).value}"
                )


def _require_field_level(module: ir.Operation, function: ir.Operation) -> None:
    """Raise LoweredError for a function that is lowered, or a derivative, already."""
    name, place = f"@{symbol_of(function)}", source_location(function.location)
    for op in illegal(module, "field"):
        problem = f"{name} cannot be differentiated: it is already lowered, to '{op.name}'"
        raise LoweredError(problem, place)
    labels = [key for label in parameter_attributes(function) for key in label]
    if any(key in ("field.adjoint", "field.tangent") for key in labels):
        raise LoweredError(f"{name} cannot be differentiated: it is already a derivative", place)
