"""Reads of another tensor by the definition of a tensor: as linear sums of its indices, if they are
such."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, product
from typing import NamedTuple

from mlirad.analysis.linear import Linear, number, unknown
from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir.ops import Arith
from mlirad.ir.structured import If, is_branch
from mlirad.ir.walk import block_operations, constant_integer, defining_op


class New(NamedTuple):
    """An index that no value of the IR is: of a quotient, or free."""

    number: int


Form = Linear["ir.Value | New"]


@dataclass(frozen=True)
class Piece:
    """The value of an index where some sums are not negative and some conditions have given
    results."""

    form: Form
    constraints: tuple[Form, ...] = ()
    conditions: tuple[tuple[ir.Value, bool], ...] = ()
    # indices that are quotients rounded down: of a sum, by a number
    quotients: tuple[tuple[New, Form, int], ...] = ()

    def with_form(self, form: Form, other: Piece | None = None) -> Piece:
        """Another sum, under the conditions of this one, and of another."""
        if other is None:
            return Piece(form, self.constraints, self.conditions, self.quotients)
        return Piece(
            form,
            self.constraints + other.constraints,
            self.conditions + other.conditions,
            self.quotients + tuple(q for q in other.quotients if q not in self.quotients),
        )


@dataclass
class Box:
    """The points of a definition: its indices, and what bounds them."""

    indices: list[ir.Value] = field(default_factory=list)
    constraints: list[Form] = field(default_factory=list)
    conditions: list[ir.Value] = field(default_factory=list)  # that hold, or there is no point


class Forms:
    """Indices as sums, in pieces. Sizes and indices of the definition are names."""

    def __init__(self, names: Sequence[ir.Value]) -> None:
        self._names = set(names)
        self._numbers = count()
        self._quotients: dict[tuple[Form, int], New] = {}

    def new(self) -> New:
        """A name for an index that is in no IR."""
        return New(next(self._numbers))

    def pieces_of(self, value: ir.Value, depth: int = 64) -> list[Piece] | None:
        """The pieces of an index; None where it depends on data, or on too many cases."""
        constant = constant_integer(value)
        if constant is not None:
            return [Piece(number(constant))]
        if value in self._names:
            return [Piece(unknown(value))]
        op = defining_op(value)
        if op is None or depth == 0:
            return None
        if te.SizeOp.holds(op):
            return [Piece(unknown(value))]
        if is_branch(op):
            return self._branch_pieces(op, value, depth)
        if op.name == Arith.SELECT:
            condition, then, otherwise = op.operands
            return self._either(condition, (then, otherwise), depth)
        if op.name not in _OPS:
            return None
        operands = [self.pieces_of(operand, depth - 1) for operand in op.operands]
        choices = [pieces for pieces in operands if pieces is not None]
        if len(choices) < len(operands):
            return None
        pieces = [p for choice in product(*choices) for p in self._combine(op.name, choice)]
        return None if len(pieces) > 16 or None in pieces else [p for p in pieces if p is not None]

    def _branch_pieces(self, op: ir.Operation, value: ir.Value, depth: int) -> list[Piece] | None:
        position = [result == value for result in op.results].index(True)
        then, otherwise = (
            block_operations(block)[-1].operands[position]
            for block in (If(op).then, If(op).otherwise)
        )
        return self._either(op.operands[0], (then, otherwise), depth)

    def _either(
        self, condition: ir.Value, values: tuple[ir.Value, ir.Value], depth: int
    ) -> list[Piece] | None:
        joined_pieces: list[Piece] = []
        for value, holds in zip(values, (True, False)):
            pieces = self.pieces_of(value, depth - 1)
            if pieces is None:
                return None
            condition_piece = Piece(number(0), (), ((condition, holds),))
            joined_pieces += [condition_piece.with_form(piece.form, piece) for piece in pieces]
        return joined_pieces

    def _combine(self, name: str, choice: Sequence[Piece]) -> Iterator[Piece | None]:
        if len(choice) == 1:
            yield choice[0]
            return
        left, right = choice
        a, c = left.form, right.form
        if name in (Arith.ADDI, Arith.SUBI):
            yield left.with_form(a.plus(c, 1 if name == Arith.ADDI else -1), right)
        elif name == Arith.MULI:
            if a.terms and c.terms:
                yield None
            else:
                yield left.with_form(a.times(c.constant) if a.terms else c.times(a.constant), right)
        elif name in (Arith.MINSI, Arith.MAXSI):
            less = c.plus(a, -1)  # not negative where a <= c
            first, second = (a, c) if name == Arith.MINSI else (c, a)
            total = left.with_form(first, right)
            yield Piece(first, (*total.constraints, less), total.conditions, total.quotients)
            more = less.times(-1).plus(number(-1))
            yield Piece(second, (*total.constraints, more), total.conditions, total.quotients)
        else:  # a quotient, rounded down
            yield self._quotient(left, right)

    def _quotient(self, left: Piece, right: Piece) -> Piece | None:
        divisor = right.form.constant
        if right.form.terms or divisor <= 0:
            return None
        key = left.form, divisor
        if key not in self._quotients:
            self._quotients[key] = self.new()
        new = self._quotients[key]
        piece = left.with_form(unknown(new), right)
        quotients = (*piece.quotients, (new, left.form, divisor))
        return Piece(piece.form, piece.constraints, piece.conditions, quotients)


_OPS = (
    Arith.ADDI,
    Arith.SUBI,
    Arith.MULI,
    Arith.FLOORDIVSI,
    Arith.MINSI,
    Arith.MAXSI,
    Arith.INDEX_CAST,
)


def reads_of(block: ir.Block, tensor: ir.Value) -> list[ir.Operation]:
    """The reads of a tensor in a block, also within branches, but not within reductions."""
    return [op for op in reads_within(block) if op.operands[0] == tensor]


def reads_within(block: ir.Block) -> list[ir.Operation]:
    """The reads in a block, also within branches, but not within reductions."""
    reads = []
    for op in block_operations(block):
        if te.is_read(op):
            reads.append(op)
        elif is_branch(op):
            for inner in (If(op).then, If(op).otherwise):
                reads += reads_within(inner)
    return reads


def least_of(value: ir.Value, forms: Forms) -> list[tuple[Form, int]] | None:
    """The sums, divided by numbers and rounded up, of which a bound is the greatest."""
    return _ends(value, forms, Arith.MAXSI, Arith.CEILDIVSI)


def most_of(value: ir.Value, forms: Forms) -> list[tuple[Form, int]] | None:
    """The sums, divided by numbers and rounded down, of which a bound is the least."""
    return _ends(value, forms, Arith.MINSI, Arith.FLOORDIVSI)


def _ends(
    value: ir.Value, forms: Forms, choice: str, rounded: str
) -> list[tuple[Form, int]] | None:
    op = defining_op(value)
    if op is not None and op.name == choice:
        left, right = (_ends(operand, forms, choice, rounded) for operand in op.operands)
        return None if left is None or right is None else left + right
    divisor = None if op is None or op.name != rounded else constant_integer(op.operands[1])
    pieces = forms.pieces_of(value if divisor is None or op is None else op.operands[0])
    if pieces is None or len(pieces) != 1 or pieces[0].quotients:
        return None
    return [(pieces[0].form, divisor or 1)]
