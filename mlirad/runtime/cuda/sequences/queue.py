"""Launches as host code notes them, one behind the other: what the shims write, and Python reads.

A launch is a row of words: the kernel's handle, three extents of the grid, three of a block, bytes
of shared memory, how many arguments there are, their addresses, and the arguments, in words whose
unused bytes are 0. Addresses are those of this buffer, so equal launches are equal words.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from mlirad.bindings import ir
from mlirad.dialect.layout_rules import ELEMENT_SIZES

WORD = 8
HEAD = 9  # words in front of the addresses
CAPACITY = 1 << 15  # words
SHORTEST, LONGEST = 8, 64  # launches of a row: the first is short, so that a GPU begins soon
_SIZES = {"!llvm.ptr": WORD, **ELEMENT_SIZES}


class State(IntEnum):
    """The treatment of a launch by host code."""

    CLOSED = 0  # launches
    WATCHED = 1  # launches, and notes
    GATHERED = 2  # notes
    TIMED = 3  # notes, so that the launch has events around it


class Queue(ctypes.Structure):
    """Fields are known to the shims by their position."""

    _fields_ = [
        ("state", ctypes.c_int64),
        ("used", ctypes.c_int64),  # words
        ("count", ctypes.c_int64),  # launches
        ("shape", ctypes.c_int64),  # a hash of all but the arguments
        ("limit", ctypes.c_int64),  # launches of this row
        ("words", ctypes.c_int64 * CAPACITY),
    ]
    state: int
    used: int
    count: int
    shape: int
    limit: int
    words: ctypes.Array[ctypes.c_int64]

    def clear(self) -> None:
        """Forget what is noted: the next row may be twice as long."""
        self.used = self.count = self.shape = 0
        self.limit = min(LONGEST, 2 * self.limit)

    def content(self) -> bytes:
        """A copy of the words."""
        return ctypes.string_at(ctypes.addressof(self.words), WORD * self.used)


class Noted(NamedTuple):
    """A launch: where its words begin, and what they say; `arguments` is the address of the
    addresses."""

    at: int
    function: int
    sizes: Sequence[int]  # of the grid, of a block, of shared memory
    arity: int
    arguments: int

    @property
    def end(self) -> int:
        """Return where the next launch begins."""
        return self.at + HEAD + 2 * self.arity


def launches(queue: Queue) -> list[Noted]:
    """Return the noted launches."""
    words, base = queue.words, ctypes.addressof(queue.words)
    noted, at = [], 0
    while at < queue.used:
        head = words[at : at + HEAD]
        noted.append(Noted(at, head[0], head[1:8], head[8], base + WORD * (at + HEAD)))
        at = noted[-1].end
    return noted


def masks(types: Sequence[ir.Type]) -> ctypes.Array[ctypes.c_int64] | None:
    """For each argument of a kernel the bytes of a word that it has; None where one has more."""
    sizes = [_SIZES.get(str(type_)) for type_ in types]
    if None in sizes:
        return None
    values = [(1 << 8 * size) - 1 for size in sizes if size is not None]
    return (ctypes.c_int64 * max(1, len(values)))(
        *(value - (value >> 63 << 64) for value in values)
    )
