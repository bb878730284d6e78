"""Texts that a kernel writes, and what it asserts."""

import re
from collections.abc import Sequence
from typing import Any

from mlirad.bindings import I1, ext, ir
from mlirad.dialect.effects import writes
from mlirad.dialect.field.arrays import Field
from mlirad.dialect.field.launch import ClockOp
from mlirad.dialect.field.memory import is_write
from mlirad.dialect.view import NamedOp, View

_HOLE = re.compile(r"\{[^}]*\}")


class WordType(Field.Type, name="word"):
    """A number of any type that will be printed. `!field.word`"""


class SpellOp(View, dialect=Field, name="spell", traits=[ext.Pure]):
    """A number as a word, so that one text can contain values of several types.

    `%w = field.spell %v : f32`
    """

    value: ext.Operand[Any]
    word: ext.Result[Any]

    def problem(self) -> str | None:
        return _problem_of_numbers(self.operation)


class PrintOp(View, dialect=Field, name="print", effects=[writes()]):
    """Print a text with one `{}` per value. `field.print "{}\\0A", %v : f32`

    Races: iterations of a parallel loop print in any order.
    """

    values: Sequence[ext.Operand[Any]]
    format: ir.StringAttr

    def problem(self) -> str | None:
        holes, count = len(_HOLE.findall(self.format.value)), len(self.operation.operands)
        if holes != count:
            return f"format with {holes} places for {count} values"
        return _problem_of_numbers(self.operation)


class AssertOp(View, dialect=Field, name="assert", effects=[writes()]):
    """Record the first failure of a launch; execution continues.

    `field.assert %c, "index {} is out of bounds", %i : index`

    Races: of failures in several iterations of a parallel loop, any one is recorded.
    """

    condition: ext.Operand[I1]
    values: Sequence[ext.Operand[Any]]
    message: ir.StringAttr

    def problem(self) -> str | None:
        return _problem_of_numbers(self.operation)


def is_report(op: NamedOp) -> bool:
    """Return whether an op prints or asserts."""
    return PrintOp.holds(op) or AssertOp.holds(op)


def acts(op: NamedOp) -> bool:
    """Return whether an op writes, prints, asserts or reads a clock; what is in it is not asked."""
    return is_write(op) or is_report(op) or ClockOp.holds(op)


def escape_braces(text: str) -> str:
    """A text whose braces are not holes."""
    return text.replace("{", "\1").replace("}", "\2")


def restore_braces(text: str) -> str:
    """The text that `escape_braces` was given."""
    return text.replace("\1", "{").replace("\2", "}")


def spell(value: ir.Value) -> ir.Value:
    """`field.spell`."""
    return ir.Operation.create(SpellOp.OPERATION_NAME, [WordType.get()], [value]).result


def number_behind(value: ir.Value) -> ir.Value:
    """The number behind a word; any other value as it is."""
    if isinstance(value, ir.BlockArgument) or not SpellOp.holds(value.owner):
        return value
    return value.owner.operands[0]


def print_(format_: str, values: Sequence[ir.Value]) -> None:
    """`field.print`."""
    text = ir.StringAttr.get(format_)
    ir.Operation.create(PrintOp.OPERATION_NAME, [], values, {"format": text})


def assert_(condition: ir.Value, message: str, values: Sequence[ir.Value] = ()) -> None:
    """`field.assert`."""
    text = ir.StringAttr.get(message)
    ir.Operation.create(AssertOp.OPERATION_NAME, [], [condition, *values], {"message": text})


def _problem_of_numbers(op: ir.Operation) -> str | None:
    for value in op.operands:
        is_number = isinstance(value.type, ir.FloatType | ir.IntegerType | ir.IndexType)
        if not is_number and (SpellOp.holds(op) or str(value.type) != "!field.word"):
            return f"value of type {value.type}, expected a number"
    return None
