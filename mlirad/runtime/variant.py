"""One choice of argument types of a kernel: its IR at every stage, and its compiled code, primal and derivative."""
from __future__ import annotations

import ctypes
import re
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.errors import SplitError, TaichiAssertionError, TaichiRuntimeError, located
from mlirad.frontend.kernel import KernelModule
from mlirad.frontend.matrix import Matrix
from mlirad.passes._location import source_location
from mlirad.passes._walk import functions
from mlirad.passes.insert_access_checks import CHECK
from mlirad.passes.keep_launch import launches
from mlirad.pipeline.pipelines import NORMALISE, STAGES, cpu_stages, cuda_stages, join
from mlirad.pipeline.runner import run_pipeline
from mlirad.runtime.array_arguments import array_positions, copy_of, with_gradients
from mlirad.runtime.cpu import CompiledKernel, Parameter, parameters_of
from mlirad.runtime.explanation import Explanation, Row
from mlirad.runtime.footprints import Flows, Footprints, read_flows, read_footprints
from mlirad.runtime.program import Program
from mlirad.types import DataType

MODES = ("primal", "reverse", "validation", "anomaly", "validation-anomaly", "anomaly-reverse")
RECORDED = sys.maxsize  # in place of when a variant was launched: by a tape, or its reverse ran since
_TANGENTS = re.compile(r"(forward|constant)(\d*)(-reverse)?")


@dataclass(frozen=True)
class Derivative:
    """The reverse of a kernel, for the gradients that fields had when it was asked for."""

    code: CompiledKernel
    messages: list[str]
    footprints: Footprints
    tangents: int  # that it computes too


@dataclass
class _Lowered:
    module: ir.Module
    parameters: list[Parameter]
    messages: list[str]


