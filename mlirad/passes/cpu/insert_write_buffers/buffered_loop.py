"""A loop whose large arrays are written through buffers."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of
from mlirad.ir.marks.loop_hints import keep_scalar
from mlirad.ir.memory.descriptor import element_pointer, pointer_of
from mlirad.ir.ops import Llvm
from mlirad.ir.reports.remarks import move_remarks
from mlirad.ir.structured import WRITE_BUFFER, For
from mlirad.ir.vectors import load_lanes, vector_of
from mlirad.ir.walk import (
    at_start,
    before,
    block_operations,
    clone,
    entry_of,
    function_of,
    operations,
    replace,
)
from mlirad.passes.cpu.insert_write_buffers.written_arrays import Stream, streams_of

_BUFFERS, _LONGEST, _LINE = 1 << 13, 1024, 64  # bytes, iterations, bytes
_NOT_ATOMIC, _IN_ORDER = 0, 7  # LLVM's numbers of orders


def insert_buffers(function: ir.Operation, width: int, least: int) -> None:
    """Let the loops of a function write large arrays through buffers."""
    is_buffered = False
    for loop in reversed(list(operations(function))):  # inner ones first: others hold no buffers
        streams = streams_of(loop, least)
        if streams:
            _separate(loop, streams, width)
            is_buffered = True
    if is_buffered:  # other threads see everything when the function has returned
        with before(block_operations(entry_of(function))[-1]):
            order = ir.IntegerAttr.get(b.integer_type(64), _IN_ORDER)
            b.effect(Llvm.FENCE, [], ordering=order)


def _separate(loop: ir.Operation, streams: Sequence[Stream], width: int) -> None:
    """Put a loop with buffers in the place of a loop, where it reads none of its arrays; if it may
    read some, also keep it as it is."""
    selects = [select for stream in streams for select in stream.selects]
    if not selects:
        with before(loop):
            replace(loop, _BufferedLoop(loop, streams, width).make())
        return
    with before(loop):
        begins = b.all_of(list(dict.fromkeys(select.operands[0] for select in selects)))
        branch = b.if_else(begins, [result.type for result in loop.results])
        with ir.InsertionPoint(branch.otherwise):
            b.yield_(list(clone(loop, {}).results))
    for select in selects:
        replace(select, [select.operands[1]])
    for load in [load for stream in streams for load in stream.loads]:
        load.erase()
    with ir.InsertionPoint(branch.then), loop.location:
        b.yield_(_BufferedLoop(loop, streams, width).make())
    replace(loop, branch.results)


class _BufferedLoop:
    """The replacement of a loop that reads none of the arrays that it streams."""

    def __init__(self, loop: ir.Operation, streams: Sequence[Stream], width: int) -> None:
        self._loop, self._streams, self._width = loop, streams, width
        bytes_of_iteration = sum(stream.components * stream.element_bytes for stream in streams)
        longest = min(_LONGEST, max(_LINE, _BUFFERS // bytes_of_iteration))
        self._length = 1 << (longest.bit_length() - 1)  # of a block, in iterations
        with at_start(entry_of(function_of(loop)), loop.location):
            self._buffers = [self._buffer(stream) for stream in streams]

    def _buffer(self, stream: Stream) -> ir.Value:
        type_ = ir.MemRefType.get([self._length * stream.components], stream.element)
        mark = {WRITE_BUFFER: ir.UnitAttr.get()}
        line = ir.IntegerAttr.get(b.integer_type(64), _LINE)
        return b.alloca(type_, alignment=line, **mark)

    def make(self) -> list[ir.Value]:
        """Return what the loop carries out of it."""
        bounds, length = bounds_of(self._loop)[0], b.index(self._length)
        start = b.sub(bounds.lower, b.rem(bounds.lower, length))
        initial = list(self._loop.operands)[3:]
        addresses = [pointer_of(stream.memory) for stream in self._streams]
        blocks = b.for_loop(start, bounds.upper, length, initial)
        with ir.InsertionPoint(blocks.body):
            first = b.maxsi(blocks.induction, bounds.lower)
            last = b.minsi(b.add(blocks.induction, length), bounds.upper)
            results = self._compute(blocks, first, last)
            places = [b.sub(place, blocks.induction) for place in (first, last)]
            for stream, buffer, address in zip(self._streams, self._buffers, addresses):
                with stream.stores[0].location:
                    self._copy(stream, buffer, address, blocks.induction, places)
            b.yield_(results)
        return list(blocks.results)

    def _compute(self, blocks: For, first: ir.Value, last: ir.Value) -> list[ir.Value]:
        """Fill the buffers."""
        positions = {op: k for k, op in enumerate(block_operations(For(self._loop).body))}
        operands = [first, last, b.index(1), *blocks.carried]
        copy = self._loop.clone()
        for position, operand in enumerate(operands):
            copy.operands[position] = operand
        move_remarks(self._loop, copy)
        ops = block_operations(For(copy).body)
        for stream, buffer in zip(self._streams, self._buffers):
            for old, number in zip(stream.stores, stream.numbers):
                store = ops[positions[old]]
                with before(store):
                    place = b.sub(For(copy).induction, blocks.induction)
                    place = b.mul(place, b.index(stream.components))
                    b.write(store.operands[0], buffer, [b.add(place, b.index(number))])
                store.erase()
        return list(copy.results)

    def _copy(
        self,
        stream: Stream,
        buffer: ir.Value,
        address: ir.Value,
        block: ir.Value,
        places: Sequence[ir.Value],
    ) -> None:
        """Copy the elements of a buffer between two places: whole vectors past the caches, and one
        by one those in front of the first address of a vector, and behind the last."""
        to = element_pointer(address, stream.element, _offset(stream, block))
        low, high = (b.mul(place, b.index(stream.components)) for place in places)
        lanes = self._width // stream.element_bytes
        size = b.number(stream.element_bytes, b.integer_type(64))
        number = b.to_index(b.div(b.ptrtoint(to, size.type), size))
        beside = b.andi(b.sub(b.index(0), b.add(number, low)), b.index(lanes - 1))
        begin = b.minsi(b.add(low, beside), high)
        behind = b.andi(b.sub(high, begin), b.index(lanes - 1))
        end = b.sub(high, behind)
        self._copy_each(stream, buffer, to, low, begin)
        vectors = b.for_loop(begin, end, b.index(lanes))
        with ir.InsertionPoint(vectors.body):
            value = load_lanes(buffer, [vectors.induction], vector_of(lanes, stream.element))
            place = element_pointer(to, stream.element, _word(vectors.induction))
            _store(value, place, self._width, past_caches=True)
            b.yield_()
        self._copy_each(stream, buffer, to, end, high)

    def _copy_each(
        self, stream: Stream, buffer: ir.Value, to: ir.Value, low: ir.Value, high: ir.Value
    ) -> None:
        elements = b.for_loop(low, high, b.index(1))
        keep_scalar(elements.op)
        with ir.InsertionPoint(elements.body):
            value = b.read(buffer, [elements.induction])
            place = element_pointer(to, stream.element, _word(elements.induction))
            _store(value, place, stream.element_bytes)
            b.yield_()


def _offset(stream: Stream, block: ir.Value) -> ir.Value:
    """Return how many elements lie in front of those of an iteration."""
    strides, _ = ir.MemRefType(stream.memory.type).get_strides_and_offset()
    indices = [*list(stream.stores[0].operands)[2:][: stream.axis], block]
    total = b.index(0)
    for index, stride in zip(indices, strides):
        total = b.add(total, b.mul(index, b.index(stride)))
    return _word(total)


def _word(index: ir.Value) -> ir.Value:
    return b.index_cast(index, b.integer_type(64))


def _store(value: ir.Value, place: ir.Value, size: int, *, past_caches: bool = False) -> None:
    number = b.integer_type(64)
    store = b.effect(
        *(Llvm.STORE, [value, place]),
        alignment=ir.IntegerAttr.get(number, size),
        ordering=ir.IntegerAttr.get(number, _NOT_ATOMIC),
    )
    if past_caches:
        store.attributes["nontemporal"] = ir.UnitAttr.get()
