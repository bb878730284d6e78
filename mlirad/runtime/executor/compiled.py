"""Machine code of the host: a kernel, or what launches its loops; a launch has its frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

from mlirad.runtime.executor.executor import Code, LaunchMemory, LoweredKernel, PassedArray
from mlirad.runtime.executor.frame import Frame, LaunchSpace, SeparateLaunchSpace
from mlirad.runtime.failures import raise_recorded

# results, of 8 bytes each
_WORDS = {
    "f64": "d",
    "f32": "f4x",
    "f16": "e6x",
    "u1": "?7x",
    "i8": "b7x",
    "i16": "h6x",
    "i32": "i4x",
    "i64": "q",
    "u8": "B7x",
    "u16": "H6x",
    "u32": "I4x",
    "u64": "Q",
}


class CompiledKernel(Code):
    """Machine code of one kernel: each launch has a frame to itself."""

    def __init__(
        self,
        lowered: LoweredKernel,
        function: Callable[[Any], None],
        memory: LaunchMemory,
        room: LaunchSpace,
        owner: object = None,
    ) -> None:
        self.function = function
        self._owner = owner  # of the memory that the function is in
        self._room = room
        self._run = room.run if isinstance(room, SeparateLaunchSpace) else None
        self.messages, self._failure = lowered.messages, lowered.failure
        self._signature = lowered.signature
        self._launch_memory, self._clearing = memory, memory.clearing
        # the version of what waits, when none of these fields did; -1: launches look every time
        self._ready_since = 0
        self._used_since = -1  # the same of those that a launch does not know more of
        # as long as the code
        self._memory = {symbol: memory.field(symbol) for symbol in lowered.fields}
        self._results = (
            Struct("=" + "".join(_WORDS[dtype.name] for dtype in lowered.results))
            if lowered.results
            else None
        )
        self._result_count = len(lowered.results)
        self._moves = self._clearing.moves  # that its frames know of
        first = self._frame()
        anew, touched = {symbol for _, symbol, _ in first.anew}, lowered.touched
        waiting = {symbol: memory.waiting(symbol) for symbol in self._memory}
        self._sets = [
            (one, touched.sets[name]) for name, one in waiting.items() if name in touched.sets
        ]
        self._rows = [
            (one, touched.rows[name]) for name, one in waiting.items() if name in touched.rows
        ]
        self._anew = [(waiting[one], touched.begun[one][number]) for _, one, number in first.anew]
        self._left = [(name, box) for name, boxes in touched.left.items() for box in boxes]
        self._memory |= {name: memory.field(name) for name in touched.left}
        self._used = [
            one for name, one in waiting.items() if name not in anew and name not in touched.rows
        ]
        if first.checks or first.anew:
            self._ready_since = -1
        self._ended = first.record is not None or first.results is not None
        self._idle = [first]  # the one of the launch that ended last is the last

    def _frame(self) -> Frame:
        found = Frame(self._signature, self._room, self._result_count)
        found.find_fields(self._memory.__getitem__)
        return found

    def launch(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> tuple[Any, ...]:
        idle = self._idle
        try:
            frame = idle.pop()
        except IndexError:  # as many launches as there were at once run now
            frame = self._frame()
        for slot, number in frame.scalars:
            slot.value = values[number]
        if frame.arrays:
            frame.pass_arrays(arrays)
        if self._clearing.version != self._ready_since:
            self._prepare(frame, values)
            idle = self._idle
        if self._run is None:
            self.function(frame.packed)
        else:
            self._run(self.function, frame, arrays)
        for symbol, box in self._left:
            self._launch_memory.clear(symbol, box(values))
        found = self._end(frame) if self._ended else ()
        idle.append(frame)
        return found

    def _prepare(self, frame: Frame, values: Sequence[Any]) -> None:
        """Set what differs from launch to launch of the fields' memory, and let nothing of it wait,
        but for what the launch sets as a whole."""
        memory, version = self._launch_memory, self._clearing.version
        if self._moves != self._clearing.moves:
            self._moves = self._clearing.moves
            frame.find_fields(self._memory.__getitem__)
            self._idle = []  # others, of launches that still run too, are not used again
        for slot, symbol in frame.checks:
            slot.value = memory.check_bits(symbol).address
        for waiting, boxes in self._sets:
            if waiting.is_any:
                for box in boxes:
                    waiting.begin(box(values))
        if version != self._used_since:
            for waiting in self._used:
                waiting.use()
            self._used_since = version
        for (word, _, _), (waiting, box) in zip(frame.anew, self._anew):
            word[0] = waiting.begin_anew(box(values))
        waits = False
        for waiting, rows in self._rows:
            if waiting.is_any:
                waits |= waiting.use([one(values) for one in rows])
        if self._ready_since >= 0 and not waits:
            self._ready_since = version

    def _end(self, frame: Frame) -> tuple[Any, ...]:
        self._room.wait()
        if frame.record is not None and frame.record[0]:
            # and the frame is not used again
            raise_recorded(self.messages, frame.record, self._failure)
        return (
            ()
            if frame.results is None or self._results is None
            else self._results.unpack_from(frame.results)
        )

    def ran_last_with(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> bool:
        frame = next(iter(self._idle[-1:]), None)
        return frame is not None and frame.holds(values, arrays)
