"""The processes that run one program together: who they are, and whether they do the same."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any, TypeVar, cast

import numpy as np

from mlirad.distributed.messages import Messages
from mlirad.distributed.mpi import MPI, end_all, end_all_on_errors, local_size, world
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.callers import caller

Array = np.ndarray[Any, Any]
Result = TypeVar("Result")
# A nap is longer than most messages take, and one rank's naps make the others nap: only ranks that
# wait for processors do soon
_LOOKS, _FEW_LOOKS = 300e-6, 20e-6
_SMALL = 1 << 20  # bytes, of what all ranks together contribute to a sum


class Ranks(Messages):
    """The ranks of `mpiexec`, numbered from 0; one without it.

    Every communication is one that all ranks take part in, in the same order, from one thread of
    each. Before each they compare what they are about to do: where that differs, all raise
    TaichiRuntimeError, which says what each was about to do and where.
    """

    def __init__(self) -> None:
        self.comm = world()
        self.rank, self.size = int(self.comm.Get_rank()), int(self.comm.Get_size())
        self.local_size = local_size(self.comm)
        self.looks = _LOOKS if self.local_size <= _processors() else _FEW_LOOKS
        self._numbers = 0
        self._thread: threading.Thread | None = None
        if self.size > 1:
            end_all_on_errors(self.comm)
            atexit.register(self._end)

    def number(self) -> int:
        """A number for the next communication."""
        self._numbers += 1
        return self._numbers

    # What all are about to do.

    def agree(self, action: str, flag: bool = False) -> bool:
        """Return whether a flag is set in one of the ranks. Raises TaichiRuntimeError, in all of
        them, if they are not about to do the same."""
        self._check_thread()
        if self.size == 1:
            return flag
        key = int.from_bytes(blake2b(action.encode(), digest_size=7).digest(), "little")
        sent, received = np.array([key, -key, flag], np.int64), np.empty(3, np.int64)
        self.wait(self.comm.Iallreduce(sent, received, MPI.MAX))
        if received[0] != -received[1]:
            raise TaichiRuntimeError(self._differences(action))
        return bool(received[2])

    def together(self, action: Callable[[], Result]) -> Result:
        """Carry out an action in this rank. If it fails in one, all raise: that one its
        exception, the others TaichiRuntimeError."""
        error, said, result = None, None, None
        try:
            result = action()
        except Exception as raised:  # which all hear of
            error, said = raised, f"rank {self.rank}: {type(raised).__name__}: {raised}"
        failed = [text for text in self.comm.allgather(said) if text is not None]
        if error is not None:
            raise error
        if failed:
            raise TaichiRuntimeError("\n".join(["another rank failed:", *failed]))
        return cast("Result", result)

    def _check_thread(self) -> None:
        current = threading.current_thread()
        if self._thread is None:
            self._thread = current
            if (
                current is not threading.main_thread()
                and MPI.Query_thread() < MPI.THREAD_SERIALIZED
            ):
                raise TaichiRuntimeError(
                    "mlirad.dist: this MPI may be called from the main thread only "
                    "(MPI_THREAD_FUNNELED)"
                )
        if current is not self._thread:
            raise TaichiRuntimeError(
                f"mlirad.dist: the ranks communicate from thread '{self._thread.name}', and this "
                f"is '{current.name}': the order among threads is not the same in all ranks, so "
                "one thread of each communicates"
            )

    def _differences(self, action: str) -> str:
        said = self.comm.allgather((action, caller()))
        groups: dict[tuple[str, str], list[int]] = {}
        for rank, entry in enumerate(said):
            groups.setdefault(entry, []).append(rank)
        lines = [
            f"  rank{'s' * (len(who) > 1)} {_join_words(who)}: {action_of_ranks}, at {where}"
            for (action_of_ranks, where), who in groups.items()
        ]
        return "\n".join(["the ranks do not call the same function:", *lines])

    def _end(self) -> None:
        """The program ends: so it does in all ranks."""
        if MPI.Is_finalized():
            return
        sys.stdout.flush()
        self._thread = None
        try:
            self.agree("the end of the program")
        except TaichiRuntimeError as error:
            end_all(self.comm, str(error))

    def sum_everywhere(self, values: Array) -> Array:
        """The sum of an array of every rank: the same bits in each."""
        if self.size == 1:
            return values.copy()
        sent = _for_sums(values)
        if sent.nbytes * self.size <= _SMALL:
            gathered = np.empty((self.size, *sent.shape), sent.dtype)
            self.wait(self.comm.Iallgather(sent, gathered))
            total = gathered[0].copy()
            for values_of_rank in gathered[1:]:
                total += values_of_rank
        else:
            counts = [
                len(piece) for piece in np.array_split(np.empty(sent.size, np.int8), self.size)
            ]
            piece_of_rank = np.empty(counts[self.rank], sent.dtype)
            self.wait(self.comm.Ireduce_scatter(sent, piece_of_rank, counts, MPI.SUM))
            total = np.empty(sent.shape, sent.dtype)
            self.wait(self.comm.Iallgatherv(piece_of_rank, [total, counts]))
        return total.astype(values.dtype, copy=False).reshape(values.shape)

    def sum_at(self, values: Array, root: int) -> Array:
        """The sum of an array of every rank, in one; nothing of use in others."""
        if self.size == 1:
            return values.copy()
        sent = _for_sums(values)
        is_root, is_small = self.rank == root, sent.nbytes * self.size <= _SMALL
        if not is_small:
            total = np.empty_like(sent)
            self.wait(self.comm.Ireduce(sent, total, MPI.SUM, root))
        else:
            gathered = np.empty((self.size if is_root else 0, *sent.shape), sent.dtype)
            self.wait(self.comm.Igather(sent, gathered if is_root else None, root))
            total = gathered[0].copy() if is_root else sent
            for values_of_rank in gathered[1:]:
                total += values_of_rank
        return total.astype(values.dtype, copy=False).reshape(values.shape)

    def extreme_everywhere(self, values: Array, is_max: bool) -> tuple[Array, Array]:
        """The largest or the smallest of an array's elements, and which rank has it: of several,
        the lowest. Raises TaichiRuntimeError for NaN."""
        extremes = np.empty_like(values)
        kind = MPI.MAX if is_max else MPI.MIN
        self.wait(self.comm.Iallreduce(np.ascontiguousarray(values), extremes, kind))
        first_with_it = np.where(values == extremes, self.rank, self.size).astype(np.int32)
        who = np.empty_like(first_with_it)
        self.wait(self.comm.Iallreduce(first_with_it, who, MPI.MIN))
        if (who == self.size).any():
            raise TaichiRuntimeError(
                f"{'max' if is_max else 'min'} over ranks: an element is NaN, which is neither "
                "larger nor smaller than others"
            )
        return extremes, who


def _for_sums(values: Array) -> Array:
    """A contiguous array of a type that MPI adds."""
    if values.dtype == np.float16:
        return values.astype(np.float32)
    return np.ascontiguousarray(values)


def _join_words(ranks: Sequence[int]) -> str:
    if len(ranks) > 8:
        return f"{', '.join(map(str, ranks[:8]))} and {len(ranks) - 8} more"
    return ", ".join(map(str, ranks))


@cache
def ranks() -> Ranks:
    """The ranks of this program."""
    return Ranks()


def processors() -> int:
    """The processors that are there for a rank: those of the machine, shared with the other ranks
    on it."""
    return max(1, _processors() // ranks().local_size)


def _processors() -> int:
    """Return the number of processors of this machine."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return there or 1
