"""The program that `ti.init` starts: its options, its memory, its random seed, what each thread
records with."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from threading import RLock
from typing import Any
from weakref import WeakSet, ref

from mlirad.dialect.turn import compiling, in_turn
from mlirad.errors import TaichiRuntimeError
from mlirad.runtime.capacity import Capacity
from mlirad.runtime.config import Config
from mlirad.runtime.derivative_kind import DerivativeKind
from mlirad.runtime.executor.choice import executor_of
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.memory.memory import Allocation
from mlirad.runtime.own import OfThread, Own
from mlirad.runtime.poles import Poles


class Program:
    """Everything that lives until the next `ti.init`."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.executor = executor_of(config.arch)
        self.fields: dict[str, FieldMemory] = {}
        self.gradients: dict[str, FieldMemory] = {}
        self.adjoints: dict[str, str] = {}  # name of the gradient by name of the field
        self.declarations: dict[
            str, Callable[[], object]
        ] = {}  # makes the tree at the insertion point, by name of the field
        self.trees = 0
        self.changes = 0  # launches of kernels, and writes from Python
        self.written: dict[
            str | int, int
        ] = {}  # `changes` at the last write from Python, by field or address
        self.gradient_version = 0  # grows with every gradient that is placed
        self.tangents: dict[str, FieldMemory] = {}
        self.duals: dict[
            str, tuple[str, ...]
        ] = {}  # names of the fields of tangents, by name of the field
        self.tangent_version = 0
        self.hidden: set[str] = set()  # fields that a tape gave a gradient
        self.warned: set[str] = set()  # fields whose hidden gradient was spoken of
        self.arrays: WeakSet[Any] = (
            WeakSet()
        )  # ndarrays, whose derivatives are cleared with those of fields
        self.give_derivative: dict[
            str, Callable[[DerivativeKind], None]
        ] = {}  # places one of a kind, by name of the field
        self.launches = 0
        self.compiled: WeakSet[Any] = WeakSet()  # variants that hold addresses of fields
        self.variants = 0  # of kernels, built so far
        self.names: dict[str, int] = {}
        self.pending: list[Callable[[], None]] = []
        self.poles = Poles()
        self.root: Any = None
        self.generation = 0
        self.capacity = Capacity()
        self.of_thread = OfThread()
        self.alone = RLock()  # held by what puts all fields back
        self.watchers: dict[int, ref[Any]] = {}  # while there are any, threads note their changes
        self.users: dict[
            str | int, Own
        ] = {}  # whose recorder used a gradient or dual last, by name, or address of the array

    @property
    def own(self) -> Own:
        """What belongs to the calling thread."""
        return self.of_thread.own

    @property
    def recorder(self) -> Any:
        """What records the launches of the calling thread, or None."""
        return self.of_thread.own.recorder if self.watchers else None

    @recorder.setter
    def recorder(self, recorder: Any) -> None:
        if recorder is not None:
            self.watch(recorder)
        self.of_thread.own.recorder = recorder

    def watch(self, watcher: Any) -> None:
        """Have threads note their changes, and look for their recorders, as long as an object
        lives."""
        key, watchers = id(watcher), self.watchers
        if key not in watchers:
            watchers[key] = ref(watcher, lambda _: watchers.pop(key, None))

    def others_changes(self) -> int:
        """A number that grows with every change by another thread than the calling one, while
        anything watches."""
        return self.changes - self.own.changes

    def check_alone_since(self, others_changes: int) -> None:
        """Raise TaichiRuntimeError where another thread has changed memory since there were so
        many."""
        if self.others_changes() != others_changes:
            raise TaichiRuntimeError(
                "another thread launched a kernel or wrote to a field while this one took "
                "derivatives of "
                "a whole program, which puts all fields back: let it wait, or use ti.ad.Tape"
            )

    def count_change(self) -> int:
        """Count a launch or a write from Python by the calling thread; the number of changes so
        far."""
        self.changes = count = self.changes + 1
        if self.watchers:
            own = self.of_thread.own
            own.changed, own.changes = count, own.changes + 1
        return count

    def next_seed(self) -> int:
        """A different number for every launch, the same in every run of a program with the same
        seed."""
        with compiling:
            self.launches = count = self.launches + 1
        return ((self.config.random_seed + 1) * 0x9E3779B97F4A7C15 + count * 0xD1B54A32D192ED03) % (
            1 << 63
        )

    @in_turn
    def unique_name(self, wanted: str) -> str:
        """A name no other field has."""
        count = self.names.get(wanted, 0)
        self.names[wanted] = count + 1
        return wanted if count == 0 else self.unique_name(f"{wanted}_{count}")

    def primals(self) -> dict[str, FieldMemory]:
        """The memory of all fields that are no derivatives."""
        return {
            name: memory
            for name, memory in list(self.fields.items())
            if name not in self.gradients and name not in self.tangents
        }

    def check_bits(self, symbol: str) -> Allocation:
        """A byte an element of a field, for `insert-access-checks` in the calling thread."""
        checks = self.own.checks
        if symbol not in checks:
            size = prod(self.fields[symbol].layout.shape)
            checks[symbol] = self.executor.memory.allocate(size)
        return checks[symbol]

    @in_turn
    def forget(self, symbol: str) -> None:
        """Let go of a field's memory; code that has its address is not run again."""
        self.capacity.give_back(symbol)
        self.fields.pop(symbol, None)
        self.gradients.pop(symbol, None)
        self.tangents.pop(symbol, None)
        self.own.checks.pop(symbol, None)
        for compiled in list(self.compiled):
            compiled.forget(symbol)

    def end(self) -> None:
        """Let go of compiled code, which kernels would keep until they are launched in another
        program."""
        for compiled in list(self.compiled):
            compiled.discard()

    def materialize(self) -> None:
        """Give memory to what was declared since the last time."""
        if self.pending:  # until it is done
            self._materialize()

    @in_turn
    def _materialize(self) -> None:
        while self.pending:
            try:
                self.pending[0]()
            except (
                Exception
            ):  # what is interrupted is done at the next access, what fails is not tried again
                self.pending.pop(0)
                raise
            self.pending.pop(0)


_current: list[Program] = []


def program() -> Program:
    """The current program. Raises TaichiRuntimeError before the first, and after the last one
    ended."""
    if not _current:
        raise TaichiRuntimeError(
            "ti.init() has not been called: call it before fields are declared and kernels are "
            "launched "
            "(and again after ti.reset(), which ends what was declared)"
        )
    return _current[0]


@in_turn
def start(config: Config) -> Program:
    """Begin a new program; the memory of the last one goes with its fields."""
    started, earlier = Program(config), list(_current)
    started.generation = earlier[0].generation + 1 if earlier else 0
    _current[:] = [started]
    for ended in earlier:
        ended.end()
    return started


def is_started() -> bool:
    """Whether a program runs."""
    return bool(_current)


@in_turn
def stop() -> None:
    """End the current program."""
    earlier = list(_current)
    _current.clear()
    for ended in earlier:
        ended.end()
