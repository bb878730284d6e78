"""Messages among ranks, of arrays of any type."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from mlirad.distributed.mpi import MPI

Array = np.ndarray[Any, Any]
_NAP = 1e-5  # seconds


class Messages:
    """Messages among the ranks of a communicator.

    Requests are looked at, and waited for without keeping a processor busy: there may be more ranks
    than processors.
    """

    comm: Any
    rank: int
    size: int
    looks: float  # seconds for which a message is waited for without a nap

    def wait(self, *requests: Any) -> None:
        """Wait until messages have arrived, or may be sent over."""
        is_done, now, pending = MPI.Request.Testall, time.perf_counter, list(requests)
        if is_done(pending):
            return
        end = now() + self.looks
        while not is_done(pending):
            if now() < end:
                os.sched_yield()
            else:
                time.sleep(_NAP)

    def from_root(self, values: Array, root: int) -> Array:
        """An array of one rank, in all: `values` are of its shape and type in each."""
        buffer = np.array(values, order="C")
        self.wait(self.comm.Ibcast(_bytes(buffer), root))
        return buffer

    def gather(self, values: Array, root: int) -> Array:
        """An array of every rank, behind one another along the first axis, in one rank."""
        buffer = np.empty((values.shape[0] * self.size, *values.shape[1:]), values.dtype)
        is_root = self.rank == root
        sent = _bytes(np.ascontiguousarray(values))
        self.wait(self.comm.Igather(sent, _bytes(buffer) if is_root else None, root))
        return buffer

    def scatter(self, values: Array | None, shape: Sequence[int], dtype: Any, root: int) -> Array:
        """Return this rank's part along the first axis of an array of one rank."""
        buffer = np.empty(tuple(shape), dtype)
        sent = None if values is None else _bytes(np.ascontiguousarray(values))
        self.wait(self.comm.Iscatter(sent, _bytes(buffer), root))
        return buffer

    def any_of(self, flag: bool) -> bool:
        """Return whether a flag is set in one of the ranks."""
        buffer = np.empty(1, np.int8)
        self.wait(self.comm.Iallreduce(np.array([flag], np.int8), buffer, MPI.MAX))
        return bool(buffer[0])

    def counts_of_each(self, counts: Array) -> Array:
        """Exchange counts: from those for each rank to those of each rank for this one."""
        buffer = np.empty_like(counts)
        self.wait(self.comm.Ialltoall(counts, buffer))
        return buffer

    def to_each(self, rows: Array, sent: Array, received: Array) -> Array:
        """The rows that come from each rank; `sent` and `received` say how many go and come, those
        for rank 0 first."""
        width = rows.itemsize * prod(rows.shape[1:])  # there may be no row
        buffer = np.empty((int(received.sum()), *rows.shape[1:]), rows.dtype)
        rows_sent = np.ascontiguousarray(rows[: int(sent.sum())])
        self.wait(
            self.comm.Ialltoallv(
                [_flat(rows_sent), sent * width, MPI.BYTE],
                [_flat(buffer), received * width, MPI.BYTE],
            )
        )
        return buffer

    def post(
        self, sends: Sequence[tuple[int, int, Array]], receives: Sequence[tuple[int, int, Array]]
    ) -> Callable[[], None]:
        """Begin to send contiguous arrays to ranks and to receive others from them, each with a
        tag; what waits for them, and keeps them alive until then."""
        requests = [self.comm.Irecv(_bytes(a), source=peer, tag=tag) for peer, tag, a in receives]
        requests += [self.comm.Isend(_bytes(a), dest=peer, tag=tag) for peer, tag, a in sends]
        alive = [*sends, *receives]

        def finish() -> None:
            self.wait(*requests)
            alive.clear()

        return finish


def _bytes(array: Array) -> list[Any]:
    """An array as MPI moves it, whatever its type."""
    return [_flat(array), MPI.BYTE]


def _flat(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)
