"""Assertions to a record of the first failure, in an array of the runtime: its number, then the
values."""

from mlirad.bindings import ir
from mlirad.dialect import field, snode
from mlirad.dialect.field import AssertOp, array_type, number_behind
from mlirad.ir import build as b
from mlirad.ir.reports.location import source_location
from mlirad.ir.reports.loop_names import loop_name
from mlirad.ir.reports.message import MESSAGES, RECORD_SIZE, Message
from mlirad.ir.signature import marked_as_errors
from mlirad.ir.walk import at_end, before, operations

RECORD = "$errors"
# how many failures there were: the first of them, of all threads, is recorded
_CLAIM = RECORD_SIZE - 1


def lower_field_assert(module: ir.Operation) -> None:
    """Lower assertions to records of the first failure; the texts of the messages go to
    `field.messages`."""
    assertions = [op for op in operations(module) if AssertOp.holds(op)]
    if not assertions:
        return
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]), module.location:
        words = snode.place(RECORD, b.integer_type(64), marks=marked_as_errors())
        snode.root(RECORD, [snode.dense([0], [RECORD_SIZE], [words])])
    messages = []
    for number, op in enumerate(assertions):
        with before(op):
            _record(op, number + 1)
        text = ir.StringAttr(op.attributes["message"]).value
        messages.append(Message(text, source_location(op.location), loop_name(op)).attribute)
        op.erase()
    module.attributes[MESSAGES] = ir.ArrayAttr.get(messages)


def _record(op: ir.Operation, number: int) -> None:
    i64, i1 = b.integer_type(64), b.integer_type(1)
    failed = b.xori(op.operands[0], b.number(1, i1))
    record = field.get(RECORD, array_type(i64, [RECORD_SIZE]))
    zero = b.index(0)
    branch = b.if_else(failed, [], with_else=False)
    with at_end(branch.then, op.location):
        earlier = field.atomic(b.number(1, i64), record, [b.index(_CLAIM)])
        first = b.if_else(b.compare(b.EQ, earlier, b.number(0, i64)), [], with_else=False)
        with at_end(first.then, op.location):
            for position, value in enumerate(list(op.operands)[1:_CLAIM]):
                field.store(_as_word(number_behind(value)), record, [b.index(position + 1)])
            field.store(b.number(number, i64), record, [zero])
            b.yield_()
        b.yield_()


def _as_word(value: ir.Value) -> ir.Value:
    """A value in 64 bits: floats as the bits of a double."""
    i64 = b.integer_type(64)
    if b.is_float(value.type):
        f64 = ir.F64Type.get()
        wide = value if value.type == f64 else b.extf(value, f64)
        return b.bitcast(wide, i64)
    if isinstance(value.type, ir.IndexType):
        return b.index_cast(value, i64)
    return value if value.type == i64 else b.extsi(value, i64)
