"""A piece of a block as a function of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.memory.origins import Origins
from mlirad.ir.signature import NOALIAS, Attributes, label_parameters, parameter_attributes
from mlirad.ir.walk import at_end, before, clone, entry_of, owner_operation
from mlirad.passes.cpu.split_long_blocks.block_values import Use, is_done_again
from mlirad.passes.cpu.split_long_blocks.frame import Frame

Uses = Mapping[ir.Value, Sequence[Use]]


class Piece:
    """Some ops of a block, by their numbers, with the values that they use of others: `given` by
    what stays around them, or `read` from where earlier pieces have written them."""

    def __init__(
        self, ops: Sequence[ir.Operation], numbers: Sequence[int], given_uses: Uses, read: Uses
    ) -> None:
        self.ops, self.numbers, self.given, self.read = ops, numbers, given_uses, read

    def outline(
        self, function: ir.Operation, name: str, frame: Frame, memory: ir.Value, origins: Origins
    ) -> None:
        """Move the ops to a new function in front of the one around, which calls it instead."""
        passed = {memory: None}
        for value in self.given:
            _gather(value, passed)
        first, end = self.ops[self.numbers[0]], self.ops[self.numbers[-1] + 1]
        labels = _labels(function, list(passed), list(self.read), origins)
        entry = _function(function, name, list(passed), labels, first.location)
        replacements: dict[ir.Value, ir.Value] = dict(zip(passed, entry.arguments))
        with at_end(entry, first.location):
            for value in self.given:
                _find(value, replacements)
            last = b.return_()
        _replace(self.given, replacements)
        self._move(last, frame, entry.arguments[0])
        with before(end):
            b.call(name, list(passed))

    def _move(self, last: ir.Operation, frame: Frame, memory: ir.Value) -> None:
        """Move the ops, with what reads and writes the frame beside them."""
        values_of_op: dict[int, list[ir.Value]] = {}
        for value, uses in self.read.items():
            values_of_op.setdefault(uses[0].at, []).append(value)
        for at in self.numbers:
            op = self.ops[at]
            op.move_before(last)
            if at in values_of_op:
                with before(op):
                    for value in values_of_op[at]:
                        _replace({value: self.read[value]}, {value: frame.read(value, memory)})
            written = [result for result in op.results if frame.has(result)]
            if written:
                with ir.InsertionPoint(last), op.location:
                    for result in written:
                        frame.write(result, memory)


def _replace(uses: Uses, replacements: Mapping[ir.Value, ir.Value]) -> None:
    for value, places in uses.items():
        for use in places:
            use.user.operands[use.position] = replacements[value]


def _gather(value: ir.Value, passed: dict[ir.Value, None]) -> None:
    """Note what is handed over for a value: the value, or what it is made of."""
    if not is_done_again(value):
        passed[value] = None
        return
    for operand in owner_operation(value).operands:
        _gather(operand, passed)


def _find(value: ir.Value, replacements: dict[ir.Value, ir.Value]) -> None:
    """Make a value again of what is handed over, if it is not known."""
    if value in replacements:
        return
    op = owner_operation(value)
    for operand in op.operands:
        _find(operand, replacements)
    clone(op, replacements)


def _function(
    around: ir.Operation,
    name: str,
    arguments: Sequence[ir.Value],
    labels: Iterator[Attributes],
    location: ir.Location,
) -> ir.Block:
    """The block of a new function, empty."""
    inputs = [value.type for value in arguments]
    with ir.InsertionPoint(around), location:
        attributes = {
            **label_parameters(labels),
            "llvm.no_inline": ir.UnitAttr.get(),
        }
        return entry_of(b.function(name, inputs, [], attributes))


def _labels(
    around: ir.Operation, arguments: Sequence[ir.Value], read: Sequence[ir.Value], origins: Origins
) -> Iterator[Attributes]:
    """Yield what is known of the parameters of a new function: the first is memory that nothing
    else has, others are what they are in the function around. But nothing says that no other
    pointer leads to an array where the function has one of those, too."""
    parameters: list[ir.Value] = list(entry_of(around).arguments)
    labels = dict(zip(parameters, parameter_attributes(around)))
    yield {NOALIAS: ir.UnitAttr.get()}
    for value, is_alone in zip(arguments[1:], origins.are_alone(arguments[1:], read)):
        attributes = labels.get(value, {})
        yield {name: attributes[name] for name in attributes if is_alone or name != NOALIAS}
