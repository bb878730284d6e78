"""The IR of a kernel at every stage of its pipelines."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.snode import places, roots
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiAssertionError, TaichiRuntimeError
from mlirad.ir.assembly import shorten
from mlirad.ir.marks.declarations import declarations
from mlirad.ir.reports.message import MESSAGES, WARNINGS, Message, read_message
from mlirad.ir.reports.module_text import TextForm, module_text
from mlirad.ir.reports.remarks import shown_place, take_remarks
from mlirad.ir.signature import signature_of
from mlirad.ir.walk import functions
from mlirad.kernel.array_arguments import copy_of, shared_arrays
from mlirad.kernel.module import KernelModule, OwnArray
from mlirad.pipeline.mode import REVERSE, Kind, Mode
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.derivation import MARKED, NORMALISE, NORMALISE_REVERSE
from mlirad.pipeline.stages.gpu import cuda_stages, rocm_stages
from mlirad.pipeline.stages.stage import Stage, behind, join, up_to
from mlirad.runtime.executor.executor import NOT_KEPT, KeptCode, LoweredKernel
from mlirad.runtime.kernels.kept_notes import KeptNotes, NotesSlot
from mlirad.runtime.memory.deferred_writes import read_row_notes
from mlirad.runtime.poles import mark_infinite
from mlirad.runtime.profile import LoopTimes
from mlirad.runtime.program import Program

GpuStages = Callable[..., list[Stage]]
GpuWriter = Callable[[ir.Operation, str], str]  # of a module, for a chip
_KEEP = "builtin.module(keep-launch{{number={number}}},canonicalize,cse)"


class LoweredMode(msgspec.Struct, frozen=True):
    """A mode of a kernel before it is compiled."""

    kernel: LoweredKernel
    may_collide: bool  # iterations, as far as is known while compiling
    own_arrays: Sequence[OwnArray] = ()
    times: LoopTimes | None = None  # of a program whose launches are timed


class KernelIR:
    """A kernel's module, and what the stages make of it."""

    def __init__(self, kernel: KernelModule, program: Program) -> None:
        self.kernel, self.program = kernel, program
        self.infinite = frozenset[str]()
        self._marked: ir.Module | None = None
        self._marked_notes: ir.Module | None = None
        self._kept = KeptNotes(kernel, program.cache)
        self.given = GivenKernels(self)

    def stages(self, mode: Mode) -> list[Stage]:
        """The pipeline of a mode, stage by stage."""
        current, keeps = self.program, self.kernel.is_reverse
        return current.executor.stages(mode, current.config, keeps=keeps)

    @in_turn
    def dump(self, stage: str, mode: Mode, form: TextForm) -> str:
        """Return the module at a stage, as text. Raises ValueError for an unknown stage."""
        stages = self.stages(mode)
        names = ["field", *(stage.name for stage in stages)]
        if stage not in names:
            raise ValueError(
                f"unknown stage '{stage}' of mode '{mode}', expected one of {', '.join(names)}"
            )
        with context(), self.kernel.module.operation.location:
            module = self._copy_behind(join(stages[: names.index(stage)]))
            return module_text(module.operation, form)

    @in_turn
    def remarks(self, mode: Mode) -> list[str]:
        """Return the remarks of the passes of a mode on their choices, with the source lines."""
        with context(), self.kernel.module.operation.location:
            module = self._copy_behind(join(self.stages(mode)[:-1]))
            return [
                f"{shown_place(op)}: {mode}: {text}" for op, text in take_remarks(module.operation)
            ]

    @in_turn
    def ptx(self, mode: Mode, chip: str) -> str:
        """The kernel as PTX. Raises TaichiCompilationError for an unknown chip."""
        from mlirad.pipeline.ptx import to_ptx  # loads an LLVM of its own, which few programs need

        return self._for_gpu(cuda_stages, to_ptx, mode, chip)

    @in_turn
    def amdgpu(self, mode: Mode, chip: str) -> str:
        """The kernel as assembly. Raises TaichiCompilationError for an unknown chip."""
        from mlirad.pipeline.amdgpu import to_amdgpu

        return self._for_gpu(rocm_stages, to_amdgpu, mode, chip)

    def _for_gpu(self, stages: GpuStages, write: GpuWriter, mode: Mode, chip: str) -> str:
        config = self.program.config
        with context(), self.kernel.module.operation.location:
            module = copy_of(self.kernel.module)
            flags = {"fast_math": config.fast_math, "check_bounds": config.debug}
            self._run(module, stages(mode, **flags), mode)
            return write(module.operation, chip)

    # On the way to code.

    def lower(self, mode: Mode) -> LoweredMode:
        """A mode at the last stage. Raises TaichiCompilationError if a pass refuses it."""
        stages, config = self.stages(mode), self.program.config
        options = (str(mode), config.arch, str(config.opt_level), *self._assumed_fields(mode))
        slot = self._kept.slot(join(stages), *options)
        early: ir.Module | None = None
        is_timed = _has_timed_loops(self.kernel.module, self.program)
        with context(), self.kernel.module.operation.location:
            if slot.found is None or is_timed:
                early = self._before_last(mode, stages)
                notes = declarations(early)
            else:
                notes = ir.Module.parse(slot.text(0))
            if mode.is_reverse:
                self.marked_notes()
            else:
                self.program.poles.note(notes.operation)
            _warn(_messages(notes, WARNINGS))
            times = _time_loops(early) if early is not None and is_timed else None

        def finish() -> ir.Module:
            with context(), self.kernel.module.operation.location:
                module = self._before_last(mode, stages) if early is None else early
                self._run(module, stages[-1:], mode)
            return module

        def keep(code: bytes) -> None:
            slot.keep([str(notes)], code)

        code = _kept_code(slot, keep) if times is None else NOT_KEPT
        may_collide = any("grad.collisions" in op.attributes for op in notes.body.operations)
        lowered = _lowered_kernel(self.kernel, notes, mode, finish, code)
        return LoweredMode(lowered, may_collide, self.kernel.own_arrays, times)

    def _before_last(self, mode: Mode, stages: Sequence[Stage]) -> ir.Module:
        """The module of a mode that waits for its last stage."""
        start = self.kernel.module
        if mode.is_reverse:
            start, stages = self.marked_module(), behind(MARKED, stages)
        module = copy_of(start)
        self._run(module, stages[:-1], mode)
        return module

    def marked_module(self) -> ir.Module:
        """The stage that all reverses start from, which knows what they read and what is written.

        Raises TaichiCompilationError if there is no reverse.
        """
        if self._marked is None:
            with context(), self.kernel.module.operation.location:
                module = copy_of(self.kernel.module)
                mark_infinite(module.operation, self.infinite)
                self._run(module, up_to(MARKED, self.stages(REVERSE)), REVERSE)
            self._marked = module
        return self._marked

    def marked_notes(self) -> ir.Module:
        """Return the module with the marks that notes are read from. Raises TaichiCompilationError
        if there is no reverse."""
        if self._marked_notes is None:
            texts = join(up_to(MARKED, self.stages(REVERSE))), *self._assumed_fields(REVERSE)
            with context(), self.kernel.module.operation.location:
                self._marked_notes = self._kept.notes(texts, self.marked_module)
            self.program.poles.note(self._marked_notes.operation)
        return self._marked_notes

    def with_notes(self, mark: str) -> ir.Module:
        """The notes of one pass, which there are also where there is no reverse."""
        text = f"builtin.module({NORMALISE},{mark})"
        with context(), self.kernel.module.operation.location:
            return self._kept.notes((text,), lambda: self._copy_behind(text))

    def pieces(self, *, are_known: bool = False) -> list[KernelModule]:
        """The loops of the kernel one by one (see `keep-launch`); nothing if they have to be
        `known` and are not, or where the kernel was given derivatives."""
        if self.kernel.derivatives is not None:
            return []
        texts = NORMALISE_REVERSE, _KEEP.format(number="each"), *self._assumed_fields(REVERSE)
        with context(), self.kernel.module.operation.location:
            modules = self._kept.modules(texts, None if are_known else self._make_pieces) or []
            return [
                _piece_of(self.kernel, module, is_last=module is modules[-1]) for module in modules
            ]

    def _make_pieces(self) -> list[ir.Module]:
        from mlirad.passes.derivative.keep_launch import cut

        normal = self._copy_behind(f"builtin.module({NORMALISE_REVERSE})")
        pieces = []
        for number in range(max(len(cut(function)) for function in functions(normal.operation))):
            pieces.append(copy_of(normal))
            run_pipeline(pieces[-1].operation, _KEEP.format(number=number))
        return pieces

    def _assumed_fields(self, mode: Mode) -> list[str]:
        """The fields that a mode is made for as if they held infinities."""
        return [
            f"@{name}" for name in self.kernel.fields if name in self.infinite and mode.is_reverse
        ]

    # What changes.

    def assume_infinite(self, symbols: frozenset[str]) -> bool:
        """Have reverses made for fields that may hold infinities; whether that is new.

        Of the marks, only those of poles depend on these fields.
        """
        if symbols == self.infinite:
            return False
        self.infinite, self._marked_notes = symbols, None
        if self._marked is not None:
            with context():
                mark_infinite(self._marked.operation, symbols)
                run_pipeline(self._marked.operation, "builtin.module(mark-poles)")
        return True

    def declare_trees_anew(self) -> None:
        """Look again at what derivatives the kernel's fields have."""
        self._marked = self._marked_notes = None
        self.given.forget()
        self._kept.forget()
        with context(), self.kernel.module.operation.location:
            for tree in roots(self.kernel.module.operation):
                tree.erase()
            with ir.InsertionPoint(self.kernel.module.body):
                declare_trees(self.program, self.kernel.fields, self.kernel.apart)
            move_adjoints(self.kernel.module.operation, self.program, self.kernel.apart)

    def _copy_behind(self, pipeline: str) -> ir.Module:
        """Return a copy of the kernel's module that went through a pipeline. Needs a location."""
        module = copy_of(self.kernel.module)
        run_pipeline(module.operation, pipeline)
        return module

    def _run(self, module: ir.Module, stages: Sequence[Stage], mode: Mode) -> None:
        run_pipeline(module.operation, join(stages), observer=self._printer(mode))

    def _printer(self, mode: Mode) -> Callable[[str, ir.Operation], None] | None:
        if not self.program.config.print_ir:
            return None
        return lambda name, op: _print_module(f"{self.kernel.name} ({mode}) after {name}", op)


