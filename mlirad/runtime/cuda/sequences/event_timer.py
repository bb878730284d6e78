"""The times of launches, by events that the driver records before each and behind it."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial

from mlirad.runtime.cuda.connection import Connection
from mlirad.runtime.cuda.sequences.queue import Noted, State
from mlirad.runtime.cuda.sequences.sequences import Call
from mlirad.runtime.executor.executor import LaunchTimer, LoopTime

_DEFAULT = 0  # flags of an event: with its time


class EventTimer(LaunchTimer):
    """Launches of host code are gathered, and made between two events each; the names of loops are
    those of their kernels' handles."""

    def __init__(self, connection: Connection) -> None:
        self.turn = connection.turn
        self._connection = connection
        self._sequences = connection.sequences
        self._idle: list[ctypes.c_void_p] = []
        self._spans: list[tuple[int, ctypes.c_void_p, ctypes.c_void_p]] = []
        self._state = State.CLOSED

    def begin(self) -> None:
        queue = self._sequences.queue
        if queue.used:
            self._connection.flush()
        self._state = State(queue.state)
        queue.state, self._sequences.timed_calls = State.TIMED, self._calls

    def _calls(self, noted: Sequence[Noted]) -> list[Call]:
        functions, stream = self._connection.functions, self._connection.stream
        launch, record = functions["cuLaunchKernel"], functions["cuEventRecord"]
        calls: list[Call] = []
        for row in noted:
            before, behind = self._event(), self._event()
            self._spans.append((row.function, before, behind))
            calls += (
                partial(record, before, stream),
                partial(launch, row.function, *row.sizes, stream, row.arguments, None),
                partial(record, behind, stream),
            )
        return calls

    def _event(self) -> ctypes.c_void_p:
        if self._idle:
            return self._idle.pop()
        event = ctypes.c_void_p()
        self._connection.functions["cuEventCreate"](ctypes.byref(event), _DEFAULT)
        return event

    def end(self, names: Mapping[int, str]) -> tuple[float, list[LoopTime]] | None:
        queue, spans = self._sequences.queue, self._spans
        try:
            self._connection.wait("finish its launches")
        finally:
            queue.clear()
            queue.state, self._spans = self._state, []
            self._idle += [event for _, *events in spans for event in events]
        if not spans:
            return None
        loops: dict[str, float] = {}
        for handle, before, behind in spans:
            name = names.get(handle, "")
            loops[name] = loops.get(name, 0.0) + self._between(before, behind)
        return self._between(spans[0][1], spans[-1][2]), list(loops.items())

    def _between(self, before: ctypes.c_void_p, behind: ctypes.c_void_p) -> float:
        milliseconds = ctypes.c_float()
        doing, place = "tell times of launches", ctypes.byref(milliseconds)
        self._connection.ask(doing, "cuEventElapsedTime_v2", place, before, behind)
        return milliseconds.value
