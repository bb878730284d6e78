"""The compiled code of a kernel, by mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from time import perf_counter
from typing import Any
from weakref import WeakSet

import msgspec

from mlirad.dialect import context
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError
from mlirad.pipeline.mode import CLEARING, PRIMAL, REVERSE, STORED_REVERSE, Mode
from mlirad.runtime.executor.executor import Addressable, Code, Origin, PassedArray
from mlirad.runtime.footprints import Footprints
from mlirad.runtime.kernels.kernel_ir import KernelIR, LoweredMode
from mlirad.runtime.kernels.notes import Notes
from mlirad.runtime.kernels.own_arrays import CodeWithOwnArrays
from mlirad.runtime.kernels.touched_bytes import launch_bytes
from mlirad.runtime.memory.deferred_writes import Backlog, LaterWrites
from mlirad.runtime.profile import COMPILING, ProfiledCode


class Derivative:
    """The reverse of a kernel, for the gradients that fields had when it was asked for; made into
    machine code when it first runs, or before these change."""

    def __init__(self, codes: Codes, mode: Mode, footprints: Footprints) -> None:
        self._codes, self._mode, self.footprints = codes, mode, footprints
        # the reverse that loads what the launch has stored, while there is one for these gradients
        self.stored: Derivative | None = None
        self._code: Code | None = None
        self._check: Code | None = None

    @property
    def mode(self) -> Mode:
        """Return the mode."""
        return self._mode

    @cached_property
    def gradients(self) -> frozenset[str]:
        """The gradients of fields that it adds to."""
        sources = [source for flow in self.footprints.flows.between for source in flow.sources]
        names = map(self._codes.program.derivatives.adjoints.get, sources)
        return frozenset(name for name in names if name is not None)

    @property
    def code(self) -> Code:
        if self._code is None:
            self.finish()
        assert self._code is not None
        return self._code

    def launch(
        self,
        values: Sequence[Any],
        arrays: Sequence[PassedArray] = (),
        *,
        is_checked: bool = False,
    ) -> None:
        """Run the reverse, and first, unless the launch is checked already, the check of what is
        not known while compiling. Raises TaichiAssertionError if a check of the reverse failed,
        TaichiRuntimeError if two iterations meet in an element, or a field is gone."""
        if self._codes.is_stale:
            raise TaichiRuntimeError(
                f"kernel '{self._codes.stages.kernel.name}' uses a field of a layout tree that was "
                "destroyed"
            )
        if self._code is None:
            self.finish()
        if self._check is not None and not is_checked:
            self._check.launch(values, arrays)
        self.code.launch(values, arrays)

    def finish(self) -> None:
        """Make the machine code."""
        if self._code is None:
            self._codes.look_at_poles()
            self._code = self._codes.code(self._mode)
            self._check = self._codes.collision_check(self._mode)


class Primal(msgspec.Struct, frozen=True):
    """The code of a kernel's primal: a mode of another kernel."""

    codes: Codes
    mode: Mode = PRIMAL