def _print_module(heading: str, op: ir.Operation) -> None:
    print(f"// {heading}\n{shorten(str(op))}")


def _piece_of(kernel: KernelModule, module: ir.Module, *, is_last: bool) -> KernelModule:
    """A part of a kernel, which is passed what parts share; the last one returns."""
    shared = shared_arrays(functions(module.operation)[0])
    piece = replace(kernel, module=module, arrays=(*kernel.arrays, *shared), shared=len(shared))
    return piece if is_last else replace(piece, results=(), result_form=None)


class GivenKernels:
    """The derivatives that a kernel was given, as kernels."""

    def __init__(self, stages: KernelIR) -> None:
        self._stages = stages
        self._known: dict[Mode, KernelIR] = {}

    @in_turn
    def resolve(self, mode: Mode) -> tuple[KernelIR, Mode]:
        """Return the kernel that computes a mode, and its own mode: this kernel, if no other was
        set."""
        stages, derivatives = self._stages, self._stages.kernel.derivatives
        if derivatives is None or not (mode.is_reverse or mode.tangents) or mode.is_check:
            return stages, mode
        key = Mode(mode.kind, mode.tangents, mode.is_constant)
        if key not in self._known:
            kernel = derivatives.derive(
                stages.kernel,
                mode.tangents,
                is_reverse=mode.is_reverse,
                is_constant=mode.is_constant,
            )
            self._known[key] = KernelIR(kernel, stages.program)
        return self._known[key], Mode(Kind.PRIMAL, checks=mode.checks)

    def forget(self) -> None:
        """Forget the code, because the derivatives of the kernel's fields have changed."""
        self._known = {}


