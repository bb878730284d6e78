"""A kernel of a module of whatever stage, on fields and arguments that have names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.noted_trees import module_of_trees
from mlirad.dialect.snode import element_and_shape, places
from mlirad.errors import SourceLocation, TaichiRuntimeTypeError, did_you_mean, located
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import symbol_of
from mlirad.ir.signature import field_label, is_field
from mlirad.mlir.run.kernels.argument_slots import PassedArguments, argument_slots
from mlirad.mlir.run.kernels.derivative_fields import derivatives_of
from mlirad.mlir.run.kernels.entry import entry_function, make_launchable
from mlirad.mlir.run.kernels.lowering import lower
from mlirad.mlir.run.kernels.run_memory import RunMemory
from mlirad.mlir.run.values import Slot, value_of
from mlirad.runtime.memory.values import Values
from mlirad.runtime.program import Program
from mlirad.types import from_mlir

REST = "*"  # stands for the fields that are not named


class Inputs(msgspec.Struct, frozen=True):
    """The start of a run: arguments by number, fields and derivatives of arguments by name; the
    others are zero. A state that is `whole` says which cells are active, and else those are that
    hold what is not 0."""

    values: Mapping[int, Values | int]
    fields: Mapping[str, Values]
    is_whole: bool = False

    def at(self, state: Mapping[str, Values], derivatives: Mapping[str, Values]) -> Inputs:
        """Return a run that starts from a state, of all fields and arrays, with derivatives."""
        values = {
            number: state.get(f"argument {number}", value) for number, value in self.values.items()
        }
        return Inputs(values, {**state, **derivatives}, is_whole=True)


class KernelRun:
    """A kernel that is lowered from wherever it is, with a memory of its own.

    Arguments are those of the function as the frontend made it, by number. Fields are named, and
    so are arrays of derivatives of arguments: `arg0.grad`, `arg0.dual0`. Raises
    TaichiCompilationError, with the line, if there is no such function, or it cannot be lowered.
    """

    def __init__(
        self,
        module: ir.Module,
        entry: str | None,
        file: str,
        program: Program,
        *,
        optimize: bool = False,
        bounds: bool = False,
    ) -> None:
        with context():
            function = entry_function(module.operation, entry, file)
            self.name, self.place = symbol_of(function), source_location(function.location)
            lines = {symbol_of(op): source_location(op.location) for op in places(module.operation)}
            make_launchable(module.operation, function)
            lowered = lower(module, self.name, program, optimize=optimize, bounds=bounds)
            function = entry_function(module.operation, self.name, file)
            trees = module_of_trees(module.operation)
            memory, self._machine = program.executor.memory, program.executor
            self._memory = RunMemory(trees.operation, memory)
            self._arguments = argument_slots(function, lowered.signature, self.place)
            self._code = program.executor.compile(lowered, self._memory, program.config)
            self.fields = {
                symbol_of(op): _slot_of_field(op, lines.get(symbol_of(op)) or self.place)
                for op in places(trees.operation)
                if is_field(field_label(op))
            }
            self._derived = {n for op in places(trees.operation) for n in derivatives_of(op)}
        self.arguments = {
            argument.label.number: argument.slot
            for argument in sorted(self._arguments, key=lambda a: a.label.number)
            if argument.is_primal
        }
        self._results = lowered.results

    def inputs(self, texts: Sequence[str], fields: Mapping[str, str]) -> Inputs:
        """Return the arguments, and the fields and derivatives of arguments by name, that the
        command line spells. Raises TaichiRuntimeTypeError if they do not fit."""
        if len(texts) != len(self.arguments):
            count = len(self.arguments)
            raise self._error(f"@{self.name} takes {count} arguments, got {len(texts)}")
        values = {
            number: value_of(text, slot)
            for (number, slot), text in zip(self.arguments.items(), texts)
        }
        slots = self.fields | {a.slot.name: a.slot for a in self._arguments if not a.is_primal}
        named = {name: text for name, text in fields.items() if name != REST}
        for name in named:
            if name not in slots:
                listed, guess = ", ".join(slots) or "none", did_you_mean(name, slots)
                raise self._error(f"there is no field '{name}'{guess}; fields: {listed}")
        if REST in fields:
            named |= {name: fields[REST] for name in self._primals() if name not in named}
        arrays = {name: np.asarray(value_of(text, slots[name])) for name, text in named.items()}
        return Inputs(values, arrays)

    def start(self, inputs: Inputs) -> dict[str, Values]:
        """Return what all fields and arrays hold before a run."""
        passed = self._set(inputs)
        return {name: self._memory.read(name) for name in self.fields} | dict(passed.read())

    def run(self, inputs: Inputs) -> dict[str, Values]:
        """Run it once; what it returns, and what all fields and arrays hold then."""
        passed = self._set(inputs)
        results = self._code.launch(passed.values, passed.in_order())
        self._machine.synchronize()
        returned = [np.array(v, t.numpy) for v, t in zip(results, self._results)]
        outputs = {f"result {number}": value for number, value in enumerate(returned)}
        outputs |= {name: self._memory.read(name) for name in self.fields}
        return outputs | dict(passed.read())

    def float_arrays(self) -> list[str]:
        """Return the names of the arguments that are arrays of floats."""
        return [
            a.slot.name
            for a in self._arguments
            if a.is_array and a.is_primal and a.slot.dtype.is_float
        ]

    def _primals(self) -> list[str]:
        """Return the names of the fields that are neither derivatives nor activities."""
        derived = {*self._derived, *self._memory.activities()}
        return [name for name in self.fields if name not in derived]

    def _set(self, inputs: Inputs) -> PassedArguments:
        """Set all memory to what a run starts from."""
        self._memory.clear()
        for name, array in inputs.fields.items():
            if name in self.fields:
                self._memory.write(name, array, activates=not inputs.is_whole)
        return PassedArguments(self._arguments, inputs.values, inputs.fields, self._machine.memory)

    def _error(self, problem: str) -> TaichiRuntimeTypeError:
        return TaichiRuntimeTypeError(
            problem if self.place is None else located(problem, self.place)
        )


def _slot_of_field(place: ir.Operation, line: SourceLocation | None) -> Slot:
    element, shape = element_and_shape(place)
    return Slot(f"field {symbol_of(place)}", from_mlir(element), shape, line)
