"""Launches that come again in the same order: the driver is given a graph of them.

While a sequence is open (a tape, its reverse, a `ti.graph`), host code notes its launches. A row of
them ends when it is long enough, and before anything else is asked of the driver. The first time
its launches are made as they are noted; a row like one before becomes a graph. Then the next rows
are gathered first, and launched as a graph if they are known, or are by other arguments: else one
by one. What is launched is what was noted, addresses and all, so that an array that is freed, or
has moved, makes another row. A graph goes with the first module that one of its kernels is of.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

from mlirad.dialect.turn import free_in_forks
from mlirad.runtime.cuda.constants import STICKY
from mlirad.runtime.cuda.functions import Functions
from mlirad.runtime.cuda.sequences.driver_graph import DriverGraph, RefusedError
from mlirad.runtime.cuda.sequences.queue import SHORTEST, Noted, Queue, State, launches

LEAST = 3  # launches of a graph
_GRAPHS = 32  # of each kind
_SEEN = 4096

FINISH = ctypes.CFUNCTYPE(ctypes.c_int)


class Sequences:
    """What is noted goes to one stream; `turn` is held by host code that launches."""

    stream = 0

    def __init__(self, functions: Functions) -> None:
        self.turn = free_in_forks(RLock())
        self.queue = Queue(limit=SHORTEST)
        self.finish = FINISH(self.end)  # for host code
        self._functions = functions
        self.launch_timed: Callable[[list[Noted]], int] = self._launch_each
        self._open = 0
        self._next = State.WATCHED
        self.is_usable = functions.has_graphs
        self._graphs: dict[bytes, DriverGraph] = {}  # by their words, the one used last at the end
        self._flexible: dict[int, DriverGraph] = {}  # by shape; they take other arguments
        self._seen: set[int] = set()  # hashes of words, and shapes

    # Sequences.

    def begin(self) -> None:
        """Note launches from now on."""
        with self.turn:
            self._open += 1
            if self._open == 1 and self.is_usable:
                self.queue.state, self.queue.limit = self._next, SHORTEST

    def close(self) -> int:
        """Note them no more; what the driver returned, which has the context."""
        with self.turn:
            result = self.end()
            self._open -= 1
            if not self._open:
                self.queue.state = State.CLOSED
            return result

    def stop(self) -> int:
        """Hold nothing back any more, as another library looks at what launches leave."""
        with self.turn:
            result = self.end()
            self.is_usable, self.queue.state = False, State.CLOSED
            return result

    # Rows.

    def end(self) -> int:
        """Launch what is gathered; what the driver returned."""
        queue = self.queue
        with self.turn, _without_finalizers():
            if not queue.used:
                return 0
            try:
                if queue.state == State.TIMED:
                    return self.launch_timed(launches(queue))
                return self._end(queue.state == State.GATHERED)
            finally:
                queue.clear()

    def _end(self, is_gathered: bool) -> int:
        queue = self.queue
        noted: list[Noted] = []
        if queue.count >= LEAST:
            try:
                graph = self._find(noted, is_gathered)
                queue.state = self._next = State.WATCHED if graph is None else State.GATHERED
                if graph is not None and is_gathered:
                    graph.launch(self.stream)
                    return 0
            except RefusedError as refused:
                if refused.result in STICKY:
                    return refused.result
                self._give_up()
        return self._launch_each(noted or launches(queue)) if is_gathered else 0

    def _find(self, noted: list[Noted], is_gathered: bool) -> DriverGraph | None:
        """A graph of what is noted, if it came before, else one that has taken its arguments; for
        what is launched already, the one that there would be."""
        words, shape = self.queue.content(), self.queue.shape
        graph = self._graphs.pop(words, None)
        if graph is None:
            noted += launches(self.queue)
            key = hash(words)
            if key not in self._seen:
                self._note(key)
                return self._find_flexible(noted, words, shape, is_gathered)
            graph = DriverGraph(self._functions, noted, words)
        return _put(self._graphs, words, graph)

    def _find_flexible(
        self, noted: list[Noted], words: bytes, shape: int, is_gathered: bool
    ) -> DriverGraph | None:
        graph = self._flexible.get(shape)
        if graph is not None:
            differing = graph.fits(noted, words)
            if differing is None:
                return None
            if is_gathered:
                graph.update(noted, differing, words)
            del self._flexible[shape]
        elif shape in self._seen:
            graph = DriverGraph(self._functions, noted, words)
        else:
            self._note(shape)
            return None
        return _put(self._flexible, shape, graph)

    def _note(self, key: int) -> None:
        if len(self._seen) >= _SEEN:
            self._seen.clear()
        self._seen.add(key)

    def _launch_each(self, noted: list[Noted]) -> int:
        launch = self._functions["cuLaunchKernel"]
        for row in noted:
            result = launch(row.function, *row.sizes, self.stream, row.arguments, None)
            if result:
                return result
        return 0

    # What is no longer right.

    def forget(self, kernels: Collection[int]) -> None:
        """Kernels are about to be unloaded; the driver has the context."""
        with self.turn:
            self._seen.clear()
            for table in (self._graphs, self._flexible):
                _drop(table, lambda graph: not graph.kernels.isdisjoint(kernels))

    def _give_up(self) -> None:
        """Make no graphs any more: the driver refuses them."""
        self.is_usable = False
        self.queue.state = self._next = State.CLOSED
        for table in (self._graphs, self._flexible):
            _drop(table, lambda graph: True)


def _put(table: dict[Any, DriverGraph], key: object, graph: DriverGraph) -> DriverGraph:
    """Have a graph at the end of a table, which has so many."""
    table[key] = graph
    if len(table) > _GRAPHS:
        table.pop(next(iter(table))).destroy()
    return graph


def _drop(table: dict[Any, DriverGraph], is_wrong: Callable[[DriverGraph], bool]) -> None:
    for key in [key for key, graph in table.items() if is_wrong(graph)]:
        table.pop(key).destroy()


@contextmanager
def _without_finalizers() -> Iterator[None]:
    """Keep the collector from giving back, in this thread, what is noted and not launched."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
