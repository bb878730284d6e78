"""Launches that a thread recorded before: in the same order they need and overwrite the same
elements.

The memory that reverses need is a state. Each change of it leads to another, which is the same
object whenever the same change happens in the same state, also on later tapes of the thread. Where
a launch overwrites what reverses need, they may need again what they needed some launches before:
there the state is found by what is needed, so that a loop in place returns to its states. A
launch that was recorded in a state is noted there, with the elements that it overwrites and the
state behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial

import msgspec

from mlirad.lang.kernels.launch import Launch
from mlirad.pipeline.mode import Mode
from mlirad.runtime.boxes import Box
from mlirad.runtime.executor.executor import Code
from mlirad.runtime.footprints import box_arguments
from mlirad.runtime.kernels.codes import Codes, Derivative
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.program import Program

# states and launches of one thread that are kept for later tapes: 65,000 launches that each lead to
# another state, for which 80 MB are kept
LIMIT = 1 << 17

Key = str | int  # a field's name, or the address of an array argument


class Overwritten(msgspec.Struct, frozen=True, gc=False):
    """A box of an array that an earlier reverse reads at `read`, and that is overwritten at
    `written`; `redone` if the reverse of what writes there wants it, too."""

    key: Key
    box: Box
    read: str
    written: str
    redone: bool


class KnownPiece(msgspec.Struct, frozen=True):
    """A piece of a kernel as tapes launch it."""

    variant: Variant
    code: Code | None  # None if it depends on the tape
    derivative: Derivative
    overwritten: Sequence[Overwritten]


class KnownLaunch(msgspec.Struct, frozen=True):
    """The pieces of a launch in a state, and the state behind it; `is_for_all` if they are the same
    for all arguments. `plain` is the only piece, if the kernel has one, the tape has its code, it
    overwrites nothing that reverses need, and the state stays."""

    pieces: Sequence[KnownPiece]
    codes: Codes
    after: State
    is_for_all: bool
    plain: KnownPiece | None


class State:
    """The memory that reverses need; the same object stands for the same memory."""

    __slots__ = ("_following", "launches", "states")

    def __init__(self, states: KnownStates) -> None:
        self.launches: dict[Hashable, KnownLaunch] = {}
        self._following: dict[Hashable, State] | None = None  # few have any
        self.states = states

    def follow(self, change: Hashable) -> State:
        """Return the state behind a change."""
        if self._following is None:
            self._following = {}
        state = self._following.get(change)
        if state is None:
            state = State(self.states)
            if self.states.take_room():
                self._following[change] = state
        return state

    def find(self, launch: Launch) -> KnownLaunch | None:
        """Return what is known of a launch, if it was noted."""
        recipe = self.launches.get(launch.variant)
        if recipe is None:
            numbers = self.states.numbers.get(launch.variant)
            if numbers is None or not (numbers or launch.arrays):
                return None
            recipe = self.launches.get(_key(launch, numbers))
        return None if recipe is None or recipe.codes.is_stale else recipe

    def note(self, launch: Launch, recipe: KnownLaunch) -> None:
        """Note what is known of a launch."""
        if self.states.take_room():
            numbers = () if recipe.is_for_all else self.states.numbers_of(launch.variant, recipe)
            self.launches[_key(launch, numbers)] = recipe


def _key(launch: Launch, numbers: Sequence[int]) -> Hashable:
    """Return a key of the boxes that a launch accesses."""
    if not (numbers or launch.arrays):
        return launch.variant
    values = [launch.values[number] for number in numbers]
    return launch.variant, *values, *[(array.address, array.dims) for array in launch.arrays]


class KnownStates:
    """The states that tapes pass through as long as the derivatives of fields, and the fields with
    infinities, stay the same; no more states and launches than a limit, by default none."""

    def __init__(self, program: Program, limit: int = 0) -> None:
        self._placed, self._poles = program.derivatives.version, program.poles.version
        self.first, self._count, self._limit = State(self), 0, limit  # without entries
        self._by_needs: dict[bytes, State] = {}
        self.repeated = 0  # launches that the last tape repeated before others that it did not know
        self._were_full = self._lacked_room = False  # at the start of the last tape; on it
        # the arguments by which boxes of kernels differ from launch to launch
        self.numbers: dict[Variant, tuple[int, ...]] = {}

    def hold(self, program: Program) -> bool:
        """Return whether they are still right."""
        return program.derivatives.version == self._placed and program.poles.version == self._poles

    def begin_tape(self) -> bool:
        """Return whether another tape profits from them: not if they are full, and the last tape
        repeated little of them."""
        are_useless = self._were_full and self._lacked_room and self.repeated * 8 < self._limit
        self._were_full, self._lacked_room, self.repeated = self._count >= self._limit, False, 0
        return not are_useless

    @property
    def are_kept(self) -> bool:
        """Return whether any are."""
        return self._limit > 0

    def with_needs(self, needs: bytes) -> State:
        """Return the state in which reverses need what some bytes say."""
        state = self._by_needs.get(needs)
        if state is None:
            state = State(self)
            if self.take_room():
                self._by_needs[needs] = state
        return state

    def take_room(self) -> bool:
        """Return whether one more state, or launch, may be kept."""
        if self._count >= self._limit:
            self._lacked_room = True
            return False
        self._count += 1
        return True

    def numbers_of(self, variant: Variant, recipe: KnownLaunch) -> tuple[int, ...]:
        """Return the arguments by which boxes of a kernel differ."""
        numbers = self.numbers.get(variant)
        if numbers is None:
            footprints = [piece.derivative.footprints for piece in recipe.pieces]
            accesses = [access for f in footprints for access in (*f.needed, *f.written)]
            numbers = box_arguments(access.axes for access in accesses)
            self.numbers[variant] = numbers
        return numbers


class Position:
    """The state that a tape is in; `digest` says what reverses need. It is apart from all states
    while a launch overwrites what they need."""

    def __init__(self, program: Program, digest: Callable[[], bytes]) -> None:
        self._program, self._digest = program, digest
        self._find: Callable[[], KnownStates] = partial(KnownStates, program)
        self.state, self.is_apart = self._find().first, False

    def use(self, find: Callable[[], KnownStates]) -> None:
        """Be among states in which launches are known."""
        self._find = find
        self.enter()

    def enter(self) -> None:
        """Be among the states that hold now."""
        self.state = self._find().first
        self.settle()

    def follow(self, change: Hashable) -> None:
        """Note a change of what is needed, before it is made."""
        if not self.is_apart:
            if not self.state.states.hold(self._program):
                self.enter()
            self.state = self.state.follow(change)

    def leave(self) -> None:
        """Be apart: less is needed than before."""
        self.state, self.is_apart = State(self.state.states), True

    def settle(self) -> None:
        """Be in the state in which reverses need what they need now."""
        self.is_apart = False
        if self.state.states.are_kept:
            self.state = self.state.states.with_needs(self._digest())


def known_states(program: Program, reverse_mode: Mode) -> KnownStates:
    """Return the states of the calling thread's tapes whose reverses run in a mode."""
    threads = program.threads
    by_mode: dict[Mode, KnownStates] = threads.known_states.setdefault(threads.state, {})
    states = by_mode.get(reverse_mode)
    if states is None or not states.hold(program):
        states = by_mode[reverse_mode] = KnownStates(program, LIMIT)
    return states


def begin_tape(program: Program, reverse_mode: Mode) -> None:
    """Let go of the states of earlier tapes, if another one does not profit from them."""
    if not known_states(program, reverse_mode).begin_tape():
        threads = program.threads
        del threads.known_states[threads.state][reverse_mode]
