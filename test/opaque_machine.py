"""A machine besides the CPU: it computes as the CPU does, but nobody can look into its memory.

Addresses are numbers that only its launches understand, elements and copies hold no arrays, and
every access is counted. What passes tests on it asks memory for everything that it does.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from msgspec.structs import replace

from mlirad.pipeline.mode import Mode
from mlirad.pipeline.stages.stage import Stage
from mlirad.runtime.boxes import Box
from mlirad.runtime.capacity import Capacity
from mlirad.runtime.config import Config
from mlirad.runtime.cpu.cpu_executor import CpuExecutor
from mlirad.runtime.executor.executor import (
    Addressable,
    Code,
    Executor,
    LaunchMemory,
    LoweredKernel,
    PassedArray,
)
from mlirad.runtime.executors import EXECUTORS
from mlirad.runtime.memory.deferred_writes import Backlog, LaterWrites
from mlirad.runtime.memory.host.host_memory import HostMemory
from mlirad.runtime.memory.memory import (
    Allocation,
    Arena,
    DType,
    Elements,
    Index,
    Kept,
    Memory,
    Nesting,
)
from mlirad.runtime.memory.values import Values

_handles = itertools.count(1 << 60, 1 << 32)  # each has more room than any array of a test
_inside: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # the host's, by what stands for it
_real: dict[int, int] = {}  # addresses on the host
_counts: Counter[str] = Counter()


def counted() -> Counter[str]:
    """How often each operation was asked for since the last time."""
    found = Counter(_counts)
    _counts.clear()
    return found


def _host(handle: Any, operation: str) -> Any:
    _counts[operation] += 1
    return _inside[handle]


def _handle(real: int) -> int:
    """A number that stands for an address, and is none."""
    handle = next(_handles)
    _real[handle] = real
    return handle


class OpaqueAllocation(Allocation):
    """Bytes somewhere."""

    def __init__(self, inside: Allocation) -> None:
        _inside[self] = inside
        self.address, self.size = _handle(inside.address), inside.size

    def discard(self, start: int, size: int) -> None:
        _host(self, "discard").discard(start, size)


class OpaqueElements(Elements):
    """Elements somewhere."""

    __slots__ = ()

    def __init__(self, inside: Elements, address: int | None = None) -> None:
        _inside[self] = inside
        self.shape, self.dtype, self.nbytes = inside.shape, inside.dtype, inside.nbytes
        self.address = _handle(inside.address) if address is None else address

    def get(self, index: Index) -> Any:
        return _host(self, "get").get(index)

    def put(self, index: Index, value: Any) -> None:
        _host(self, "put").put(index, value)

    def read(self, box: Box | None = None) -> Values:
        return _host(self, "read").read(box)

    def write(self, values: Values, box: Box | None = None) -> None:
        _host(self, "write").write(values, box)

    def fill(self, value: Any, box: Box | None = None, where: Values | None = None) -> None:
        _host(self, "fill").fill(value, box, where)

    def any(self) -> bool:
        return _host(self, "any").any()

    def checksum(self) -> int:
        return _host(self, "checksum").checksum()

    def equals(self, values: Values, box: Box | None = None) -> bool:
        return _host(self, "equals").equals(values, box)

    def differing(self, values: Values, box: Box | None = None) -> Values:
        return _host(self, "differing").differing(values, box)

    def take(self, other: Elements, box: Box | None = None) -> None:
        _host(self, "take").take(_inside[other], box)

    def holds(self, other: Elements, box: Box | None = None) -> bool:
        return _host(self, "holds").holds(_inside[other], box)

    def add(self, other: Elements) -> None:
        _host(self, "add").add(_inside[other])

    def room(self) -> Kept:
        return OpaqueKept(_host(self, "room").room())

    def overlaps(self, other: Elements) -> bool:
        return isinstance(other, OpaqueElements) and _inside[self].overlaps(_inside[other])


class OpaqueKept(Kept):
    """A copy somewhere."""

    __slots__ = ()

    def __init__(self, inside: Kept) -> None:
        _inside[self] = inside
        self.nbytes = inside.nbytes

    @property
    def place(self) -> Hashable:
        return _inside[self].place

    def renew(self) -> None:
        _host(self, "renew").renew()

    def restore(self) -> None:
        _host(self, "restore").restore()

    def exchange(self) -> None:
        _host(self, "exchange").exchange()

    def add(self) -> None:
        _host(self, "add").add()

    def differs(self) -> bool:
        return _host(self, "differs").differs()

    def present(self, arena: Arena, name: str) -> Kept:
        return OpaqueKept(_host(self, "present").present(_inside[arena], name))


class OpaqueArena(Arena):
    """Room somewhere."""

    def __init__(self, inside: Arena) -> None:
        _inside[self] = inside

    def keep(self, elements: Elements, box: Box | None, name: str) -> Kept:
        return OpaqueKept(_host(self, "keep").keep(_inside[elements], box, name))


class OpaqueMemory(Memory):
    """The host's memory behind handles."""

    def __init__(self) -> None:
        _inside[self] = HostMemory()

    def allocate(self, size: int, *, lazily: bool = False) -> Allocation:
        return OpaqueAllocation(_host(self, "allocate").allocate(size, lazily=lazily))

    def elements(
        self,
        allocation: Allocation,
        offset: int,
        dtype: DType,
        shape: Sequence[int],
        strides: Sequence[int],
        nesting: Nesting | None = None,
    ) -> Elements:
        if nesting is not None:
            blocks = [replace(one, cells=_inside[one.cells]) for one in nesting.blocks]
            nesting = replace(nesting, blocks=tuple(blocks))
        found = _inside[self].elements(_inside[allocation], offset, dtype, shape, strides, nesting)
        return OpaqueElements(found)

    def wrap(self, values: Values) -> Elements:
        found = _inside[self].wrap(values)
        return OpaqueElements(found, found.address)  # the user's memory is where it is

    @property
    def is_apart(self) -> bool:
        return True

    @property
    def dlpack_device(self) -> tuple[int, int]:
        return 12, 0

    @property
    def stream(self) -> int | None:
        return None

    def elements_at(
        self, address: int, dtype: DType, shape: Sequence[int], owner: object
    ) -> Elements | None:
        return None

    def arena(self, capacity: Capacity, *, apart: bool = False) -> Arena:
        return OpaqueArena(_inside[self].arena(capacity, apart=apart))

    def capacity(self) -> Capacity:
        return Capacity()