class Codes:
    """Code is made when it is first asked for, and forgotten when it is no longer right."""

    def __init__(self, stages: KernelIR, notes: Notes, primal: Primal | None = None) -> None:
        self.stages, self._notes, self.program = stages, notes, stages.program
        self._primal = primal
        self.compiled: dict[Mode, Code] = {}
        self.origins: dict[Mode, Origin] = {}  # of what is compiled
        self.is_stale = False  # a field it uses is gone
        self.when_stale: list[Callable[[], None]] = []
        self._may_collide: dict[Mode, bool] = {}
        self._derivatives: dict[Mode, Derivative] = {}
        self._lowered: dict[Mode, LoweredMode] = {}
        self._reached: dict[Mode, frozenset[str]] = {}
        self._unfinished = WeakSet[Derivative]()
        self._symbols: set[str] = set()
        self._poles_version = -1
        self.program.compiled.add(self)

    def code(self, mode: Mode) -> Code:
        """The compiled code of a mode, made once."""
        code = self.compiled.get(mode)
        return code if code is not None else self._compile(mode)

    @in_turn
    def _compile(self, mode: Mode) -> Code:
        code = self.compiled.get(mode)
        if code is None and mode == PRIMAL and self._primal is not None:
            code = self.compiled[mode] = self._primal.codes.code(self._primal.mode)
        if code is None:
            begun, name = perf_counter(), self._name(mode)
            lowered = self._lowered.pop(mode, None) or self._lower(mode)
            with context():
                code = self.program.executor.compile(lowered.kernel, self, self.program.config)
            if lowered.own_arrays:
                memory = self.program.executor.memory
                code = CodeWithOwnArrays(code, lowered.own_arrays, memory)
            if self.program.profile is not None:
                executor, profile = self.program.executor, self.program.profile
                wait, timer = executor.synchronize, executor.timer()
                touched = partial(self._touched, mode)
                code = ProfiledCode(code, name, profile, wait, lowered.times, timer, touched)
            COMPILING.note(name, perf_counter() - begun)
            self.compiled[mode], self.origins[mode] = code, lowered.kernel.code.origin
            self._may_collide[mode] = lowered.may_collide
        return code

    def _touched(self, mode: Mode, values: Sequence[Any]) -> float:
        """Bytes that a launch touches at least, 0 where that is not known."""
        if not mode.is_reverse and mode != PRIMAL:
            return 0.0
        adjoints = self.program.derivatives.adjoints if mode.is_reverse else None
        return launch_bytes(self._notes, adjoints, values, self.program.fields) or 0.0

    def _name(self, mode: Mode) -> str:
        return f"{self.stages.kernel.name}{mode.suffix}"

    def _lower(self, mode: Mode) -> LoweredMode:
        stages, own_mode = self.stages.given.resolve(mode)
        lowered = stages.lower(own_mode)
        if folder := self.program.config.dump_ir:
            from mlirad.runtime.kernels.ir_files import write_stages

            write_stages(stages, own_mode, folder)
        self._reached[mode] = frozenset(lowered.kernel.fields)
        return lowered

    @in_turn
    def reached(self, mode: Mode) -> frozenset[str]:
        """The fields that the code of a mode reads or writes."""
        if mode.is_reverse:
            self.look_at_poles()
        if mode not in self._reached:
            self._lowered[mode] = self._lower(mode)
        return self._reached[mode]

    def derivative(self, mode: Mode) -> Derivative:
        """The reverse, which a later `refresh` leaves as it is. Raises TaichiCompilationError
        if there is none."""
        if self._poles_version != self.program.poles.version:
            self._take_poles()
        derivative = self._derivatives.get(mode)
        return derivative if derivative is not None else self._find_derivative(mode)

    def look_at_poles(self) -> None:
        """Compile reverses anew where a field that the kernel reads has come to hold infinities."""
        if self._poles_version != self.program.poles.version:
            self._take_poles()

    @in_turn
    def _take_poles(self) -> None:
        poles = self.program.poles
        self._poles_version = poles.version
        if self.stages.assume_infinite(poles.among(self.stages.kernel.fields)):
            self.forget_modes(lambda mode: mode.is_reverse)

    @in_turn
    def _find_derivative(self, mode: Mode) -> Derivative:
        preferred = _preferred(mode, self.stages, self._notes)
        if mode not in self.compiled and mode not in self._may_collide:  # of which it was known
            self._lowered[preferred] = self._lower(preferred)
            self._may_collide[mode] = self._lowered[preferred].may_collide
        derivative = self._derivatives.get(mode)
        if derivative is None:
            derivative = self._derivatives[mode] = Derivative(self, mode, self._notes.footprints())
            if preferred != mode:
                derivative.stored = Derivative(self, preferred, derivative.footprints)
            self._unfinished.add(derivative)
        return derivative

    @in_turn
    def finish(self) -> None:
        """Make the code of all reverses that were asked for."""
        for derivative in [] if self.is_stale else list(self._unfinished):
            derivative.finish()
            derivative.stored = None  # made later, it would be for other gradients
        self._unfinished.clear()

    @in_turn
    def collision_check(self, mode: Mode) -> Code | None:
        """Return the check that runs before a derivative's mode, if iterations may collide as far
        as is known when it is compiled."""
        self.code(mode)
        return self.code(mode.collisions) if self._may_collide[mode] else None

    # The memory that code reaches.

    def field(self, symbol: str) -> Addressable:
        """The memory of a field of the kernel."""
        memory = self.program.fields.get(symbol)
        if memory is None:
            name = self.stages.kernel.name
            raise TaichiRuntimeError(
                f"kernel '{name}' uses field '{symbol}' of a layout tree that was destroyed"
            )
        self._symbols.add(symbol)
        return memory

    @property
    def backlog(self) -> Backlog:
        """The arrays of the program that have deferred writes."""
        return self.program.backlog

    def deferred_writes(self, symbol: str) -> LaterWrites | None:
        """Return the deferred writes to a field."""
        return self.program.fields[symbol].elements.deferred

    def check_bits(self, symbol: str) -> Addressable:
        """A byte for each element of a field, of the calling thread."""
        return self.program.check_bits(symbol)

    # What is no longer right.

    def forget(self, symbol: str) -> None:
        """Drop compiled code where it holds the address of a field that is gone."""
        if symbol in self._symbols:
            self.discard()

    def discard(self) -> None:
        """Drop compiled code: it is not run again."""
        self.compiled, self._derivatives, self._lowered, self._reached = {}, {}, {}, {}
        self.is_stale = True
        for note in self.when_stale:
            note()

    def forget_modes(self, are_wrong: Callable[[Mode], bool]) -> None:
        """Drop code of some modes: it is made anew."""
        for results in (self.compiled, self._derivatives, self._lowered, self._reached):
            for mode in [mode for mode in results if are_wrong(mode)]:
                del results[mode]


def _preferred(mode: Mode, stages: KernelIR, notes: Notes) -> Mode:
    """The mode of a reverse if fields hold what the launch has stored."""
    is_first = mode == REVERSE and not stages.kernel.is_reverse
    return STORED_REVERSE if is_first and notes.footprints().stored else mode


class UnrecordedLaunches:
    """Launches of a kernel that nothing records: derivatives of what they deactivate, which have no
    sweep to clear them, go with it."""

    def __init__(self, codes: Codes, refresh: Callable[[], None]) -> None:
        self._codes, self._refresh = codes, refresh
        self._version = (-1, -1)  # of derivatives, when they were last looked at

    def launch(self, values: Sequence[Any], arrays: Sequence[PassedArray]) -> tuple[Any, ...]:
        """Run the primal; the results of the kernel. Raises TaichiAssertionError if an assertion
        or an index check failed."""
        return self._codes.code(self._mode()).launch(values, arrays)

    def code(self) -> Code | None:
        """The code of such launches, where it is made."""
        return self._codes.compiled.get(self._mode())

    def _mode(self) -> Mode:
        emptied, derivatives = self._codes.stages.kernel.emptied, self._codes.program.derivatives
        if not emptied or not any(derivatives.names_of(symbol) for symbol in emptied):
            return PRIMAL
        version = derivatives.gradient_version, derivatives.tangent_version
        if self._version != version:
            self._refresh()
            self._version = version
        return CLEARING
