"""The IR of a kernel at every stage of its pipelines."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.snode import roots
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiAssertionError, TaichiRuntimeError
from mlirad.ir.message import Message, read_message
from mlirad.ir.signature import signature_of
from mlirad.ir.walk import functions
from mlirad.kernel.array_arguments import copy_of
from mlirad.kernel.module import KernelModule
from mlirad.passes.checks.report_races import RACES
from mlirad.passes.derivative.keep_launch import launches
from mlirad.passes.memory.lower_field_assert import MESSAGES
from mlirad.pipeline.mode import REVERSE, Mode
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.derivation import MARKED, NORMALISE
from mlirad.pipeline.stages.gpu import cuda_stages
from mlirad.pipeline.stages.stage import Stage, behind, join, up_to
from mlirad.runtime.executor.executor import Lowered
from mlirad.runtime.poles import mark_infinite
from mlirad.runtime.program import Program


@dataclass(frozen=True)
class LoweredMode:
    """A mode of a kernel before it is compiled."""

    kernel: Lowered
    may_collide: bool  # iterations, as far as is known while compiling


class KernelIR:
    """A kernel's module, and what the stages make of it."""

    def __init__(self, kernel: KernelModule, program: Program) -> None:
        self.kernel, self.program = kernel, program
        self._infinite = frozenset[str]()
        self._marked: ir.Module | None = None

    def stages(self, mode: Mode) -> list[Stage]:
        """The pipeline of a mode, stage by stage."""
        return self.program.executor.stages(mode, self.program.config)

    @in_turn
    def dump(self, stage: str, mode: Mode) -> str:
        """The module at a stage, as text. Raises ValueError for an unknown stage."""
        stages = self.stages(mode)
        names = ["field", *(stage.name for stage in stages)]
        if stage not in names:
            raise ValueError(
                f"unknown stage '{stage}' of mode '{mode}', expected one of {', '.join(names)}"
            )
        with context(), self.kernel.module.operation.location:
            module = copy_of(self.kernel.module)
            run_pipeline(module.operation, join(stages[: names.index(stage)]))
            return str(module.operation.get_asm(enable_debug_info=True))

    @in_turn
    def ptx(self, mode: Mode, chip: str) -> str:
        """The kernel as PTX. Raises TaichiCompilationError for an unknown chip."""
        from mlirad.pipeline.ptx import to_ptx  # loads an LLVM of its own, which few programs need

        config = self.program.config
        stages = cuda_stages(mode, fast_math=config.fast_math, check_bounds=config.debug)
        with context(), self.kernel.module.operation.location:
            module = copy_of(self.kernel.module)
            run_pipeline(module.operation, join(stages), observer=self._printer(mode))
            return to_ptx(module.operation, chip)

    # On the way to code.

    def lower(self, mode: Mode) -> LoweredMode:
        """A mode at the last stage. Raises TaichiCompilationError where a pass refuses the
        kernel."""
        stages = self.stages(mode)
        start = self.kernel.module
        if mode.is_reverse:
            start, stages = self.marked(), behind(MARKED, stages)
        with context(), self.kernel.module.operation.location:
            module = copy_of(start)
            self._run(module, stages[:-1], mode)
            if not mode.is_reverse:
                self.program.poles.note(module.operation)
            messages = _messages(module, MESSAGES)
            _warn(_messages(module, RACES))
            signature = signature_of(module.operation, self.kernel.name)
            may_collide = any(
                "grad.collisions" in f.attributes for f in functions(module.operation)
            )
            self._run(module, stages[-1:], mode)
        failure = TaichiRuntimeError if mode.is_check else TaichiAssertionError
        name, results = self.kernel.name, self.kernel.results
        return LoweredMode(
            Lowered(module, name, signature, results, messages, failure), may_collide
        )

    def marked(self) -> ir.Module:
        """The stage that all reverses start from, which knows what they read and what is written.

        Raises TaichiCompilationError where there is no reverse.
        """
        if self._marked is None:
            stages = self.stages(REVERSE)
            with context(), self.kernel.module.operation.location:
                module = copy_of(self.kernel.module)
                mark_infinite(module.operation, self._infinite)
                self._run(module, up_to(MARKED, stages), REVERSE)
                self.program.poles.note(module.operation)
            self._marked = module
        return self._marked

    def with_notes(self, mark: str) -> ir.Module:
        """The module with the notes of one pass, which there are also where there is no reverse."""
        with context(), self.kernel.module.operation.location:
            module = copy_of(self.kernel.module)
            run_pipeline(module.operation, f"builtin.module({NORMALISE},{mark})")
        return module

    def pieces(self) -> list[KernelModule]:
        """The loops of the kernel one by one (see `keep-launch`)."""
        with context(), self.kernel.module.operation.location:
            normal = copy_of(self.kernel.module)
            run_pipeline(normal.operation, f"builtin.module({NORMALISE})")
            count = max(len(launches(function)) for function in functions(normal.operation))
            found = []
            for number in range(count):
                module = copy_of(normal)
                text = f"builtin.module(keep-launch{{number={number}}},canonicalize,cse)"
                run_pipeline(module.operation, text)
                found.append(replace(self.kernel, module=module))
        return found

    # What changes.

    def assume_infinite(self, symbols: frozenset[str]) -> bool:
        """Have reverses made for fields that may hold infinities; whether that is new."""
        if symbols == self._infinite:
            return False
        self._infinite, self._marked = symbols, None
        return True

    def declare_trees_anew(self) -> None:
        """Look again at what derivatives the kernel's fields have."""
        self._marked = None
        body = self.kernel.module.body
        with context(), self.kernel.module.operation.location:
            for tree in roots(self.kernel.module.operation):
                tree.erase()
            with ir.InsertionPoint.at_block_begin(body):
                declare_trees(self.program, self.kernel.fields)

    def _run(self, module: ir.Module, stages: Sequence[Stage], mode: Mode) -> None:
        run_pipeline(module.operation, join(stages), observer=self._printer(mode))

    def _printer(self, mode: Mode) -> Callable[[str, ir.Operation], None] | None:
        if not self.program.config.print_ir:
            return None
        return lambda name, op: print(f"// {self.kernel.name} ({mode}) after {name}\n{op}")


def _messages(module: ir.Module, name: str) -> list[Message]:
    attributes = module.operation.attributes
    if name not in attributes:
        return []
    return [read_message(one) for one in ir.ArrayAttr(attributes[name])]


def _warn(messages: Sequence[Message]) -> None:
    """Warn of lines of the program; Python shows each below its message."""
    for one in messages:
        if one.place is None:
            warnings.warn(one.text, stacklevel=2)
        else:
            warnings.warn_explicit(one.text, UserWarning, one.place.file, one.place.line)


def declare_trees(program: Program, symbols: Sequence[str]) -> None:
    """Add the layout trees of some fields, and of their derivatives, at the insertion point."""
    names = [
        name
        for symbol in _with_companions(program, symbols)
        for name in (symbol, program.derivatives.adjoints.get(symbol))
        if name is not None
    ]
    names += [dual for name in names for dual in program.derivatives.duals.get(name, ())]
    for declare in dict.fromkeys(program.trees.declarations[name] for name in names):
        declare()


def _with_companions(program: Program, symbols: Sequence[str]) -> list[str]:
    """Some fields, with the activities of their trees, and whose activities they are."""
    found = dict.fromkeys(symbols)
    waiting = list(found)
    while waiting:
        new = [n for n in program.trees.companions.get(waiting.pop(), []) if n not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return list(found)
