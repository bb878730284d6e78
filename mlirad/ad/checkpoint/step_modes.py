"""The modes of a checkpointed loop's recorder: a step is logged, to be done again, or recorded by
the tape; and what it does may be inside a function with a gradient of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from mlirad.ad.checkpoint.actions import CallAgain, CopyAgain, CurrentStep, TransferAgain
from mlirad.ad.checkpoint.recorded_steps import LoopDeclaration, RecordedSteps
from mlirad.ad.checkpoint.replay import Loop, LoopAgain
from mlirad.ad.checkpoint.step_arrays import StepArrays
from mlirad.ad.recorder.lost import warn_of_views, warn_of_write
from mlirad.ad.recorder.recorded_transfer import carries_derivative, flows_of
from mlirad.ad.recorder.recording import Recording
from mlirad.ad.recording.array_table import TapeArray
from mlirad.ad.recording.target_memory import touched_box
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.recorder import FunctionCall, Target
from mlirad.lang.transfer import Transfer
from mlirad.runtime.footprints import Flow
from mlirad.runtime.memory.memory import Index


class StepMode(ABC):
    """A mode does what a step asks for, and sees to it that it can be reversed."""

    is_differentiating = True  # whether derivatives pass

    def __init__(self, tape: Recording, arrays: StepArrays) -> None:
        self.tape, self.ledger, self.arrays = tape, tape.ledger, arrays
        self.accesses, self.log = arrays.accesses, arrays.accesses.log

    # Steps.

    has_begun: bool  # whether the step has done something

    @abstractmethod
    def end_step(self) -> None:
        """End the step."""

    @abstractmethod
    def begin_loop(self, begin: Callable[[], Loop]) -> Loop | None:
        """Have a loop inside the step on the tape; None if all of it is to be run again."""

    @abstractmethod
    def end_loop(self, log: RecordedSteps, declared: LoopDeclaration) -> None:
        """A loop inside the step is done."""

    @abstractmethod
    def finish_write(self) -> None:
        """Note what Python wrote."""

    # What a step does.

    def launch(self, launch: Launch) -> Any:
        """Launch a kernel, part by part; what it returns."""
        if launch.arrays:
            launch = self.ledger.arrays.gradients.with_gradients(launch)
            launch = self.arrays.on_mirrors(launch)
        for piece in self.ledger.pieces(launch):
            shared = self._note_launch(piece)
            named = self.arrays.named_arrays(shared)
            self.log.note_part(shared.variant, named)
            results = self._launch_part(piece, shared, named)
        warn_of_views(self.ledger, launch)
        return results

    def _note_launch(self, launch: Launch) -> Launch:
        shared = self.arrays.on_shared_arrays(launch)
        self.accesses.note_launch(shared)
        return shared

    @abstractmethod
    def _launch_part(self, launch: Launch, shared: Launch, named: Sequence[TapeArray]) -> Any:
        """Launch a part of a kernel; `shared` is the launch to be kept, `named` stands for its
        arrays in flows."""

    @abstractmethod
    def inside(self, call: FunctionCall) -> AbstractContextManager[StepMode]:
        """Give the mode inside a call of a function with a gradient of its own."""

    def run(self, call: FunctionCall) -> Any:
        """Call such a function, in the mode inside it."""
        return call.run()

    def result(self, launch: Launch) -> None:
        """A launch returns something to Python."""
        self.tape.result(launch)

    def host_read(self, target: Target) -> None:
        """Python reads."""
        self.tape.host_read(target)

    @abstractmethod
    def host_write(self, target: Target, index: Index | None, place: str) -> None:
        """Python is about to write."""

    @abstractmethod
    def host_copy(self, target: Field, source: Field, place: str) -> None:
        """Python is about to copy a field to another."""

    @abstractmethod
    def transfer(self, transfer: Transfer, place: str) -> None:
        """Carry out a transfer."""


class LoggedStep(StepMode):
    """Actions are logged."""

    def __init__(self, tape: Recording, arrays: StepArrays) -> None:
        super().__init__(tape, arrays)
        self.step = CurrentStep()

    @property
    def has_begun(self) -> bool:  # type: ignore[override]
        """Return whether the step has done something."""
        return bool(self.step.actions)

    def end_step(self) -> None:
        self.log.append(self.step.take())

    def begin_loop(self, begin: Callable[[], Loop]) -> Loop | None:
        return None

    def end_loop(self, log: RecordedSteps, declared: LoopDeclaration) -> None:
        if len(log):
            self.step.do(LoopAgain(declared), log)

    def finish_write(self) -> None:
        self.step.finish_write()

    def _launch_part(self, launch: Launch, shared: Launch, named: Sequence[TapeArray]) -> Any:
        results = self.tape.program_mode.run(launch)
        self.arrays.note_carried(shared, named)
        self.step.launch(shared)
        return results

    def inside(self, call: FunctionCall) -> AbstractContextManager[StepMode]:
        self.accesses.note_call(call.function)
        return self._log_call(call)

    @contextmanager
    def _log_call(self, call: FunctionCall) -> Iterator[StepMode]:
        mode = LoggedCall(self.tape, self.arrays)
        yield mode
        mode.finish_write()
        self.step.do(CallAgain(call.function), call.args, call.keywords, tuple(mode.step.actions))

    def host_write(self, target: Target, index: Index | None, place: str) -> None:
        warn_of_write(self.ledger, target, touched_box(target, index), place)
        self.step.write(target, index)

    def host_copy(self, target: Field, source: Field, place: str) -> None:
        if target.dtype.is_float:
            self.ledger.note_copy(target, source, place)
            self.log.named[Flow(target.symbol, place, (source.symbol,))] = None
        self.step.do(CopyAgain(target, source))

    def transfer(self, transfer: Transfer, place: str) -> None:
        number = transfer.number()
        if carries_derivative(
            self.ledger, transfer, number, place, is_cut=not self.is_differentiating
        ):
            self.log.named.update(dict.fromkeys(flows_of(self.ledger, transfer, place)))
        transfer.run()
        self.step.do(TransferAgain(), transfer, number)


class LoggedCall(LoggedStep):
    """A function with a gradient of its own is running: no derivative passes through what it
    does."""

    is_differentiating = False

    def launch(self, launch: Launch) -> Any:
        self.step.launch_alone(self._note_launch(launch))
        return launch.run()

    def inside(self, call: FunctionCall) -> AbstractContextManager[StepMode]:
        return nullcontext(self)

    def result(self, launch: Launch) -> None:
        """Nothing: no derivative passes."""

    def host_read(self, target: Target) -> None:
        """Nothing: no derivative passes."""

    def host_write(self, target: Target, index: Index | None, place: str) -> None:
        self.step.write(target, index)

    def host_copy(self, target: Field, source: Field, place: str) -> None:
        self.step.do(CopyAgain(target, source))


class TapedStep(StepMode):
    """The tape records what a step does."""

    has_begun = True

    def end_step(self) -> None:
        self.has_begun = False

    def begin_loop(self, begin: Callable[[], Loop]) -> Loop | None:
        return begin()

    def end_loop(self, log: RecordedSteps, declared: LoopDeclaration) -> None:
        """Nothing is logged."""

    def finish_write(self) -> None:
        """Nothing is logged."""

    def _launch_part(self, launch: Launch, shared: Launch, named: Sequence[TapeArray]) -> Any:
        return self.tape.program_mode.record(launch)

    def inside(self, call: FunctionCall) -> AbstractContextManager[StepMode]:
        self.accesses.note_call(call.function)
        return nullcontext(TapedCall(self.tape, self.arrays))

    def run(self, call: FunctionCall) -> Any:
        return self.tape.call_function(call)

    def host_write(self, target: Target, index: Index | None, place: str) -> None:
        self.tape.host_write(target, index)

    def host_copy(self, target: Field, source: Field, place: str) -> None:
        self.tape.host_copy(target, source)

    def transfer(self, transfer: Transfer, place: str) -> None:
        self.tape.transfer(transfer)


class TapedCall(TapedStep):
    """A function with a gradient of its own is running, and the tape knows."""

    is_differentiating = False

    def launch(self, launch: Launch) -> Any:
        self._note_launch(launch)
        return self.tape.launch(launch)

    def inside(self, call: FunctionCall) -> AbstractContextManager[StepMode]:
        return nullcontext(self)
