"""Data races of parallel loops, found in any order of threads: `--races=THREADS` runs the pieces
of every loop one after the other, as so many threads would cut it, and fails a test in which two
pieces touch a byte that one of them writes, unless both do so in one step.

The accesses are those of the code that runs (`record-accesses`), lanes, sums of threads and private
copies included; what depends on where a thread happens to be is not looked for.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import replace

from mlirad.passes.cpu.record_accesses import LINE, RecordKind
from mlirad.pipeline.mode import Mode
from mlirad.pipeline.stages.stage import Stage
from mlirad.runtime.config import Config
from mlirad.runtime.cpu.cpu_executor import CpuExecutor
from mlirad.runtime.cpu.worker_code import Word
from mlirad.runtime.cpu.workers import Workers

RECORDS = 1 << 24
STACK = 1 << 23  # bytes that a thread's may have
Accesses = npt.NDArray[np.int64]  # [accesses, 5]: piece, first byte, end, What, line
_SHARE = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)
_PIECE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


class Log:
    """Where the accesses of a piece are written down, and what was found of the loops so far."""

    def __init__(self) -> None:
        self.words = np.zeros(2 + 2 * RECORDS, np.int64)
        self.words[1] = RECORDS
        self.found: list[str] = []
        self.loops = self.accesses = 0
        self.share = _SHARE(self._share)

    def _share(self, state: int, piece: int, frame: int, pieces: int, threads: int) -> None:
        del state, threads
        of_pieces = []
        for number in range(pieces):
            self.words[0] = 0
            _PIECE(piece)(frame, number)
            of_pieces.append(self._of_piece(number))
        self.loops += 1
        self.accesses += sum(map(len, of_pieces))
        if len(self.found) < 10:
            self.found += races(np.concatenate(of_pieces)) if of_pieces else []

    def _of_piece(self, number: int) -> Accesses:
        """What it accesses that is not its own."""
        count = int(self.words[0])
        if count > RECORDS:
            self.found.append(f"{count} accesses, more than there is room for")
            count = RECORDS
        records = self.words[2 : 2 + 2 * count].reshape(count, 2)
        first, what, line = records[:, 0], records[:, 1] >> 32 & 0xFF, records[:, 1] >> LINE
        last = first + (records[:, 1] & 0xFFFFFFFF)
        is_own = np.zeros(count, bool)
        for top in first[what == RecordKind.STACK]:
            is_own |= (first <= top) & (first > top - STACK)
        for at in np.flatnonzero(what == RecordKind.ALLOCATE):
            is_own |= (first >= first[at]) & (last <= last[at])
        kept = (what <= RecordKind.UPDATE) & ~is_own & (last > first)
        found = np.stack([np.full(count, number), first, last, what, line], axis=1)[kept]
        return np.unique(found, axis=0)


def races(accesses: Accesses) -> list[str]:
    """What is wrong with the accesses of a loop, a line of text for each pair of lines."""
    piece, first, last, what, line = accesses.T
    if not (what != RecordKind.READ).any():
        return []
    sizes = last - first
    access = np.repeat(np.arange(len(accesses)), sizes)
    byte = np.arange(len(access)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first[access]
    order = np.argsort(byte, kind="stable")
    byte, access = byte[order], access[order]
    starts = np.flatnonzero(np.r_[True, byte[1:] != byte[:-1]])
    least = np.minimum.reduceat(piece[access], starts)
    most = np.maximum.reduceat(piece[access], starts)
    writes = np.maximum.reduceat(what[access] != RecordKind.READ, starts)
    plain = np.maximum.reduceat(what[access] != RecordKind.UPDATE, starts)
    ends = np.r_[starts[1:], len(byte)]
    found = set()
    for at in np.flatnonzero((least != most) & writes & plain)[:1000]:
        here = access[starts[at] : ends[at]]
        found.add(
            ", ".join(sorted({f"line {line[k]} {RecordKind(what[k]).name.lower()}s" for k in here}))
        )
    return [f"pieces of a loop meet: {text}" for text in sorted(found)]


@functools.cache
def log() -> Log:
    """That of this process."""
    return Log()


def record(threads: int) -> None:
    """Have loops recorded from now on, and cut for so many threads where a program has one."""
    address = log().words.ctypes.data
    stages, clear = CpuExecutor.stages, Workers._clear

    def recorded(self: CpuExecutor, mode: Mode, config: Config, *, keeps: bool) -> list[Stage]:
        many = max(threads, config.cpu_max_num_threads)
        cut = replace(config, cpu_max_num_threads=many, thread_worth=0)
        made = stages(self, mode, cut, keeps=keeps)
        target = Stage(made[-1].name, f"{made[-1].passes},record-accesses{{log={address}}}")
        return [*made[:-1], target]

    def cleared(self: Workers) -> None:
        clear(self)
        self._words[Word.SHARE] = ctypes.cast(log().share, ctypes.c_void_p).value or 0

    CpuExecutor.stages = recorded  # type: ignore[method-assign]
    Workers._clear = cleared  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def no_races() -> Iterator[None]:
    """Fail a test in which pieces of a loop race."""
    log().found.clear()
    yield
    if log().found:
        pytest.fail("\n".join(log().found))


def pytest_sessionfinish() -> None:
    """Say how much was looked at."""
    print(f"\n{log().loops} loops, {log().accesses} accesses of their pieces")
