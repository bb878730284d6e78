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
import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
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

INTERRUPTED = -1  # none of the driver's results
Call = Callable[[], int]
FINISH = ctypes.CFUNCTYPE(ctypes.c_int)


class Sequences:
    """The sequences of launches to one stream; host code that launches holds `turn`."""

    stream = 0

    def __init__(self, functions: Functions) -> None:
        self.turn = free_in_forks(RLock())
        self.queue = Queue(limit=SHORTEST)
        self.finish = FINISH(self._finish)  # for host code
        self._failure: BaseException | None = None
        self._results: list[int] = []  # of calls for a row
        self._functions = functions
        self.timed_calls: Callable[[Sequence[Noted]], list[Call]] = self._launch_calls
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
        """Launch what is gathered, whatever interrupts it; what the driver returned."""
        queue = self.queue
        with self.turn, _without_finalizers():
            if not queue.used:
                return 0
            state = State(queue.state)
            self._results.clear()
            try:
                self._end(state)
            except BaseException:
                if state >= State.GATHERED and not self._results:
                    self._call(self._launch_calls(launches(queue)))
                raise
            finally:
                queue.clear()
            return next((result for result in self._results if result), 0)

    def _finish(self) -> int:
        """`end`, for host code, through which nothing is raised."""
        try:
            return self.end()
        except BaseException as failure:
            self._failure = failure
            return INTERRUPTED

    def raise_failure(self) -> None:
        """Raise what host code was interrupted by, if anything."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _call(self, calls: Sequence[Call]) -> None:
        """Make calls of the driver, all of them: no signal is seen in between."""
        self._results.extend(map(operator.call, calls))

    def _launch_calls(self, noted: Sequence[Noted]) -> list[Call]:
        launch, stream = self._functions["cuLaunchKernel"], self.stream
        return [
            partial(launch, row.function, *row.sizes, stream, row.arguments, None) for row in noted
        ]

    def _end(self, state: State) -> None:
        queue = self.queue
        if state == State.TIMED:
            self._call(self.timed_calls(launches(queue)))
            return
        noted: list[Noted] = []
        if queue.count >= LEAST:
            try:
                if self._end_by_graph(noted, is_gathered=state == State.GATHERED):
                    return
            except RefusedError as refused:
                self._results.clear()
                if refused.result in STICKY:
                    self._results.append(refused.result)
                    return
                self._give_up()
        if state == State.GATHERED:
            self._call(self._launch_calls(noted or launches(queue)))

    def _end_by_graph(self, noted: list[Noted], *, is_gathered: bool) -> bool:
        """Return whether there was a graph, and was launched. Raises RefusedError."""
        graph = self._find(noted, is_gathered)
        self.queue.state = self._next = State.WATCHED if graph is None else State.GATHERED
        if graph is None or not is_gathered:
            return False
        self._call([graph.launch_call(self.stream)])
        if self._results[0]:
            raise RefusedError(self._results[0])
        return True

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
