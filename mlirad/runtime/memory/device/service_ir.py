"""The kernels that a device's memory runs for itself, as a frontend would hand them over.

Each goes through a box of words; where the words are, is passed to it: the arrays, the extents of
the box, for each array how many words it goes on along each axis, and then numbers of the kernel's
own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

import msgspec

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import array_type, element_type
from mlirad.ir import build as b
from mlirad.ir.signature import argument_label, label_parameters, paged_label
from mlirad.ir.walk import at_end, entry_of


class Operation(Enum):
    """An operation on the words of some arrays."""

    COPY = "copy"  # the second to the first
    EXCHANGE = "exchange"  # the first and the second
    ADD = "add"  # the second to the first
    FILL = "fill"  # the first with a number
    FILL_WHERE = "fill_where"  # the same, where a byte of the second is not 0
    DIFFER = "differ"  # a flag, the third, is set where the first and the second do
    ANY = "any"  # a flag, the second, is set where the first has a bit of a mask
    GATHER = "gather"  # the second, as far behind its place as the third says, to the first
    SCATTER = "scatter"  # the first to the second there


class Service(msgspec.Struct, frozen=True):
    """A kernel: what it does, to what, in how many loops. Words are integers, but for sums.
    `paged`: whether arrays are, the first ones of all, in paged memory."""

    operation: Operation
    word: str
    rank: int
    paged: tuple[bool, ...] = ()

    @property
    def name(self) -> str:
        """The name of its function."""
        pages = "".join(f"_{number}" for number, is_paged in enumerate(self.paged) if is_paged)
        return f"{self.operation.value}_{self.word}_{self.rank}{pages and '_pages'}{pages}"

    @property
    def words(self) -> list[str]:
        """The types of the arrays that go through the box."""
        return [self.word, *(word or self.word for word in _OTHERS.get(self.operation, ()))]


_BYTE, _PLACE = "i8", "i64"
# the types of arrays that go through the box behind the first: its own, or others
_OTHERS = {
    Operation.COPY: ("",),
    Operation.EXCHANGE: ("",),
    Operation.ADD: ("",),
    Operation.FILL_WHERE: (_BYTE,),
    Operation.DIFFER: ("",),
    Operation.GATHER: ("", _PLACE),
    Operation.SCATTER: ("", _PLACE),
}
_WITH_FLAG = (Operation.DIFFER, Operation.ANY)
_WITH_NUMBER = (Operation.FILL, Operation.FILL_WHERE, Operation.ANY)


def build(service: Service) -> ir.Module:
    """The module of a kernel. Needs a context and a location."""
    module = ir.Module.create()
    word = ir.Type.parse(service.word)
    boxed = [ir.Type.parse(name) for name in service.words]
    flags = [ir.Type.parse(_BYTE)] * (service.operation in _WITH_FLAG)
    arrays = [array_type(type_, [-1]) for type_ in [*boxed, *flags]]
    places = [b.index_type()] * (service.rank * (1 + len(boxed)))
    numbers = [word] * (service.operation in _WITH_NUMBER)
    inputs = [*arrays, *places, *numbers]
    paged = [*service.paged, *[False] * (len(inputs) - len(service.paged))]
    labels = label_parameters(
        {**argument_label(number), **(paged_label() if is_paged else {})}
        for number, is_paged in enumerate(paged)
    )
    with ir.InsertionPoint(module.body):
        function = b.function(service.name, inputs, [], labels, is_private=False)
    entry = entry_of(function)
    arguments = list(entry.arguments)
    with at_end(entry, function.location):
        scalars = arguments[len(arrays) :]
        extents, strides = scalars[: service.rank], scalars[service.rank : len(places)]
        _fill_box(service, arguments[: len(arrays)], extents, strides, scalars[len(places) :])
        b.return_()
    return module


def _fill_box(
    service: Service,
    arrays: Sequence[ir.Value],
    extents: Sequence[ir.Value],
    strides: Sequence[ir.Value],
    numbers: Sequence[ir.Value],
) -> None:
    rank, zero, unit = service.rank, b.index(0), b.index(1)
    loop = b.parallel_loop([zero] * rank, extents, [unit] * rank)
    body = loop.op.regions[0].blocks[0]
    with at_end(body, loop.op.location):
        places = [
            [_sum(body.arguments, strides[start : start + rank])]
            for start in range(0, len(strides), rank)
        ]
        _BODIES[service.operation](arrays, places, numbers)
        b.end_parallel()


def _sum(indices: Sequence[ir.Value], strides: Sequence[ir.Value]) -> ir.Value:
    total = b.mul(indices[0], strides[0])
    for index, stride in zip(indices[1:], strides[1:]):
        total = b.add(total, b.mul(index, stride))
    return total


Values = Sequence[ir.Value]
Places = Sequence[Values]


def _copy(arrays: Values, places: Places, _: Values) -> None:
    field.store(field.load(arrays[1], places[1]), arrays[0], places[0])


def _exchange(arrays: Values, places: Places, _: Values) -> None:
    first, second = field.load(arrays[0], places[0]), field.load(arrays[1], places[1])
    field.store(second, arrays[0], places[0])
    field.store(first, arrays[1], places[1])


def _add(arrays: Values, places: Places, _: Values) -> None:
    first, second = field.load(arrays[0], places[0]), field.load(arrays[1], places[1])
    field.store(b.combine("add", first, second), arrays[0], places[0])


def _fill(arrays: Values, places: Places, numbers: Values) -> None:
    field.store(numbers[0], arrays[0], places[0])


def _fill_where(arrays: Values, places: Places, numbers: Values) -> None:
    mask = field.load(arrays[1], places[1])
    with _if(b.compare(b.NE, mask, b.number(0, mask.type))):
        _fill(arrays, places, numbers)
        b.yield_()


def _differ(arrays: Values, places: Places, _: Values) -> None:
    first, second = field.load(arrays[0], places[0]), field.load(arrays[1], places[1])
    _set_flag(arrays[2], b.compare(b.NE, first, second))


def _any(arrays: Values, places: Places, numbers: Values) -> None:
    masked = b.combine("and", field.load(arrays[0], places[0]), numbers[0])
    _set_flag(arrays[1], b.compare(b.NE, masked, b.number(0, masked.type)))


def _gather(arrays: Values, places: Places, _: Values) -> None:
    field.store(field.load(arrays[1], _behind(arrays, places)), arrays[0], places[0])


def _scatter(arrays: Values, places: Places, _: Values) -> None:
    field.store(field.load(arrays[0], places[0]), arrays[1], _behind(arrays, places))


def _behind(arrays: Values, places: Places) -> list[ir.Value]:
    """The place in the second array, so far behind its own as the third says."""
    start = b.to_index(field.load(arrays[2], places[2]))
    return [b.add(start, places[1][0])]


def _set_flag(flag: ir.Value, condition: ir.Value) -> None:
    """Set a byte, to what all others set it; who sees that it is set leaves it."""
    unit = b.number(1, element_type(flag.type))
    with _if(condition):
        with _if(b.compare(b.NE, field.load(flag, [b.index(0)]), unit)):
            field.store(unit, flag, [b.index(0)])
            b.yield_()
        b.yield_()


def _if(condition: ir.Value) -> ir.InsertionPoint:
    return ir.InsertionPoint(b.if_else(condition, [], with_else=False).then)


_BODIES: dict[Operation, Callable[[Values, Places, Values], None]] = {
    Operation.COPY: _copy,
    Operation.EXCHANGE: _exchange,
    Operation.ADD: _add,
    Operation.FILL: _fill,
    Operation.FILL_WHERE: _fill_where,
    Operation.DIFFER: _differ,
    Operation.ANY: _any,
    Operation.GATHER: _gather,
    Operation.SCATTER: _scatter,
}
