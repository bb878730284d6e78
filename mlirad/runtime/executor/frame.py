"""The arguments of launches of machine code, packed as it takes them."""

from __future__ import annotations

import ctypes
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

from mlirad.ir.reports.message import RECORD_SIZE
from mlirad.ir.signature import (
    Argument,
    Begun,
    CheckBits,
    Errors,
    FieldAddress,
    Pages,
    Result,
    Results,
    Scratch,
    Signature,
    WorkersState,
)
from mlirad.runtime.executor.executor import Addressable, LastingArrays, PassedArray
from mlirad.runtime.memory.deferred_writes import Word

_POINTER = "!llvm.ptr"
WORD = 8  # bytes
_HALF = Struct("=e")


class _Half(ctypes.Structure):
    """A slot of a float of 16 bits, which ctypes does not have."""

    _fields_ = (("bits", ctypes.c_uint16),)

    def __init__(self, number: float = 0.0) -> None:
        self.value = number

    @property
    def value(self) -> float:
        number: float = _HALF.unpack(self)[0]
        return number

    @value.setter
    def value(self, number: float) -> None:
        try:
            packed = _HALF.pack(number)
        except OverflowError:
            packed = _HALF.pack(math.copysign(math.inf, number))
        self.bits = int.from_bytes(packed, sys.byteorder)


_CTYPES = {
    "f64": ctypes.c_double,
    "f32": ctypes.c_float,
    "i64": ctypes.c_int64,
    "i32": ctypes.c_int32,
    "i16": ctypes.c_int16,
    "i8": ctypes.c_int8,
    "i1": ctypes.c_bool,
    "index": ctypes.c_int64,
    "f16": _Half,
    _POINTER: ctypes.c_void_p,
}


class LaunchSpace(ABC):
    """The scratch memory of launches on an executor."""

    @abstractmethod
    def words(self, count: int) -> ctypes.Array[ctypes.c_int64]:
        """Zeroed words of 64 bits that Python and launches see, as long as this object lives."""

    @abstractmethod
    def scratch(self, size: int) -> Addressable:
        """Bytes that launches see, as long as this object lives; not cleared."""

    @abstractmethod
    def wait(self) -> None:
        """Return when all launches have ended."""

    def workers(self) -> Addressable:
        """The state of the threads that share parallel loops, on a machine that has any."""
        raise AssertionError("this machine has no workers")


class SeparateLaunchSpace(LaunchSpace):
    """The memory of launches that do not reach Python's."""

    @abstractmethod
    def run(
        self, function: Callable[[Any], None], frame: Frame, arrays: Sequence[PassedArray]
    ) -> None:
        """Make the call of a launch with copies of the arrays that Python has, which get back what
        is written."""


class Frame:
    """The arguments of one launch: what it sets, what it returns, what it found wrong.

    What is to be set, and from where, is read from the labels of the signature once; where fields
    lie, whenever some have moved.
    """

    def __init__(self, signature: Signature, room: LaunchSpace, result_count: int) -> None:
        self.scalars: list[tuple[Any, int]] = []  # a slot, and the number of its argument
        self.fields: list[tuple[Any, str]] = []  # a slot, and the field whose address it takes
        self.moves = -1  # of fields of the program, when their addresses were set
        self.checks: list[tuple[Any, str]] = []  # a slot, and the field whose check bits it takes
        self.begun: list[tuple[str, Word]] = []  # fields that count as 0 where a word is 1
        self.results: Any = None
        self.record: Any = None
        self.pages: Any = None  # the slot of the header of all pages
        self.takes_pages = False
        self.arrays: list[PassedSlot] = []
        self.passed: LastingArrays | None = None  # the arrays that the slots have, if they stay
        slots: list[Any] = [_CTYPES[parameter.type]() for parameter in signature]
        self._owners = slots[:]
        if result_count:
            self.results = room.words(result_count)
        self.packed = (ctypes.c_void_p * max(1, len(slots)))(*map(ctypes.addressof, slots))
        positions = _array_positions(signature)
        for slot, parameter in zip(slots, signature):
            match parameter.label:
                case Argument(number=number) as argument if number in positions:
                    self._array(slot, argument, positions[number])
                case Argument(number=number):
                    self.scalars.append((slot, number))
                case FieldAddress(symbol=symbol):
                    self.fields.append((slot, symbol))
                case CheckBits(symbol=symbol):
                    self.checks.append((slot, symbol))
                case Begun(symbol=symbol):
                    self.begun.append((symbol, room.words(1)))
                    slot.value = ctypes.addressof(self.begun[-1][1])
                case Results():
                    slot.value = ctypes.addressof(self.results)
                case Result(number=number):
                    slot.value = ctypes.addressof(self.results) + WORD * number
                case Scratch(size=size):
                    piece = room.scratch(size)
                    self._owners.append(piece)
                    slot.value = piece.address
                case WorkersState():
                    slot.value = room.workers().address
                case Pages(may_take=may_take):
                    self.pages, self.takes_pages = slot, may_take
                case Errors():
                    self.record = room.words(RECORD_SIZE)
                    slot.value = ctypes.addressof(self.record)

    def find_fields(self, find: Callable[[str], Addressable], moves: int) -> None:
        """Set the addresses of fields, which moved so many times so far."""
        self.moves = moves
        for slot, symbol in self.fields:
            slot.value = find(symbol).address

    def _array(self, slot: Any, argument: Argument, position: int) -> None:
        if argument.extent is None:
            self.arrays.append(PassedSlot(slot, argument, position))
        else:  # extents follow their array
            self.arrays[-1].extents.append((slot, argument.extent))

    def pass_arrays(self, arrays: Sequence[PassedArray]) -> None:
        """Set addresses and extents of array arguments."""
        for argument in self.arrays:
            array = arrays[argument.position] if argument.is_given else argument.array_in(arrays)
            argument.slot.value = array.address
            for slot, axis in argument.extents:
                slot.value = array.dims[axis]
        self.passed = arrays if type(arrays) is LastingArrays else None

    def holds(self, values: Sequence[Any], arrays: Sequence[PassedArray]) -> bool:
        """Return whether these are the arguments that were set."""
        slots = [(slot, values[number]) for slot, number in self.scalars]
        for argument in self.arrays:
            array = argument.array_in(arrays)
            slots.append((argument.slot, array.address))
            slots += [(slot, array.dims[axis]) for slot, axis in argument.extents]
        return all(type(slot)(value).value == slot.value for slot, value in slots)


class PassedSlot:
    """The slot and the identity of one array."""

    def __init__(self, slot: Any, argument: Argument, position: int) -> None:
        self.slot, self.extents = slot, list[tuple[Any, int]]()
        self.position = position
        self._is_adjoint, self._tangent = argument.is_adjoint, argument.tangent
        self.is_given = not argument.is_adjoint and argument.tangent is None
        self.is_written = argument.is_written

    def array_in(self, arrays: Sequence[PassedArray]) -> PassedArray:
        """The array, among the array arguments of a launch."""
        array = arrays[self.position]
        if self._is_adjoint:
            array = array.adjoint()
        return array if self._tangent is None else array.tangent(self._tangent)


def _array_positions(signature: Signature) -> dict[int, int]:
    """The position among array arguments by the number among all arguments."""
    numbers = dict.fromkeys(
        parameter.label.number
        for parameter in signature
        if isinstance(parameter.label, Argument) and parameter.type == _POINTER
    )
    return {number: position for position, number in enumerate(sorted(numbers))}
