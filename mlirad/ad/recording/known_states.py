"""What tapes know of launches from earlier ones: launches that are recorded in the same order need
and overwrite the same elements.

What reverses need of memory is a state. Each change of it leads to another, which is the same
object whenever the same change happens in the same state, also on later tapes of the thread. A
kernel that was recorded in a state is noted there, with what it overwrites and the state behind it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import msgspec

from mlirad.runtime.boxes import Box
from mlirad.runtime.executor.executor import Code
from mlirad.runtime.footprints import Footprints
from mlirad.runtime.kernels.codes import Codes, Derivative
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.program import Program

LIMIT = 1 << 14  # states of one thread that are kept for later tapes, about a KiB each

Key = str | int  # a field's name, or the address of an array argument


class Overwritten(msgspec.Struct, frozen=True):
    """A box of an array that an earlier reverse reads at `read`, and that is overwritten at
    `written`; `redone` if the reverse of what writes there wants it, too."""

    key: Key
    box: Box
    read: str
    written: str
    redone: bool


class KnownPart(msgspec.Struct, frozen=True):
    """A part of a kernel as tapes launch it."""

    variant: Variant
    code: Code
    derivative: Derivative
    overwritten: Sequence[Overwritten]


class KnownLaunch(msgspec.Struct, frozen=True):
    """A launch of a kernel in a state: its parts, and the state behind it; `is_for_all` if it is
    the same for all arguments."""

    parts: Sequence[KnownPart]
    codes: Codes
    after: State
    is_for_all: bool


class State:
    """What reverses need of memory; two of the same object need the same."""

    __slots__ = ("_following", "launches", "states")

    def __init__(self, states: KnownStates) -> None:
        self.launches: dict[Hashable, KnownLaunch] = {}
        self._following: dict[Hashable, State] = {}
        self.states = states

    def follow(self, change: Hashable) -> State:
        """Return the state behind a change."""
        state = self._following.get(change)
        if state is None:
            state = State(self.states)
            if self.states.take_room():
                self._following[change] = state
        return state

    def find(self, variant: Variant, values: Sequence[Any]) -> KnownLaunch | None:
        """Return the launch of a kernel, if it is noted."""
        launch = self.launches.get(variant)
        if launch is None:
            numbers = self.states.numbers.get(variant)
            if not numbers:
                return None
            launch = self.launches.get((variant, *[values[number] for number in numbers]))
        return None if launch is None or launch.codes.is_stale else launch

    def note(self, variant: Variant, values: Sequence[Any], launch: KnownLaunch) -> None:
        """Note a launch of a kernel."""
        if self.states.take_room():
            numbers = () if launch.is_for_all else self.states.numbers_of(variant, launch)
            key = variant if not numbers else (variant, *[values[number] for number in numbers])
            self.launches[key] = launch


class KnownStates:
    """The states that tapes pass through as long as the derivatives of fields, and the fields with
    infinities, stay the same."""

    def __init__(self, program: Program) -> None:
        self._placed, self._poles = program.derivatives.version, program.poles.version
        self.first, self._count = State(self), 0  # without entries
        # the arguments by which boxes of kernels differ from launch to launch
        self.numbers: dict[Variant, tuple[int, ...]] = {}

    def hold(self, program: Program) -> bool:
        """Return whether they are still right."""
        return program.derivatives.version == self._placed and program.poles.version == self._poles

    @property
    def are_full(self) -> bool:
        """Return whether no more are kept."""
        return self._count >= LIMIT

    def take_room(self) -> bool:
        """Return whether one more state, or launch, may be kept."""
        self._count += 1
        return not self.are_full

    def numbers_of(self, variant: Variant, launch: KnownLaunch) -> tuple[int, ...]:
        """Return the arguments by which boxes of a kernel differ."""
        numbers = self.numbers.get(variant)
        if numbers is None:
            footprints = [part.derivative.footprints for part in launch.parts]
            numbers = self.numbers[variant] = _box_arguments(footprints)
        return numbers


def known_states(program: Program) -> KnownStates:
    """Return the states of the calling thread's tapes."""
    threads = program.threads
    states: KnownStates | None = threads.known_states.get(threads.state)
    if states is None or states.are_full or not states.hold(program):
        states = threads.known_states[threads.state] = KnownStates(program)
    return states


def _box_arguments(footprints: Sequence[Footprints]) -> tuple[int, ...]:
    """Return the numbers of the arguments that bounds of boxes depend on."""
    axes = [
        axis
        for each in footprints
        for access in (*each.needed, *each.written)
        for axis in access.axes
    ]
    bounds = [bound for axis in axes for bound in (axis.low, axis.high) if bound is not None]
    return tuple(sorted({number for bound in bounds for number, _ in bound.terms}))
