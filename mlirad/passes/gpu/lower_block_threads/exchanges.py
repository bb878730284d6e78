"""Arrays by which the threads of a group see each other's values: a shuffle of the machine does the
same, where all threads of the group come to it."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import GROUP, element_type, is_load, is_store, split_access
from mlirad.ir import build as b
from mlirad.ir.gpu.blocks import has_threads, warp_shuffle
from mlirad.ir.ops import Arith, Func, Scf
from mlirad.ir.pure_operations import is_integer_division, is_pure
from mlirad.ir.structured import For, is_branch, is_for
from mlirad.ir.walk import (
    constant_integer,
    copy_with,
    defining_op,
    enclosing,
    is_defined_in,
    users_of,
)


def is_exchange(array: ir.Operation) -> bool:
    """Return whether threads store their own element of an array, and load those of their group,
    each load where all threads can do it."""
    uses = users_of(array.results[0])
    stores = [op for op in uses if is_store(op)]
    loads = [op for op in uses if is_load(op)]
    if len(stores) != 1 or len(stores) + len(loads) != len(uses):
        return False
    if not isinstance(element_type(array.results[0].type), ir.FloatType | ir.IntegerType):
        return False
    home = segment_of(stores[0])
    if home is None or list(split_access(stores[0])[1]) != [home.induction]:
        return False
    return all(map(_is_shuffle, loads))


def segment_of(op: ir.Operation) -> For | None:
    """The loop over threads that an operation is in."""
    while not (is_for(op) and has_threads(op)):
        if op.name in (Scf.PARALLEL, Func.FUNC):
            return None
        op = enclosing(op)
    return For(op)


def _is_shuffle(load: ir.Operation) -> bool:
    """Return whether a load is of an element of the thread's group, and may be moved to the body of
    its loop over threads, which all threads run."""
    segment = segment_of(load)
    (index,) = split_access(load)[1]
    if segment is None or segment.op == home_of(load):
        return False
    top = top_of(load, segment)
    if top != load and not (is_branch(top) and enclosing(load) == top):
        return False
    lane = _lane_of(index, segment)
    return lane is not None and (lane == 0 or (isinstance(lane, ir.Value) and _reaches(lane, top)))


def home_of(load: ir.Operation) -> ir.Operation | None:
    """The loop over threads in which the element that is loaded was stored."""
    array = split_access(load)[0]
    stores = (use.owner.operation for use in array.uses if is_store(use.owner.operation))
    segment = next((segment_of(op) for op in stores), None)
    return None if segment is None else segment.op


def top_of(op: ir.Operation, segment: For) -> ir.Operation:
    """The operation of the body of a loop that holds another one."""
    while enclosing(op) != segment.op:
        op = enclosing(op)
    return op


def _lane_of(index: ir.Value, segment: For) -> ir.Value | int | None:
    """The number in the group, of an index that is the first of the thread's group and it."""
    if _is_group_start(index, segment):
        return 0
    op = defining_op(index)
    if op is None or op.name != Arith.ADDI:
        return None
    left, right = op.operands
    if _is_group_start(left, segment):
        return right
    return left if _is_group_start(right, segment) else None


def _is_group_start(value: ir.Value, segment: For) -> bool:
    op = defining_op(value)
    if op is None or op.name != Arith.MULI or constant_integer(op.operands[1]) != GROUP:
        return False
    number = defining_op(op.operands[0])
    if number is None or number.name not in (Arith.DIVSI, Arith.DIVUI):
        return False
    return number.operands[0] == segment.induction and constant_integer(number.operands[1]) == GROUP


def _reaches(value: ir.Value, top: ir.Operation) -> bool:
    """Return whether a value is there in front of an operation, or may be computed there."""
    if not is_defined_in(value, top):
        return True
    op = defining_op(value)
    if op is None or not is_pure(op) or len(op.regions):
        return False
    if is_integer_division(op) and not constant_integer(op.operands[1]):
        return False
    return all(_reaches(operand, top) for operand in op.operands)


def shuffle(load: ir.Operation, slot: ir.Value, segment: For) -> ir.Value:
    """Return the value of a load, by a shuffle of the values that threads have in a slot."""
    top = top_of(load, segment)
    lane = _lane_of(split_access(load)[1][0], segment)
    assert lane is not None
    i32 = b.integer_type(32)
    with ir.InsertionPoint(top), load.location:
        number = b.number(0, i32) if isinstance(lane, int) else b.index_cast(_copy(lane, top), i32)
        value = b.read(slot)
        narrow = value.type if _width(value.type) < 32 else None
        if narrow is not None:
            value = b.extui(_as_bits(value), i32)
        result = warp_shuffle("idx", value, number)
        return result if narrow is None else _from_bits(result, narrow)


def _copy(value: ir.Value, top: ir.Operation) -> ir.Value:
    """A value that is there in front of an operation, at the insertion point."""
    if not is_defined_in(value, top):
        return value
    op = defining_op(value)
    assert op is not None
    return copy_with(op, [_copy(operand, top) for operand in op.operands]).results[0]


def _width(type_: ir.Type) -> int:
    return int((ir.FloatType if b.is_float(type_) else ir.IntegerType)(type_).width)


def _as_bits(value: ir.Value) -> ir.Value:
    if not b.is_float(value.type):
        return value
    return b.make(Arith.BITCAST, b.integer_type(_width(value.type)), [value])


def _from_bits(value: ir.Value, type_: ir.Type) -> ir.Value:
    bits = b.make(Arith.TRUNCI, b.integer_type(_width(type_)), [value])
    return bits if not b.is_float(type_) else b.make(Arith.BITCAST, type_, [bits])
