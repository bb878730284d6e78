"""The program that `ti.init` starts: its options, its memory, its random seed, what each thread
records with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any
from weakref import WeakSet

from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiAssertionError, TaichiRuntimeError
from mlirad.runtime.cache.cache import open_cache
from mlirad.runtime.config import Config
from mlirad.runtime.derivatives import Derivatives
from mlirad.runtime.executors import executor_of
from mlirad.runtime.memory.deferred_writes import Backlog
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.memory.memory import Allocation, Arena, SparseElements
from mlirad.runtime.memory.values import Values
from mlirad.runtime.poles import Poles
from mlirad.runtime.profile import Profile
from mlirad.runtime.profiled_memory import ProfiledArena
from mlirad.runtime.random import Random
from mlirad.runtime.threads import Threads
from mlirad.runtime.trees import Trees

_FEW = 1 << 14  # bytes


class Program:
    """Everything that lives until the next `ti.init`."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.cache = open_cache(config)
        self.executor = executor_of(config.arch)
        self.capacity = self.executor.memory.capacity()
        self.trees = Trees()
        self.fields: dict[str, FieldMemory] = {}
        self.derivatives = Derivatives()
        self.backlog = Backlog()
        self.capacity.relieve = self.backlog.release_copies
        self.poles = Poles()
        self.profile = Profile() if config.kernel_profiler else None
        self.random = Random(config.random_seed)
        self.threads = Threads()
        self.compiled: WeakSet[Any] = WeakSet()  # codes that hold addresses of fields
        self.variants = 0  # of kernels, built so far
        self.built: WeakSet[Any] = WeakSet()  # those of them that are still there
        # makes a slice of an ndarray, by its positions; if None, slices are copies
        self.make_view: Callable[[Any, Sequence[range]], Any] | None = None
        # how kernels are run that are not compiled (`ti.python`)
        self.interpret: Callable[..., Any] | None = None

    def primals(self) -> dict[str, FieldMemory]:
        """The memory of all fields that are no derivatives."""
        return {
            name: memory
            for name, memory in list(self.fields.items())
            if not self.derivatives.are_derivatives(name)
        }

    def arena(self, *, apart: bool = False) -> Arena:
        """Room for copies that a tape keeps; `apart`, each in a block of its own."""
        arena = self.executor.memory.arena(self.capacity, apart=apart)
        return arena if self.profile is None else ProfiledArena(arena, self.profile)

    def settle(self) -> None:
        """Memory is as the program left it, after it was put back to what it was before."""
        for memory in list(self.fields.values()):
            if memory.nesting is not None and isinstance(memory.elements, SparseElements):
                memory.elements.settle()

    def check_bits(self, symbol: str) -> Allocation:
        """A byte an element of a field, for `insert-access-checks` in the calling thread."""
        checks = self.threads.state.checks
        if symbol not in checks:
            size = prod(self.fields[symbol].layout.shape)
            lazily = self.fields[symbol].nesting is not None
            checks[symbol] = self.executor.memory.allocate(size, lazily=lazily)
        return checks[symbol]

    def check_ends(self, subject: str, arrays: Mapping[str, Allocation]) -> None:
        """Raise TaichiAssertionError if something wrote beside the memory of fields, or of
        arrays."""
        beside: dict[Allocation, list[str]] = {}
        for name, memory in list(self.fields.items()):
            beside.setdefault(memory.allocation, []).append(name)
        for name, allocation in arrays.items():
            beside.setdefault(allocation, []).append(name)
        for allocation, names in beside.items():
            if allocation.overrun():
                raise TaichiAssertionError(
                    f"{subject}: memory next to {', '.join(map(repr, names))} was overwritten "
                    "through an index that is out of bounds"
                )

    @in_turn
    def forget(self, symbol: str) -> None:
        """Let go of a field's memory; code that has its address is not run again."""
        self.capacity.give_back(symbol)
        memory = self.fields.pop(symbol, None)
        if memory is not None and memory.elements.deferred is not None:
            self.backlog.arrays.discard(memory.elements.deferred)
        self.derivatives.forget(symbol)
        self.threads.state.checks.pop(symbol, None)
        self.threads.known_states.clear()
        for compiled in list(self.compiled):
            compiled.forget(symbol)

    @in_turn
    def note_derivative(self) -> None:
        """A derivative was placed: launches that clear those of what they deactivate look again."""
        for compiled in list(self.compiled):
            for note in compiled.when_stale if compiled.stages.kernel.emptied else ():
                note()

    def end(self) -> None:
        """Let go of compiled code, which kernels would keep until they are launched in another
        program."""
        self.threads.known_states.clear()
        for compiled in list(self.compiled):
            compiled.discard()


_current: list[Program] = []
NOT_STARTED = (
    "ti.init() has not been called: call it before fields are declared and kernels are launched "
    "(and again after ti.reset(), which discards them)"
)


def program() -> Program:
    """The current program. Raises TaichiRuntimeError before the first, and after the last one
    ended."""
    if not _current:
        raise TaichiRuntimeError(NOT_STARTED)
    return _current[0]


@in_turn
def start(config: Config) -> Program:
    """Begin a new program; the memory of the last one goes with its fields."""
    started, earlier = Program(config), list(_current)
    _current[:] = [started]
    for ended in earlier:
        ended.end()
    return started


def settled(values: Values) -> Values:
    """An array of Python's; a copy, where it lies in memory that launches may change, or is sooner
    copied than looked for there."""
    if values.nbytes > _FEW and not (is_started() and program().executor.memory.holds(values)):
        return values
    return values.copy()


def is_current(owner: Program) -> bool:
    """Return whether a program runs still."""
    return bool(_current) and _current[0] is owner


def is_started() -> bool:
    """Return whether a program runs."""
    return bool(_current)


@in_turn
def stop() -> None:
    """End the current program."""
    earlier = list(_current)
    _current.clear()
    for ended in earlier:
        ended.end()