def _lowered_kernel(
    kernel: KernelModule,
    notes: ir.Module,
    mode: Mode,
    finish: Callable[[], ir.Module],
    code: KeptCode,
) -> LoweredKernel:
    return LoweredKernel(
        finish,
        kernel.name,
        signature_of(notes.operation, kernel.name),
        kernel.results,
        _messages(notes, MESSAGES),
        TaichiRuntimeError if mode.is_check else TaichiAssertionError,
        code,
        read_row_notes(notes),
        f"{kernel.name}{mode.suffix}",
    )


def _kept_code(slot: NotesSlot, keep: Callable[[bytes], None]) -> KeptCode:
    """The code that a slot of the cache has, or will."""
    binary = None if slot.found is None else slot.found[1]
    return KeptCode(binary, keep if slot.is_on else None)


def _has_timed_loops(module: ir.Module, program: Program) -> bool:
    """Return whether a program asks for the times of loops that a kernel names."""
    if program.profile is None or not program.executor.is_synchronous:
        return False
    from mlirad.runtime.kernels.loop_clocks import has_named_loops  # which few programs need

    return has_named_loops(module)


def _time_loops(module: ir.Module) -> LoopTimes:
    """Have a module that waits for its last stage time its loops."""
    from mlirad.runtime.kernels.loop_clocks import insert_loop_clocks  # which few programs need

    return insert_loop_clocks(module.operation)


