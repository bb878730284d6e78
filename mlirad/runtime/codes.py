"""The compiled code of a kernel, by mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mlirad.dialect import context
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError
from mlirad.pipeline.mode import PRIMAL, Mode
from mlirad.runtime.executor.executor import Code, Located
from mlirad.runtime.footprints import Footprints
from mlirad.runtime.kernel_ir import KernelIR
from mlirad.runtime.notes import Notes


@dataclass(frozen=True)
class Derivative:
    """The reverse of a kernel, for the gradients that fields had when it was asked for."""

    code: Code
    footprints: Footprints
    check: Code | None  # of what is not known while compiling


class Codes:
    """Code is made when it is first asked for, and forgotten when it is no longer right."""

    def __init__(self, stages: KernelIR, notes: Notes, primal: Codes | None = None) -> None:
        self.stages, self._notes, self.program = stages, notes, stages.program
        self._primal = primal  # whose primal code this one shares
        self.compiled: dict[Mode, Code] = {}
        self.is_stale = False  # a field it uses is gone
        self.when_stale: list[Callable[[], None]] = []
        self._may_collide: dict[Mode, bool] = {}
        self._derivatives: dict[Mode, Derivative] = {}
        self._symbols: set[str] = set()
        self._poles_version = -1
        self.program.compiled.add(self)

    def code(self, mode: Mode) -> Code:
        """The compiled code of a mode, made once."""
        found = self.compiled.get(mode)
        return found if found is not None else self._compile(mode)

    @in_turn
    def _compile(self, mode: Mode) -> Code:
        found = self.compiled.get(mode)
        if found is None and mode == PRIMAL and self._primal is not None:
            found = self.compiled[mode] = self._primal.code(mode)
        if found is None:
            lowered = self.stages.lower(mode)
            with context():
                found = self.program.executor.compile(lowered.kernel, self, self.program.config)
            self.compiled[mode] = found
            self._may_collide[mode] = lowered.may_collide
        return found

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
        poles = self.program.poles
        self._poles_version = poles.version
        if self.stages.assume_infinite(poles.among(self.stages.kernel.fields)):
            self.forget_modes(lambda mode: mode.is_reverse)

    @in_turn
    def _find_derivative(self, mode: Mode) -> Derivative:
        code = self.code(mode)
        found = Derivative(code, self._notes.footprints(), self.collision_check(mode))
        return self._derivatives.setdefault(mode, found)

    @in_turn
    def collision_check(self, mode: Mode) -> Code | None:
        """What has to run before a derivative's mode, where iterations may meet as far as is known
        while compiling."""
        self.code(mode)
        return self.code(mode.collisions) if self._may_collide[mode] else None

    # The memory that code reaches.

    def field(self, symbol: str) -> Located:
        """The memory of a field of the kernel."""
        memory = self.program.fields.get(symbol)
        if memory is None:
            name = self.stages.kernel.name
            raise TaichiRuntimeError(f"kernel '{name}' uses field '{symbol}' of a destroyed tree")
        self._symbols.add(symbol)
        return memory

    def check_bits(self, symbol: str) -> Located:
        """A byte for each element of a field, of the calling thread."""
        return self.program.check_bits(symbol)

    # What is no longer right.

    def forget(self, symbol: str) -> None:
        """Drop compiled code where it holds the address of a field that is gone."""
        if symbol in self._symbols:
            self.discard()

    def discard(self) -> None:
        """Drop compiled code: it is not run again."""
        self.compiled, self._derivatives, self.is_stale = {}, {}, True
        for note in self.when_stale:
            note()

    def forget_modes(self, are_wrong: Callable[[Mode], bool]) -> None:
        """Drop code of some modes: it is made anew."""
        for mode in [mode for mode in self.compiled if are_wrong(mode)]:
            self.compiled.pop(mode, None)
            self._derivatives.pop(mode, None)
