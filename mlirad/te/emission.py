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
from mlirad.ir.ops import Arith
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
    is_of_sizes,
    unwound,
)
from mlirad.te.places import location
from mlirad.types import DataType, i64, u1

_ORDER = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_ARITHMETIC = {
    "add": (Arith.ADDF, Arith.ADDI, Arith.ADDI),
    "sub": (Arith.SUBF, Arith.SUBI, Arith.SUBI),
    "mul": (Arith.MULF, Arith.MULI, Arith.MULI),
    "div": (Arith.DIVF, "", ""),
    "max": (Arith.MAXIMUMF, Arith.MAXSI, Arith.MAXUI),
    "min": (Arith.MINIMUMF, Arith.MINSI, Arith.MINUI),
}
_LOGIC = {"and": Arith.ANDI, "or": Arith.ORI}
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
    def _scope(self, values: Scope | None = None) -> Iterator[None]:
        self._scopes.append({} if values is None else values)
        yield
        self._scopes.pop()

    def value(self, node: Expr) -> ir.Value:
        """The value of an expression."""
        return unwound(self._value(node, Branches(node)))

    def _value(self, node: Expr, branches: Branches) -> Steps[ir.Value]:
        for scope in reversed(self._scopes):
            if node in scope:
                return scope[node]
        if isinstance(node, Select):
            value = yield self._select(node, branches)
        else:
            operands = []
            for operand in () if isinstance(node, Reduction) else node.operands:
                operands.append((yield self._value(operand, branches)))
            with location(node.place):
                value = self._emit(node, operands)
        self._scopes[-1][node] = value
        return value

    def _emit(self, node: Expr, operands: list[ir.Value]) -> ir.Value:
        if isinstance(node, Number):
            is_beyond = not node.dtype.is_float and node.value >= 1 << 63  # what IR has a sign for
            return b.number(node.value - (is_beyond << 64), mlir_type(node.dtype))
        if isinstance(node, Size):
            return self.extent(node)
        if isinstance(node, Read):
            return te.read(node.tensor.value, operands)
        if isinstance(node, Reduction):
            return self._reduction(node)[node.number]
        assert isinstance(node, Call), node
        return call(node, operands)

    def _select(self, choice: Select, branches: Branches) -> Steps[ir.Value]:
        condition = yield self._value(choice.condition, branches)
        for operand in branches.shared_by_branches(choice):
            yield self._value(operand, branches)
        with location(choice.place):
            branch = b.if_else(condition, [mlir_type(choice.dtype)])
        for block, chosen in ((branch.then, choice.then), (branch.otherwise, choice.otherwise)):
            with ir.InsertionPoint(block), self._scope(), location(choice.place):
                value = yield self._value(chosen, branches)
                b.yield_([value])
        return branch.op.results[0]

    def _reduction(self, reduction: Reduction) -> list[ir.Value]:
        with self._scope():  # what is made here is not used within, where it would have no adjoint
            neutral = [self.value(value) for value in reduction.combiner.identity]
            initial = [self.value(value) for value in reduction.initial]
        bounds = [(self.extent(0), self.extent(axis.extent)) for axis in reduction.axes]

        def fill(indices: list[ir.Value]) -> Sequence[ir.Value]:
            with self._scope(dict[Expr, ir.Value](zip(reduction.axes, indices))):
                return self._point(reduction, neutral)

        return te.reduce(reduction.kind, bounds, initial, fill, reduction.combiner.combine)

    def _point(self, reduction: Reduction, neutral: Sequence[ir.Value]) -> Sequence[ir.Value]:
        if reduction.where is None:
            return [self.value(value) for value in reduction.values]
        branch = b.if_else(self.value(reduction.where), [value.type for value in neutral])
        with ir.InsertionPoint(branch.then), self._scope():
            b.yield_([self.value(value) for value in reduction.values])
        with ir.InsertionPoint(branch.otherwise):
            b.yield_(neutral)
        return branch.results


def call(node: Call, values: list[ir.Value]) -> ir.Value:
    """The op, or the ops, of an operation."""
    type_, operand = mlir_type(node.dtype), node.arguments[0].dtype
    if node.name in _ARITHMETIC:
        return compute_value(node.name, operand, values)
    if node.name in _ORDER:
        return compare(_ORDER[node.name], values[0], values[1], operand)
    if node.name in _LOGIC:
        return b.make(_LOGIC[node.name], type_, values)
    if node.name == "not":
        return b.xori(values[0], b.number(1, type_))
    if node.name in ("floordiv", "mod"):
        return _division(node, values)
    if node.name == "cast":
        return convert_number(values[0], operand, node.dtype)
    if node.name in EXPANSIONS:
        return value_of(EXPANSIONS[node.name], values)
    return b.make(node.name, type_, values)


def compute_value(name: str, dtype: DataType, values: list[ir.Value]) -> ir.Value:
    """Return the value of an operation of `_ARITHMETIC`."""
    of_floats, of_signed, of_unsigned = _ARITHMETIC[name]
    op = of_floats if dtype.is_float else of_signed if dtype.is_signed else of_unsigned
    return b.make(op, values[0].type, values)


def _division(node: Call, values: list[ir.Value]) -> ir.Value:
    """Rounded down, and what that leaves. A size that is 0 divides as 1."""
    divisor, dtype = node.arguments[1], node.dtype
    if not is_of_sizes(divisor):
        raise TaichiTypeError(
            f"the divisor of {'//' if node.name == 'floordiv' else '%'} contains more than sizes "
            "and integers: in tensor expressions only these can divide integers",
            node.place,
        )
    if not isinstance(divisor, Number):
        unit, zero = b.number(1, values[1].type), b.number(0, values[1].type)
        is_zero = b.compare(b.EQ, values[1], zero)
        values[1] = b.select(is_zero, unit, values[1])
    if not dtype.is_signed:
        names = {"floordiv": Arith.DIVUI, "mod": Arith.REMUI}
        return b.make(names[node.name], values[0].type, values)
    quotient = b.floordivsi(*values)
    return quotient if node.name == "floordiv" else b.sub(values[0], b.mul(quotient, values[1]))


def convert_number(value: ir.Value, source: DataType, target: DataType) -> ir.Value:
    """A number in another type."""
    type_ = mlir_type(target)
    if INDEX in (source, target):
        return _of_index(value, source, target)
    if source == target:
        return value
    if target == u1:
        return compare("!=", value, b.number(0, value.type), source)
    return convert(value, source, target, type_)


def _of_index(value: ir.Value, source: DataType, target: DataType) -> ir.Value:
    if source == INDEX:
        return convert_number(b.index_cast(value, b.integer_type(64)), i64, target)
    if source.is_float:
        value, source = convert_number(value, source, i64), i64
    name = Arith.INDEX_CAST if source.is_signed and source != u1 else Arith.INDEX_CASTUI
    return b.make(name, b.index_type(), [value])


def integer_value(
    root: Expr, size: Callable[[Size], ir.Value], constant: Callable[[int], ir.Value]
) -> ir.Value:
    """An expression of sizes."""
    values: dict[Expr, ir.Value] = {}
    for node in root.nodes():
        if isinstance(node, Size):
            values[node] = size(node)
        elif isinstance(node, Number):
            values[node] = constant(int(node.value))
        else:
            assert isinstance(node, Call), node
            values[node] = call(node, [values[inner] for inner in node.arguments])
    return values[root]