def _messages(module: ir.Module, name: str) -> list[Message]:
    attributes = module.operation.attributes
    if name not in attributes:
        return []
    return [read_message(entry) for entry in ir.ArrayAttr(attributes[name])]


def _warn(messages: Sequence[Message]) -> None:
    """Warn of lines of the program, once of each; Python shows it below its message."""
    lines = {
        (message.text, message.place and (message.place.file, message.place.line)): message
        for message in messages
    }
    for message in lines.values():
        if message.place is None:
            warnings.warn(message.text, stacklevel=2)
        else:
            warnings.warn_explicit(
                message.text, UserWarning, message.place.file, message.place.line
            )


def declare_trees(
    program: Program, symbols: Sequence[str], outer: frozenset[str] = frozenset()
) -> None:
    """Add the layout trees of some fields, and of their derivatives, at the insertion point; the
    adjoints of some lie `apart` from their gradients."""
    names = [
        name
        for symbol in _with_companions(program, symbols)
        for name in (symbol, program.derivatives.adjoint_of(symbol, outer))
        if name is not None
    ]
    names += [dual for name in names for dual in program.derivatives.duals.get(name, ())]
    for declare in dict.fromkeys(program.trees.declarations[name] for name in names):
        declare()


def move_adjoints(module: ir.Operation, program: Program, moved: frozenset[str]) -> None:
    """Have the adjoints of some fields lie apart from their gradients, if there are any: forward
    mode needs none."""
    for place in places(module) if moved else ():
        symbol = ir.StringAttr(place.attributes["sym_name"]).value
        outer = program.derivatives.outers.get(symbol) if symbol in moved else None
        if outer is not None:
            place.attributes["adjoint"] = ir.FlatSymbolRefAttr.get(outer)
        elif symbol in moved and "adjoint" in place.attributes:
            del place.attributes["adjoint"]


def _with_companions(program: Program, symbols: Sequence[str]) -> list[str]:
    """Add the activities of the trees of some fields, and the fields of activities."""
    names = dict.fromkeys(symbols)
    waiting = list(names)
    while waiting:
        new = [n for n in program.trees.companions.get(waiting.pop(), []) if n not in names]
        names.update(dict.fromkeys(new))
        waiting += new
    return list(names)
