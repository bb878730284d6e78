"""Expressions to IR: what stands in the region of a definition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.errors import TaichiTypeError
from mlirad.ir import build as b
from mlirad.ir.elementary.function import value_of
from mlirad.ir.elementary.table import EXPANSIONS
from mlirad.ir.typed_values import compare, convert
from mlirad.te.expressions import (
    INDEX,
    Branches,
    Call,
    Expr,
    Extent,
    Number,
    Read,
    Reduction,
    Select,
    Size,
    Steps,
    in_order,
    is_of_sizes,
    unwound,
)
from mlirad.te.places import location
from mlirad.types import DataType, u1

_ORDER = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_ARITHMETIC = {
    "add": ("arith.addf", "arith.addi", "arith.addi"),
    "sub": ("arith.subf", "arith.subi", "arith.subi"),
    "mul": ("arith.mulf", "arith.muli", "arith.muli"),
    "div": ("arith.divf", "", ""),
    "max": ("arith.maximumf", "arith.maxsi", "arith.maxui"),
    "min": ("arith.minimumf", "arith.minsi", "arith.minui"),
}
Scope = dict[Expr, ir.Value]


def mlir_type(dtype: DataType) -> ir.Type:
    """The type of a value."""
    return b.index_type() if dtype == INDEX else ir.Type.parse(dtype.mlir)


def dtype_of_type(type_: ir.Type) -> DataType:
    """The type of elements, which IR knows without a sign."""
    text = str(type_)
    return u1 if text == "i1" else DataType(text, text[0], int(text[1:]))


class Emitter:
    """Makes values of expressions at the insertion point; what a block has made is not made
    again."""

    def __init__(self, axes: Mapping[Expr, ir.Value], extent: Callable[[Extent], ir.Value]) -> None:
        self.extent = extent
        self._scopes: list[Scope] = [dict(axes)]

    @contextmanager
    def _scope(self, known: Scope | None = None) -> Iterator[None]:
        self._scopes.append({} if known is None else known)
        yield
        self._scopes.pop()

    def value(self, one: Expr) -> ir.Value:
        """The value of an expression."""
        return unwound(self._value(one, Branches(one)))

    def _value(self, one: Expr, branches: Branches) -> Steps[ir.Value]:
        for scope in reversed(self._scopes):
            if one in scope:
                return scope[one]
        if isinstance(one, Select):
            made = yield self._select(one, branches)
        else:
            parts = []
            for part in () if isinstance(one, Reduction) else one.parts:
                parts.append((yield self._value(part, branches)))
            with location(one.place):
                made = self._made(one, parts)
        self._scopes[-1][one] = made
        return made

    def _made(self, one: Expr, parts: list[ir.Value]) -> ir.Value:
        if isinstance(one, Number):
            is_beyond = not one.dtype.is_float and one.value >= 1 << 63  # what IR has a sign for
            return b.number(one.value - (is_beyond << 64), mlir_type(one.dtype))
        if isinstance(one, Size):
            return self.extent(one)
        if isinstance(one, Read):
            return te.read(one.tensor.value, parts)
        if isinstance(one, Reduction):
            return self._reduction(one)[one.number]
        assert isinstance(one, Call), one
        return call(one, parts)

    def _select(self, one: Select, branches: Branches) -> Steps[ir.Value]:
        condition = yield self._value(one.condition, branches)
        for part in branches.shared(one):
            yield self._value(part, branches)
        with location(one.place):
            branch = b.if_else(condition, [mlir_type(one.dtype)])
        for block, chosen in ((branch.then, one.then), (branch.otherwise, one.otherwise)):
            with ir.InsertionPoint(block), self._scope(), location(one.place):
                value = yield self._value(chosen, branches)
                b.yield_([value])
        return branch.op.results[0]

    def _reduction(self, one: Reduction) -> list[ir.Value]:
        with self._scope():  # what is made here is not used within, where it would have no adjoint
            neutral = [self.value(part) for part in one.combiner.identity]
            initial = [self.value(part) for part in one.initial]
        bounds = [(self.extent(0), self.extent(axis.extent)) for axis in one.axes]

        def fill(indices: list[ir.Value]) -> Sequence[ir.Value]:
            with self._scope(dict[Expr, ir.Value](zip(one.axes, indices))):
                return self._point(one, neutral)

        return te.reduce(one.kind, bounds, initial, fill, one.combiner.combine)

    def _point(self, one: Reduction, neutral: Sequence[ir.Value]) -> Sequence[ir.Value]:
        if one.where is None:
            return [self.value(value) for value in one.values]
        branch = b.if_else(self.value(one.where), [value.type for value in neutral])
        with ir.InsertionPoint(branch.then), self._scope():
            b.yield_([self.value(value) for value in one.values])
        with ir.InsertionPoint(branch.otherwise):
            b.yield_(neutral)
        return branch.results


def call(one: Call, values: list[ir.Value]) -> ir.Value:
    """The op, or the ops, of an operation."""
    type_, operand = mlir_type(one.dtype), one.arguments[0].dtype
    if one.name in _ARITHMETIC:
        return b.make(_of_type(_ARITHMETIC[one.name], operand), type_, values)
    if one.name in _ORDER:
        return compare(_ORDER[one.name], values[0], values[1], operand)
    if one.name in ("and", "or"):
        return b.make("arith.andi" if one.name == "and" else "arith.ori", type_, values)
    if one.name == "not":
        return b.make("arith.xori", type_, [values[0], b.number(1, type_)])
    if one.name in ("floordiv", "mod"):
        return _division(one, values)
    if one.name == "cast":
        return converted(values[0], operand, one.dtype)
    if one.name in EXPANSIONS:
        return value_of(EXPANSIONS[one.name], values)
    return b.make(one.name, type_, values)


def _of_type(names: tuple[str, str, str], dtype: DataType) -> str:
    return names[0] if dtype.is_float else names[1] if dtype.is_signed else names[2]


def _division(one: Call, values: list[ir.Value]) -> ir.Value:
    """Rounded down, and what that leaves. A size that is 0 divides as 1."""
    divisor, dtype = one.arguments[1], one.dtype
    if not is_of_sizes(divisor):
        raise TaichiTypeError(
            f"the divisor of {'//' if one.name == 'floordiv' else '%'} is made of more than sizes "
            "and integers, which alone divide integers in tensor expressions",
            one.place,
        )
    if not isinstance(divisor, Number):
        one_, zero = b.number(1, values[1].type), b.number(0, values[1].type)
        is_zero = b.compare(b.EQ, values[1], zero)
        values[1] = b.make("arith.select", zero.type, [is_zero, one_, values[1]])
    if not dtype.is_signed:
        names = {"floordiv": "arith.divui", "mod": "arith.remui"}
        return b.make(names[one.name], values[0].type, values)
    quotient = b.make("arith.floordivsi", values[0].type, values)
    return quotient if one.name == "floordiv" else b.sub(values[0], b.mul(quotient, values[1]))


def converted(value: ir.Value, source: DataType, target: DataType) -> ir.Value:
    """A number in another type."""
    type_ = mlir_type(target)
    if INDEX in (source, target):
        return _of_index(value, source, target)
    if target == u1:
        return compare("!=", value, b.number(0, value.type), source)
    return convert(value, source, target, type_)


def _of_index(value: ir.Value, source: DataType, target: DataType) -> ir.Value:
    if source == INDEX:
        whole = DataType("i64", "i", 64)
        integer = b.make("arith.index_cast", b.integer_type(64), [value])
        return integer if target == whole else converted(integer, whole, target)
    if source.is_float:
        whole = DataType("i64", "i", 64)
        value, source = converted(value, source, whole), whole
    name = "arith.index_cast" if source.is_signed and source != u1 else "arith.index_castui"
    return b.make(name, b.index_type(), [value])


def integer_value(
    one: Expr, size: Callable[[Size], ir.Value], constant: Callable[[int], ir.Value]
) -> ir.Value:
    """An expression of sizes."""
    values: dict[Expr, ir.Value] = {}
    for part in in_order(one, lambda inner: inner.parts):
        if isinstance(part, Size):
            values[part] = size(part)
        elif isinstance(part, Number):
            values[part] = constant(int(part.value))
        else:
            assert isinstance(part, Call), part
            values[part] = call(part, [values[inner] for inner in part.arguments])
    return values[one]
