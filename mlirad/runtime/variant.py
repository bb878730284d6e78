"""One choice of argument types of a kernel: its IR at every stage, and its compiled code, primal
and derivative."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.field import is_array, is_load
from mlirad.dialect.snode import roots
from mlirad.dialect.turn import compiling, in_turn
from mlirad.errors import SourceLocation, SplitError, TaichiAssertionError, TaichiRuntimeError
from mlirad.ir.location import source_location
from mlirad.ir.signature import signature_of
from mlirad.ir.walk import accesses, functions
from mlirad.kernel.array_arguments import array_positions, copy_of, with_gradients
from mlirad.kernel.module import KernelModule
from mlirad.passes.derivative.keep_launch import launches
from mlirad.pipeline.mode import PRIMAL, REVERSE, Mode
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.cuda import cuda_stages
from mlirad.pipeline.stages.derivation import NORMALISE
from mlirad.pipeline.stages.stage import Stage, join
from mlirad.runtime.executor.executor import Code, Located, Lowered, PassedArray
from mlirad.runtime.explanation import Explanation, Row
from mlirad.runtime.footprints import Flows, Footprints, read_flows, read_footprints
from mlirad.runtime.poles import mark_infinite
from mlirad.runtime.program import Program

RECORDED = (
    sys.maxsize
)  # in place of when a variant was launched: by a tape, or its reverse ran since


@dataclass(frozen=True)
class Derivative:
    """The reverse of a kernel, for the gradients that fields had when it was asked for."""

    code: Code
    footprints: Footprints
    tangents: int  # that it computes too
    check: Code | None  # of what is not known while compiling


@dataclass
class _Lowered:
    kernel: Lowered
    may_collide: bool


class Variant:
    """A kernel for one choice of argument types and compile-time values."""

    def __init__(self, kernel: KernelModule, program: Program, owners: Sequence[Any]) -> None:
        self.kernel = kernel
        self.program = program
        self.owners = owners  # keeps compile-time values, whose identity is part of the key, alive
        self.compiled: dict[Mode, Code] = {}
        self._may_collide: dict[Mode, bool] = {}
        self.symbols: set[str] = set()
        self.is_stale = False  # a field it uses is gone
        self.when_stale: list[Callable[[], None]] = []
        program.compiled.add(self)
        self._footprints: Footprints | None = None
        self._parts: list[Variant] | None = None
        self.primal: Variant | None = None  # the variant whose primal code this one shares
        self._with_gradients: dict[frozenset[int], Variant] = {}
        self._derivatives: dict[Mode, Derivative] = {}
        self.launched_at = RECORDED  # the program's count of changes
        self.gradient_version = (
            -1
        )  # of the program, when the gradients of the kernel's fields were last looked at
        self._poles_version, self._infinite = -1, frozenset[str]()
        self._flows: Flows | None = None
        self._written_arrays: dict[int, SourceLocation | None] | None = None
        self._declared, self._declared_duals = self._gradients(), self._duals()
        self.array_needs_grad = [
            array.needs_grad and array.dtype.is_float for array in kernel.arrays
        ]

    @cached_property
    def array_positions(self) -> dict[int, int]:
        """The position among array arguments by the number among all arguments of the kernel's
        function."""
        with compiling:
            return array_positions(self.kernel)

    def argument_needs_grad(self, number: int) -> bool:
        """Whether an argument of the kernel's function is an array with a gradient."""
        position = self.array_positions.get(number)
        return position is not None and self.array_needs_grad[position]

    def with_gradients(self, positions: frozenset[int]) -> Variant:
        """The same kernel for arrays of which those at some positions have gradients too; its
        primal is this one's."""
        found = self._with_gradients.get(positions)
        if found is None or found.is_stale:
            found = self._with_gradients[positions] = Variant(
                with_gradients(self.kernel, positions), self.program, self.owners
            )
            found.primal = self
        return found

    def written_arrays(self) -> dict[int, SourceLocation | None]:
        """The array arguments that a launch writes to, by their position among these, and where."""
        found = self._written_arrays
        return found if found is not None else self._find_written_arrays()

    @in_turn
    def _find_written_arrays(self) -> dict[int, SourceLocation | None]:
        function = functions(self.kernel.module.operation)[0]
        arrays = [
            value for value in function.regions[0].blocks[0].arguments if is_array(value.type)
        ]
        found: dict[int, SourceLocation | None] = {}
        for op, array, _ in accesses(function):
            if not is_load(op) and array in arrays:
                found.setdefault(arrays.index(array), source_location(op.location))
        self._written_arrays = found
        return found

    def stages(self, mode: Mode) -> list[Stage]:
        """The pipeline of a mode, stage by stage."""
        return self.program.executor.stages(mode, self.program.config)

    @in_turn
    def dump(self, stage: str, mode: Mode) -> str:
        """The module at a stage, as text. Raises ValueError for an unknown stage."""
        names = [stage.name for stage in self.stages(mode)]
        if stage != "field" and stage not in names:
            raise ValueError(
                f"unknown stage '{stage}' of mode '{mode}', expected one of field, "
                f"{', '.join(names)}"
            )
        return str(self._at_stage(stage, mode).operation.get_asm(enable_debug_info=True))

    @in_turn
    def ptx(self, mode: Mode, chip: str) -> str:
        """The kernel as PTX. Raises ValueError for an unknown mode, TaichiCompilationError for an
        unknown chip."""
        if mode not in (PRIMAL, REVERSE):
            raise ValueError(f"unknown mode '{mode}', expected one of {PRIMAL}, {REVERSE}")
        from mlirad.pipeline.ptx import to_ptx  # loads an LLVM of its own, which few programs need

        config = self.program.config
        stages = cuda_stages(mode, fast_math=config.fast_math, check_bounds=config.debug)
        with context(), self.kernel.module.operation.location:
            module = copy_of(self.kernel.module)
            run_pipeline(module.operation, join(stages), observer=self._printer(mode))
            return to_ptx(module.operation, chip)

    def _at_stage(self, stage: str, mode: Mode) -> ir.Module:
        stages = self.stages(mode)
        names = [stage.name for stage in stages]
        with context(), self.kernel.module.operation.location:
            module = copy_of(self.kernel.module)
            if stage != "field":
                run_pipeline(module.operation, join(stages[: names.index(stage) + 1]))
        return module

    def _lower(self, mode: Mode) -> _Lowered:
        stages = self.stages(mode)
        with context(), self.kernel.module.operation.location:
            module = copy_of(self.kernel.module)
            if mode.is_reverse:
                mark_infinite(module.operation, self._infinite)
            observer = self._printer(mode)
            run_pipeline(module.operation, join(stages[:-1]), observer=observer)
            self.program.poles.note(module.operation)
            attributes = module.operation.attributes
            messages = []
            if "field.messages" in attributes:
                messages = [
                    ir.StringAttr(m).value for m in ir.ArrayAttr(attributes["field.messages"])
                ]
            if mode == REVERSE:
                self._footprints = read_footprints(module, self.kernel.name)
            signature = signature_of(module.operation, self.kernel.name)
            may_collide = any(
                "grad.collisions" in function.attributes for function in functions(module.operation)
            )
            run_pipeline(module.operation, join(stages[-1:]), observer=observer)
        checks = mode.is_check
        failure = TaichiRuntimeError if checks else TaichiAssertionError
        name, results = self.kernel.name, self.kernel.results
        kernel = Lowered(module, name, signature, results, messages, failure)
        return _Lowered(kernel, may_collide)

    def footprints(self) -> Footprints:
        """What a launch writes and what its reverse reads. Raises TaichiCompilationError where
        there is no reverse."""
        found = self._footprints
        return found if found is not None else self._find_footprints()

    @in_turn
    def _find_footprints(self) -> Footprints:
        if self._footprints is None:
            self.code(REVERSE)
            assert self._footprints is not None
        return self._footprints

    def derivative(self, mode: Mode) -> Derivative:
        """The compiled reverse, which a later `refresh` leaves as it is. Raises
        TaichiCompilationError where there is none."""
        if self._poles_version != self.program.poles.version:
            self._look_at_poles()
        found = self._derivatives.get(mode)
        return found if found is not None else self._find_derivative(mode)

    @in_turn
    def _look_at_poles(self) -> None:
        """Compile reverses anew where a field that the kernel reads has come to hold infinities."""
        self._poles_version = self.program.poles.version
        infinite = self.program.poles.among(self.kernel.fields)
        if infinite != self._infinite:
            self._infinite = infinite
            self._forget_modes([mode for mode in self.compiled if mode.is_reverse])

    @in_turn
    def _find_derivative(self, mode: Mode) -> Derivative:
        found = Derivative(
            self.code(mode), self.footprints(), mode.tangents, self.collision_check(mode)
        )
        return self._derivatives.setdefault(mode, found)

    def _printer(self, mode: Mode) -> Callable[[str, ir.Operation], None] | None:
        if not self.program.config.print_ir:
            return None
        return lambda name, op: print(f"// {self.kernel.name} ({mode}) after {name}\n{op}")

    def code(self, mode: Mode) -> Code:
        """The compiled code of a mode, made once."""
        found = self.compiled.get(mode)
        return found if found is not None else self._compile(mode)

    @in_turn
    def _compile(self, mode: Mode) -> Code:
        found = self.compiled.get(mode)
        if found is None and mode == PRIMAL and self.primal is not None:
            found = self.compiled[mode] = self.primal.code(mode)
        if found is None:
            lowered = self._lower(mode)
            with context():
                found = self.program.executor.compile(lowered.kernel, self, self.program.config)
            self.compiled[mode] = found
            self._may_collide[mode] = lowered.may_collide
        return found

    @in_turn
    def collision_check(self, mode: Mode) -> Code | None:
        """What has to run before a derivative's mode, where iterations may meet as far as is known
        while compiling."""
        self.code(mode)
        if not self._may_collide[mode]:
            return None
        return self.code(mode.collisions)

    def field(self, symbol: str) -> Located:
        """The memory of a field of the kernel."""
        memory = self.program.fields.get(symbol)
        if memory is None:
            raise TaichiRuntimeError(
                f"kernel '{self.kernel.name}' uses field '{symbol}' of a destroyed tree"
            )
        self.symbols.add(symbol)
        return memory

    def check_bits(self, symbol: str) -> Located:
        """A byte for each element of a field, of the calling thread."""
        return self.program.check_bits(symbol)

    def forget(self, symbol: str) -> None:
        """Drop compiled code where it holds the address of a field that is gone."""
        if symbol in self.symbols:
            self.discard()

    def discard(self) -> None:
        """Drop compiled code: it is not run again."""
        self.compiled, self._derivatives, self.is_stale = {}, {}, True
        for note in self.when_stale:
            note()

    def launch(self, mode: Mode, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> Any:
        """Run a mode; what the kernel returns. Raises TaichiAssertionError where an assertion or an
        index check failed."""
        return self.code(mode).launch(values, arrays)

    def reverse(
        self,
        derivative: Derivative,
        values: Sequence[Any],
        arrays: Sequence[PassedArray] = (),
    ) -> None:
        """Run a reverse. Raises TaichiAssertionError where a check of it failed, TaichiRuntimeError
        where a field is gone."""
        if self.is_stale:
            raise TaichiRuntimeError(
                f"kernel '{self.kernel.name}' uses a field of a destroyed tree"
            )
        derivative.code.launch(values, arrays)

    def check(
        self, check: Code | None, values: Sequence[Any], arrays: Sequence[PassedArray] = ()
    ) -> None:
        """Run a check, where there is one. Raises TaichiRuntimeError where two iterations meet in
        an element."""
        if check is not None:
            check.launch(values, arrays)

    def explain(self) -> Explanation:
        """The reads that the reverse does again, with what becomes of them."""
        rows = []
        for part in self.parts():
            footprints = part.footprints()
            for need in footprints.needed:
                writes = [w.place for w in footprints.written if w.array == need.array]
                redone = need.array in footprints.redone
                rows.append(
                    Row(
                        str(need.array),
                        need.place,
                        writes[0] if redone and writes else "",
                        "redone" if redone else "safe",
                        0,
                    )
                )
        return Explanation(rows)

    def flows(self) -> Flows:
        """Which arrays pass derivatives to which, and to results, also where there is no
        reverse."""
        footprints = self._footprints
        if footprints is not None:
            return footprints.flows
        return self._flows if self._flows is not None else self._find_flows()

    @in_turn
    def _find_flows(self) -> Flows:
        if self._flows is None:
            with context(), self.kernel.module.operation.location:
                module = copy_of(self.kernel.module)
                run_pipeline(module.operation, f"builtin.module({NORMALISE},mark-flows)")
            self._flows = read_flows(module)
        return self._flows

    @in_turn
    def refresh(self) -> None:
        """Look again at which fields have gradients and duals; code for derivatives is compiled
        anew where one was added."""
        gradients, duals = self._gradients(), self._duals()
        if duals != self._declared_duals:
            self._declared_duals = duals
            self._forget_modes([mode for mode in self.compiled if mode.tangents])
            for part in self._parts or ():
                if part is not self:
                    part.refresh()
        elif gradients == self._declared:
            return
        if gradients != self._declared:
            self._declared = gradients
            self._forget_modes([mode for mode in self.compiled if mode != PRIMAL])
            self._footprints = self._parts = None
        with context(), self.kernel.module.operation.location:
            for tree in roots(self.kernel.module.operation):
                tree.erase()
            with ir.InsertionPoint.at_block_begin(self.kernel.module.body):
                declare_trees(self.program, self.kernel.fields)

    def _forget_modes(self, modes: Sequence[Mode]) -> None:
        for mode in modes:
            self.compiled.pop(mode, None)
            self._derivatives.pop(mode, None)

    def _gradients(self) -> tuple[str | None, ...]:
        return tuple([self.program.adjoints.get(symbol) for symbol in self.kernel.fields])

    def _duals(self) -> tuple[tuple[str, ...] | None, ...]:
        names = [
            name
            for symbol in self.kernel.fields
            for name in (symbol, self.program.adjoints.get(symbol, ""))
        ]
        return tuple([self.program.duals.get(name) for name in names])

    def parts(self) -> list[Variant]:
        """The launches a tape records for this kernel: itself, or its loops one by one (see
        `keep-launch`).

        Raises TaichiCompilationError where the kernel cannot be differentiated.
        """
        found = self._parts
        return found if found is not None else self._find_parts()

    @in_turn
    def _find_parts(self) -> list[Variant]:
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
                run_pipeline(
                    module.operation,
                    f"builtin.module(keep-launch{{number={number}}},canonicalize,cse)",
                )
                part = Variant(replace(self.kernel, module=module), self.program, self.owners)
                part.footprints()
                parts.append(part)
        return parts

    def check_unwritten(self, values: Sequence[Any], arrays: Sequence[PassedArray]) -> None:
        """Raise TaichiRuntimeError where Python wrote to what the reverse reads, since the launch
        that it belongs to.

        That launch is the last one, where it had the same arguments.
        """
        written, since, code = self.program.written, self.launched_at, self.compiled.get(PRIMAL)
        if not any(at > since for at in list(written.values())) or (
            code is not None and not code.ran_last_with(values, arrays)
        ):
            return
        for footprint in self.footprints().needed:
            key = footprint.array
            if isinstance(key, int):
                key = arrays[self.array_positions[key]].address
            if written.get(key, 0) > since:
                name = f"'{key}'" if isinstance(key, str) else "an array argument"
                raise TaichiRuntimeError(
                    f"{self.kernel.name}.grad(): {name}, read at {footprint.place} and needed by "
                    f"the "
                    "gradient, was written from Python after the kernel was launched: launch it "
                    "again, or use ti.ad.Tape, which keeps the values"
                )

    def launch_reverse_alone(self, values: Sequence[Any], arrays: Sequence[PassedArray]) -> None:
        """Run the reverse without a tape. Raises TaichiRuntimeError where it needs one to put
        memory back."""
        if self.footprints().redone:
            raise TaichiRuntimeError(
                f"{self.kernel.name}.grad(): {'; '.join(self.footprints().verdicts)}: "
                "use ti.ad.Tape, which keeps the values"
            )
        derivative = self.derivative(REVERSE)
        self.check(derivative.check, values, arrays)
        self.reverse(derivative, values, arrays)


def declare_trees(program: Program, symbols: Sequence[str]) -> None:
    """Add the layout trees of some fields, and of their derivatives, at the insertion point."""
    names = [
        name
        for symbol in symbols
        for name in (symbol, program.adjoints.get(symbol))
        if name is not None
    ]
    names += [dual for name in names for dual in program.duals.get(name, ())]
    for declare in dict.fromkeys(program.declarations[name] for name in names):
        declare()
