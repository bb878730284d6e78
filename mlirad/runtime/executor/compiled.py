"""Machine code of the host: a kernel, or what launches its loops; a launch has its frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

from mlirad.ir.signature import Begun as BegunLabel
from mlirad.runtime.executor.executor import Code, LaunchMemory, LoweredKernel, PassedArray
from mlirad.runtime.executor.frame import Frame, LaunchSpace, SeparateLaunchSpace
from mlirad.runtime.failures import raise_recorded
from mlirad.runtime.memory.deferred_writes import NO_STEP, FieldAccesses

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
        self._launch_memory, self._backlog = memory, memory.backlog
        self._deferred = memory.backlog.arrays
        # as long as the code
        self._memory = {symbol: memory.field(symbol) for symbol in lowered.fields}
        self._results = (
            Struct("=" + "".join(_WORDS[dtype.name] for dtype in lowered.results))
            if lowered.results
            else None
        )
        self._result_count = len(lowered.results)
        first = self._frame()
        later = lowered.row_notes.later  # fields whose addresses the code may not need
        fields = {symbol: memory.deferred_writes(symbol) for symbol in {**self._memory, **later}}
        assert all(fields[name] is not None for name in later), "zeros would be lost"
        large = {
            name: writes
            for name, writes in fields.items()
            if writes is not None and (writes.are_possible or name in later)
        }
        labels = [p.label for p in lowered.signature if isinstance(p.label, BegunLabel)]
        begun = {label.symbol: label.is_box for label in labels}
        self._accesses = FieldAccesses(large, lowered.row_notes, begun)
        self._ended = first.record is not None or first.results is not None
        self._idle = [first]  # the one of the launch that ended last is the last

    def _frame(self) -> Frame:
        frame = Frame(self._signature, self._room, self._result_count)
        frame.find_fields(self._memory.__getitem__, self._backlog.moves)
        return frame

    def launch(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> tuple[Any, ...]:
        idle = self._idle
        try:
            frame = idle.pop()
        except IndexError:  # as many launches as there were at once run now
            frame = self._frame()
        if frame.moves != self._backlog.moves:
            frame.find_fields(self._memory.__getitem__, self._backlog.moves)
        for slot, number in frame.scalars:
            slot.value = values[number]
        if frame.arrays and frame.passed is not arrays:
            frame.pass_arrays(arrays)
        if frame.checks:
            for slot, symbol in frame.checks:
                slot.value = self._launch_memory.check_bits(symbol).address
        step = NO_STEP
        if self._deferred or self._accesses.leaves_zeros:
            step = self._accesses.prepare(self._backlog, values, frame.begun)
        if self._run is None:
            self.function(frame.packed)
        else:
            self._run(self.function, frame, arrays)
        if step is not NO_STEP:
            self._accesses.end(self._backlog, step, frame.begun)
        results = self._end(frame) if self._ended else ()
        idle.append(frame)
        return results

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