class Variant:
    """A kernel for one choice of argument types and compile-time values."""

    def __init__(self, kernel: KernelModule, program: Program, owners: Sequence[Any]) -> None:
        self.kernel = kernel
        self.program = program
        self.owners = owners  # keeps compile-time values, whose identity is part of the key, alive
        self.compiled: dict[str, CompiledKernel] = {}
        self.messages: dict[str, list[str]] = {}
        self.symbols: set[str] = set()
        self.is_stale = False  # a field it uses is gone
        self.when_stale: list[Callable[[], None]] = []
        program.compiled.add(self)
        self.seed: int | None = None  # of the last launch, where the kernel draws random numbers
        self._footprints: Footprints | None = None
        self._parts: list[Variant] | None = None
        self.primal: Variant | None = None  # the variant whose primal code this one shares
        self._with_gradients: dict[frozenset[int], Variant] = {}
        self._derivatives: dict[str, Derivative] = {}
        self.launched_at = RECORDED  # the program's count of changes
        self.gradient_version = -1  # of the program, when the gradients of the kernel's fields were last looked at
        self._flows: Flows | None = None
        self._declared, self._declared_duals = self._gradients(), self._duals()
        self.array_ranks = [array.ndim for array in kernel.arrays]
        self.array_needs_grad = [array.needs_grad and array.dtype.is_float for array in kernel.arrays]

    @cached_property
    def array_positions(self) -> dict[int, int]:
        """The position among array arguments by the number among all arguments of the kernel's function."""
        return array_positions(self.kernel)

    def argument_needs_grad(self, number: int) -> bool:
        """Whether an argument of the kernel's function is an array with a gradient."""
        position = self.array_positions.get(number)
        return position is not None and self.array_needs_grad[position]

    def with_gradients(self, positions: frozenset[int]) -> Variant:
        """The same kernel for arrays of which those at some positions have gradients too; its primal is this one's."""
        found = self._with_gradients.get(positions)
        if found is None or found.is_stale:
            found = self._with_gradients[positions] = Variant(with_gradients(self.kernel, positions), self.program, self.owners)
            found.primal = self
        return found

    def stages(self, mode: str) -> list[tuple[str, str]]:
        """The pipeline of a mode, stage by stage."""
        config = self.program.config
        return cpu_stages(reverse=mode.endswith("reverse"), tangents=tangents_of(mode),
                          constant=mode.startswith("constant"), threads=config.cpu_max_num_threads,
                          worth=config.thread_worth, fast_math=config.fast_math,
                          check_bounds=config.debug, check_access=mode.startswith("validation"),
                          check_finite="anomaly" in mode)

    def dump(self, stage: str, mode: str) -> str:
        """The module at a stage, as text. Raises ValueError for an unknown stage or mode."""
        names = [name for name, _ in self.stages(mode)]
        if mode not in MODES and _TANGENTS.fullmatch(mode) is None:
            raise ValueError(f"unknown mode '{mode}', expected one of {', '.join(MODES)}")
        if stage != "field" and stage not in names:
            raise ValueError(f"unknown stage '{stage}' of mode '{mode}', expected one of field, {', '.join(names)}")
        return str(self._at_stage(stage, mode).operation.get_asm(enable_debug_info=True))

    def ptx(self, mode: str, chip: str) -> str:
        """The kernel as PTX. Raises ValueError for an unknown mode, TaichiCompilationError for an unknown chip."""
        if mode not in MODES[:2]:
            raise ValueError(f"unknown mode '{mode}', expected one of {', '.join(MODES[:2])}")
        from mlirad.pipeline.ptx import to_ptx  # loads an LLVM of its own, which few programs need

        config = self.program.config
        stages = cuda_stages(reverse=mode == "reverse", fast_math=config.fast_math, check_bounds=config.debug)
        with context(), self.kernel.module.operation.location:
            module = copy_of(self.kernel.module)
            run_pipeline(module.operation, join(stages), observer=self._printer(mode))
            return to_ptx(module.operation, chip)

    def _at_stage(self, stage: str, mode: str) -> ir.Module:
        stages = self.stages(mode)
        names = [name for name, _ in stages]
        with context(), self.kernel.module.operation.location:
            module = copy_of(self.kernel.module)
            if stage != "field":
                run_pipeline(module.operation, join(stages[:names.index(stage) + 1]))
        return module

    def _lower(self, mode: str) -> _Lowered:
        stages = self.stages(mode)
        with context(), self.kernel.module.operation.location:
            module = copy_of(self.kernel.module)
            observer = self._printer(mode)
            run_pipeline(module.operation, join(stages[:-1]), observer=observer)
            attributes = module.operation.attributes
            messages = []
            if "field.messages" in attributes:
                messages = [ir.StringAttr(m).value for m in ir.ArrayAttr(attributes["field.messages"])]
            if mode == "reverse":
                self._footprints = read_footprints(module, self.kernel.name)
            parameters = parameters_of(module, self.kernel.name)
            run_pipeline(module.operation, join(stages[-1:]), observer=observer)
        return _Lowered(module, parameters, messages)

    def footprints(self) -> Footprints:
        """What a launch writes and what its reverse reads. Raises TaichiCompilationError where there is no reverse."""
        if self._footprints is None:
            self.code("reverse")
            assert self._footprints is not None
        return self._footprints

    def derivative(self, mode: str) -> Derivative:
        """The compiled reverse, which a later `refresh` leaves as it is. Raises TaichiCompilationError where there is none."""
        found = self._derivatives.get(mode)
        if found is None:
            code = self.code(mode)
            found = self._derivatives[mode] = Derivative(code, self.messages[mode], self.footprints(), tangents_of(mode))
        return found

    def _printer(self, mode: str) -> Callable[[str, ir.Operation], None] | None:
        if not self.program.config.print_ir:
            return None
        return lambda name, op: print(f"// {self.kernel.name} ({mode}) after {name}\n{op}")

    def code(self, mode: str) -> CompiledKernel:
        """The compiled code of a mode, made once."""
        found = self.compiled.get(mode)
        if found is None and mode == "primal" and self.primal is not None:
            found = self.compiled[mode] = self.primal.code(mode)
            self.messages[mode] = self.primal.messages[mode]
        if found is None:
            lowered = self._lower(mode)
            parallel = self.program.config.cpu_max_num_threads > 1
            with context():
                found = CompiledKernel(lowered.module, self.kernel.name, lowered.parameters, self._address,
                                       result_count=len(self.kernel.results), parallel=parallel,
                                       opt_level=self.program.config.opt_level)
            self.compiled[mode] = found
            self.messages[mode] = lowered.messages
        return found

    def _address(self, symbol: str) -> int:
        if symbol == "$errors":
            return self.program.errors.address
        if symbol.startswith(CHECK):
            return self.program.check_bits(symbol.removeprefix(CHECK)).address
        memory = self.program.fields.get(symbol)
        if memory is None:
            raise TaichiRuntimeError(f"kernel '{self.kernel.name}' uses field '{symbol}' of a destroyed tree")
        self.symbols.add(symbol)
        return memory.address

    def forget(self, symbol: str) -> None:
        """Drop compiled code where it holds the address of a field that is gone."""
        if symbol in self.symbols:
            self.discard()

    def discard(self) -> None:
        """Drop compiled code: it is not run again."""
        self.compiled, self._derivatives, self.is_stale = {}, {}, True
        for note in self.when_stale:
            note()

    def launch(self, mode: str, values: Sequence[Any]) -> None:
        """Run a mode. Raises TaichiAssertionError where an assertion or an index check of it failed."""
        code = self.code(mode)
        code.launch(values)
        if self.messages[mode]:
            self._raise_recorded(self.messages[mode])
        if self.kernel.results and mode != "primal" and not mode.endswith("reverse"):  # where `result` looks for them
            ctypes.memmove(self.code("primal").results, code.results, ctypes.sizeof(code.results))

    def reverse(self, derivative: Derivative, values: Sequence[Any]) -> None:
        """Run a reverse. Raises TaichiAssertionError where a check of it failed, TaichiRuntimeError where a field is gone."""
        if self.is_stale:
            raise TaichiRuntimeError(f"kernel '{self.kernel.name}' uses a field of a destroyed tree")
        derivative.code.launch(values)
        if derivative.messages:
            self._raise_recorded(derivative.messages)

    def explain(self) -> Explanation:
        """The reads that the reverse does again, with what becomes of them."""
        rows = []
        for part in self.parts():
            footprints = part.footprints()
            for need in footprints.needed:
                writes = [w.place for w in footprints.written if w.array == need.array]
                redone = need.array in footprints.redone
                rows.append(Row(str(need.array), need.place, writes[0] if redone and writes else "",
                                "redone" if redone else "safe", 0))
        return Explanation(rows)

    def flows(self) -> Flows:
        """Which arrays pass derivatives to which, and to results, also where there is no reverse."""
        if self._footprints is not None:
            return self._footprints.flows
        if self._flows is None:
            with context(), self.kernel.module.operation.location:
                module = copy_of(self.kernel.module)
                run_pipeline(module.operation, f"builtin.module({NORMALISE},mark-flows)")
            self._flows = read_flows(module)
        return self._flows

    def refresh(self) -> None:
        """Look again at which fields have gradients and duals; code for derivatives is compiled anew where one was added."""
        gradients, duals = self._gradients(), self._duals()
        if duals != self._declared_duals:
            self._declared_duals = duals
            self._forget_modes([mode for mode in self.compiled if tangents_of(mode)])
            for part in self._parts or ():
                if part is not self:
                    part.refresh()
        elif gradients == self._declared:
            return
        if gradients != self._declared:
            self._declared = gradients
            self._forget_modes([mode for mode in self.compiled if mode != "primal"])
            self._footprints = self._parts = None
        with context(), self.kernel.module.operation.location:
            for op in [op.operation for op in self.kernel.module.body.operations]:
                if op.name == "snode.root":
                    op.erase()
            with ir.InsertionPoint.at_block_begin(self.kernel.module.body):
                declare_trees(self.program, self.kernel.fields)

    def _forget_modes(self, modes: Sequence[str]) -> None:
        for mode in modes:
            self.compiled.pop(mode, None)
            self._derivatives.pop(mode, None)

    def _gradients(self) -> tuple[str | None, ...]:
        return tuple([self.program.adjoints.get(symbol) for symbol in self.kernel.fields])

    def _duals(self) -> tuple[tuple[str, ...] | None, ...]:
        names = [name for symbol in self.kernel.fields for name in (symbol, self.program.adjoints.get(symbol, ""))]
        return tuple([self.program.duals.get(name) for name in names])

    def parts(self) -> list[Variant]:
        """The launches a tape records for this kernel: itself, or its loops one by one (see `keep-launch`).

        Raises TaichiCompilationError where the kernel cannot be differentiated.
        """
        if self._parts is None:
            try:
                self.footprints()
                self._parts = [self]
            except SplitError as error:
                if self.kernel.results:
                    raise
                self._parts = self._split(error)
        return self._parts

    def _split(self, error: SplitError) -> list[Variant]:
        with context(), self.kernel.module.operation.location:
            normal = copy_of(self.kernel.module)
            run_pipeline(normal.operation, f"builtin.module({NORMALISE})")
            count = max(len(launches(function)) for function in functions(normal.operation))
            if count < 2:
                raise error
            parts = []
            for number in range(count):
                module = copy_of(normal)
                run_pipeline(module.operation, f"builtin.module(keep-launch{{number={number}}},canonicalize,cse)")
                part = Variant(replace(self.kernel, module=module), self.program, self.owners)
                part.footprints()
                parts.append(part)
        return parts

    def check_unwritten(self, values: Sequence[Any], addresses: dict[int, int]) -> None:
        """Raise TaichiRuntimeError where Python wrote to what the reverse reads, since the launch that it belongs to.

        That launch is the last one, where it had the same `values`; `addresses` are those of its arrays, by the number
        of the argument.
        """
        slots = self.compiled["primal"].values if "primal" in self.compiled else []
        written, since = self.program.written, self.launched_at
        if not any(at > since for at in written.values()) or \
                any(type(slot)(value).value != slot.value for slot, value in zip(slots, values)):
            return
        for footprint in self.footprints().needed:
            key = footprint.array if isinstance(footprint.array, str) else addresses[footprint.array]
            if written.get(key, 0) > since:
                name = f"'{key}'" if isinstance(key, str) else "an array argument"
                raise TaichiRuntimeError(f"{self.kernel.name}.grad(): {name}, read at {footprint.place} and needed by the "
                                         "gradient, was written from Python after the kernel was launched: launch it "
                                         "again, or use ti.ad.Tape, which keeps the values")

    def launch_reverse_alone(self, values: Sequence[Any]) -> None:
        """Run the reverse without a tape. Raises TaichiRuntimeError where it needs one to put memory back."""
        if self.footprints().redone:
            raise TaichiRuntimeError(f"{self.kernel.name}.grad(): {'; '.join(self.footprints().verdicts)}: "
                                     "use ti.ad.Tape, which keeps the values")
        self.reverse(self.derivative("reverse"), values)

    def _raise_recorded(self, messages: list[str]) -> None:
        record = self.program.errors.data.view(np.int64)
        number = int(record[0])
        if number == 0:
            return
        place, _, text = messages[number - 1].partition("\n")
        filled = _filled(text, [int(v) for v in record[1:]])
        record[:] = 0
        source = source_location(place)
        raise TaichiAssertionError(filled if source is None else located(filled, source))

    def result(self) -> Any:
        """What the last primal launch returned."""
        kernel = self.kernel
        if not kernel.results:
            return None
        memory = self.compiled["primal"].results
        values = [_read(memory, k, dtype) for k, dtype in enumerate(kernel.results)]
        if kernel.result_shape is not None:
            return Matrix.of_shape(kernel.result_shape, values)
        return tuple(values) if kernel.result_count is not None else values[0]


