"""The program that `ti.init` starts: its options, its memory, its random seed, the tape that is recording."""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any
from weakref import WeakSet

from mlirad.runtime.config import Config
from mlirad.runtime.memory import Allocation, FieldMemory

ERROR_SLOTS = 32


class Program:
    """Everything that lives until the next `ti.init`."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.fields: dict[str, FieldMemory] = {}
        self.gradients: dict[str, FieldMemory] = {}
        self.adjoints: dict[str, str] = {}  # name of the gradient by name of the field
        self.declarations: dict[str, Callable[[], str]] = {}  # the tree, as text, by name of the field
        self.trees = 0
        self.changes = 0  # launches of kernels, and writes from Python
        self.written: dict[str | int, int] = {}  # `changes` at the last write from Python, by field or address
        self.gradient_version = 0  # grows with every gradient that is placed
        self.tangents: dict[str, FieldMemory] = {}
        self.duals: dict[str, tuple[str, ...]] = {}  # names of the fields of tangents, by name of the field
        self.tangent_version = 0
        self.hidden: set[str] = set()  # fields that a tape gave a gradient
        self.warned: set[str] = set()  # fields whose hidden gradient was spoken of
        self.arrays: WeakSet[Any] = WeakSet()  # ndarrays, whose derivatives are cleared with those of fields
        self.give_derivative: dict[str, Callable[[str], None]] = {}  # places one of a kind, by name of the field
        self.recorder: Any = None
        self.launches = 0
        self.compiled: WeakSet[Any] = WeakSet()  # variants that hold addresses of fields
        self.variants = 0  # of kernels, built so far
        self.names: dict[str, int] = {}
        self.errors = Allocation(8 * ERROR_SLOTS)
        self.checks: dict[str, Allocation] = {}  # which elements were read, by the name of the field
        self.pending: list[Callable[[], None]] = []
        self.root: Any = None
        self.generation = 0

    def next_seed(self) -> int:
        """A different number for every launch, the same in every run of a program with the same seed."""
        self.launches += 1
        return ((self.config.random_seed + 1) * 0x9E3779B97F4A7C15 + self.launches * 0xD1B54A32D192ED03) % (1 << 63)

    def unique_name(self, wanted: str) -> str:
        """A name no other field has."""
        count = self.names.get(wanted, 0)
        self.names[wanted] = count + 1
        return wanted if count == 0 else self.unique_name(f"{wanted}_{count}")

    def primals(self) -> dict[str, FieldMemory]:
        """The memory of all fields that are no derivatives."""
        return {name: memory for name, memory in self.fields.items()
                if name not in self.gradients and name not in self.tangents}

    def check_bits(self, symbol: str) -> Allocation:
        """A byte an element of a field, for `insert-access-checks`."""
        if symbol not in self.checks:
            self.checks[symbol] = Allocation(prod(self.fields[symbol].layout.shape))
        return self.checks[symbol]

    def forget(self, symbol: str) -> None:
        """Let go of a field's memory; code that has its address is not run again."""
        self.fields.pop(symbol, None)
        self.gradients.pop(symbol, None)
        self.tangents.pop(symbol, None)
        self.checks.pop(symbol, None)
        for compiled in list(self.compiled):
            compiled.forget(symbol)

    def end(self) -> None:
        """Let go of compiled code, which kernels would keep until they are launched in another program."""
        for compiled in list(self.compiled):
            compiled.discard()

    def materialize(self) -> None:
        """Give memory to what was declared since the last time."""
        while self.pending:
            self.pending.pop(0)()


_current: list[Program] = []


def program() -> Program:
    """The current program; starts one with default options where there is none."""
    if not _current:
        start(Config())
    return _current[0]


def start(config: Config) -> Program:
    """Begin a new program; the memory of the last one goes with its fields."""
    generation = _current[0].generation + 1 if _current else 0
    stop()
    _current[:] = [Program(config)]
    _current[0].generation = generation
    return _current[0]


def is_started() -> bool:
    """Whether a program runs."""
    return bool(_current)


def stop() -> None:
    """End the current program."""
    for ended in _current:
        ended.end()
    _current.clear()
