"""Arrays that have deferred writes, wherever they lie."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from threading import Lock

from mlirad.dialect.turn import free_in_forks
from mlirad.runtime.boxes import Box

Ends = tuple[int, int]  # the first and the last row of a range


class Backlog:
    """The arrays of a program that have deferred writes: a set that launches look at, empty most of
    the time. `lock` is held while writes are deferred, and while they are done. It also counts what
    else launches look at, moves."""

    def __init__(self) -> None:
        self.arrays: set[LaterWrites] = set()
        self.moves = 0  # of fields; launches that begin later find them where they are
        self.lock = free_in_forks(Lock())

    def release_copies(self) -> None:
        """Do the writes of copies, whose memory is given back."""
        for array in list(self.arrays):
            array.release_copies()


class LaterWrites(ABC):
    """Deferred writes to one array; until they are done, memory holds anything there. Whoever reads
    elements, or writes to them, calls one of these before."""

    __slots__ = ()

    @abstractmethod
    def __bool__(self) -> bool:
        """Return whether there are deferred writes."""

    @property
    @abstractmethod
    def are_possible(self) -> bool:
        """Return whether there may ever be deferred writes."""

    @abstractmethod
    def clear(self, backlog: Backlog) -> bool:
        """Defer zeros for all elements; whether they are deferred."""

    @abstractmethod
    def finish(self, rows: Sequence[Ends] | None = None) -> None:
        """Do all of them, or those to some rows: the first and the last of each range."""

    @abstractmethod
    def drop_box(self, box: Box) -> None:
        """Forget those to elements of a box, all of which are about to be set."""

    @abstractmethod
    def drop_zeros(self, rows: Ends | None = None) -> bool:
        """All elements, or those of some rows, are about to be set, to what is added to them:
        forget zeros for them, if all were to be set to these; whether they were."""

    @abstractmethod
    def release_copies(self) -> None:
        """Do those of copies."""