@dataclass(frozen=True)
class _Real:
    """What a launch is passed, as the CPU takes it."""

    passed: Any

    @property
    def address(self) -> int:
        return _real.get(self.passed.address, self.passed.address)

    @property
    def dims(self) -> tuple[int, ...]:
        return self.passed.dims

    @property
    def host(self) -> Values | None:
        return self.passed.host

    def adjoint(self) -> PassedArray:
        return _Real(self.passed.adjoint())

    def tangent(self, number: int) -> PassedArray:
        return _Real(self.passed.tangent(number))


@dataclass(frozen=True)
class _RealMemory:
    """The memory that code reaches, as the CPU takes it."""

    memory: LaunchMemory

    def field(self, symbol: str) -> Addressable:
        return _Real(self.memory.field(symbol))

    @property
    def backlog(self) -> Backlog:
        return self.memory.backlog

    def deferred_writes(self, symbol: str) -> LaterWrites | None:
        return self.memory.deferred_writes(symbol)

    def check_bits(self, symbol: str) -> Addressable:
        return _Real(self.memory.check_bits(symbol))


class OpaqueCode(Code):
    """The CPU's code, launched with the addresses that handles stand for."""

    def __init__(self, inside: Code) -> None:
        self._inside, self.messages = inside, inside.messages

    def launch(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> tuple[Any, ...]:
        _counts["launch"] += 1
        return self._inside.launch(values, [_Real(array) for array in arrays])

    def ran_last_with(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> bool:
        return self._inside.ran_last_with(values, [_Real(array) for array in arrays])


class OpaqueExecutor(Executor):
    """The CPU with another memory."""

    def __init__(self) -> None:
        self.memory, self._cpu = OpaqueMemory(), CpuExecutor()

    def stages(self, mode: Mode, config: Config, *, keeps: bool = False) -> list[Stage]:
        return self._cpu.stages(mode, config, keeps=keeps)

    def compile(self, lowered: LoweredKernel, memory: LaunchMemory, config: Config) -> Code:
        return OpaqueCode(self._cpu.compile(lowered, _RealMemory(memory), config))

    def synchronize(self) -> None:
        self._cpu.synchronize()


@pytest.fixture(autouse=True)
def opaque_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every program of a module that imports this runs on the machine."""
    monkeypatch.setitem(EXECUTORS, "x64", OpaqueExecutor)
    yield
    _real.clear()