def tangents_of(mode: str) -> int:
    """How many tangents the code of a mode computes: 3 in "forward3" and "forward3-reverse"."""
    found = _TANGENTS.fullmatch(mode)
    return 0 if found is None else int(found.group(2) or 1)


def declare_trees(program: Program, symbols: Sequence[str]) -> None:
    """Add the layout trees of some fields, and of their derivatives, at the insertion point."""
    names = [name for symbol in symbols for name in (symbol, program.adjoints.get(symbol)) if name is not None]
    names += [dual for name in names for dual in program.duals.get(name, ())]
    wanted = dict.fromkeys(program.declarations[name]() for name in names)
    for text in wanted:
        ir.Operation.parse(text).clone()


def _filled(text: str, values: Sequence[int]) -> str:
    """The text with recorded words in its holes; a format that ends in a letter of C's for floats reads a double."""
    words = iter(values)

    def one(match: re.Match[str]) -> str:
        word, spec = next(words), match.group(1)
        if spec[-1:] in tuple("eEfFgG"):
            return format(struct.unpack("d", struct.pack("q", word))[0], spec)
        return str(word % (1 << 64) if spec.endswith("u") else word)

    return re.sub(r"\{([^}]*)\}", one, text).replace("\1", "{").replace("\2", "}")


def _read(memory: Any, position: int, dtype: DataType) -> Any:
    address = ctypes.addressof(memory) + 8 * position
    raw = ctypes.string_at(address, dtype.size)
    return np.frombuffer(raw, dtype.numpy)[0].item()


__all__ = ["MODES", "STAGES", "Variant", "tangents_of"]
