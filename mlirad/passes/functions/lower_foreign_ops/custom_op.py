"""The `grad.custom` of an op: floats of one type, then integers as i64, whatever the op takes."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect.grad import CustomOp, yield_
from mlirad.ir import build as b
from mlirad.ir.elementary.terms import convert_float
from mlirad.ir.foreign_ops.code import Application
from mlirad.ir.walk import attributes_of, before

_FLOATS = ("f16", "f32", "f64")
_BITS = 64


def is_number(type_: ir.Type) -> bool:
    """Return whether `grad.custom` can take a value of a type, as it is or as an i64."""
    if isinstance(type_, ir.IntegerType):
        return type_.width <= _BITS and str(type_).startswith("i")  # signless
    return isinstance(type_, ir.IndexType) or str(type_) in _FLOATS


class CustomFunction:
    """A `grad.custom` in front of an op, whose float results it computes."""

    def __init__(self, op: ir.Operation) -> None:
        self.source = op
        self.floats = [k for k, v in enumerate(op.operands) if b.is_float(v.type)]
        self.integers = [k for k, v in enumerate(op.operands) if not b.is_float(v.type)]
        self.outputs = [v for v in op.results if b.is_float(v.type)]
        types = [*self.float_types, *self.result_types]
        self.type = max(types, key=lambda type_: ir.FloatType(type_).width)
        with before(op):
            operands = self.widened([op.operands[k] for k in self.floats])
            operands += [_to_i64(op.operands[k]) for k in self.integers]
            results = [self.type] * len(self.outputs)
            self.op = create_custom(op.name, operands, results, len(self.floats))

    @property
    def result_types(self) -> list[ir.Type]:
        """The types of the results that are floats."""
        return [v.type for v in self.outputs]

    @property
    def float_types(self) -> list[ir.Type]:
        """The types of the operands that are floats."""
        return [self.source.operands[k].type for k in self.floats]

    def widened(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """Return floats in the type of the custom op, the widest that there is."""
        return [convert_float(value, self.type) for value in values]

    def replace_floats(self) -> None:
        """Let the results of the custom op stand for those of the op that are floats."""
        with before(self.source):
            for old, new in zip(self.outputs, self.op.results):
                old.replace_all_uses_with(convert_float(new, old.type))

    def open_block(self, number: int, along: int = 0) -> ir.Block:
        """Return the new block of a region: of the operands and, for derivatives, of the results
        and as many floats that come along."""
        types = [v.type for v in self.op.operands]
        if along:
            types += [self.type] * (len(self.outputs) + along)
        return b.block(self.op, number, types)

    def along(self, block: ir.Block, types: Sequence[ir.Type]) -> list[ir.Value]:
        """Return what comes along in a block, in types of the op; conversions are made at the
        insertion point."""
        arguments = [*block.arguments][len(self.op.operands) + len(self.outputs) :]
        return [convert_float(value, type_) for value, type_ in zip(arguments, types)]

    def application(self, block: ir.Block, *, sees_results: bool) -> Application:
        """Return the op as its code sees it in a block; conversions are made at the insertion
        point. Results that are integers are computed anew."""
        arguments = [*block.arguments]
        operands = {
            k: convert_float(value, self.source.operands[k].type)
            for k, value in zip(self.floats, arguments)
        }
        for k, value in zip(self.integers, arguments[len(self.floats) :]):
            operands[k] = _from_i64(value, self.source.operands[k].type)
        values = [operands[k] for k in range(len(operands))]
        results: list[ir.Value] = []
        if sees_results:
            floats = iter(arguments[len(operands) :])
            is_mixed = len(self.outputs) < len(self.source.results)
            copy = self.copy(values) if is_mixed else self.source
            results = [
                convert_float(next(floats), v.type) if b.is_float(v.type) else v
                for v in copy.results
            ]
        return Application(self.source.name, values, results, attributes_of(self.source))

    def copy(self, operands: Sequence[ir.Value]) -> ir.Operation:
        """Return the op on other operands, made at the insertion point."""
        copy = self.source.clone().operation
        for k, value in enumerate(operands):
            copy.operands[k] = value
        return copy


def create_custom(
    name: str, operands: Sequence[ir.Value], results: Sequence[ir.Type], floats: int
) -> ir.Operation:
    """Return a `grad.custom`, whose regions are empty, at the insertion point."""
    sizes = ir.DenseI32ArrayAttr.get([floats, len(operands) - floats])
    attributes = {"function": ir.StringAttr.get(name), "operandSegmentSizes": sizes}
    return ir.Operation.create(CustomOp.OPERATION_NAME, results, operands, attributes, regions=3)


def stopped(value: ir.Value, name: str) -> ir.Value:
    """Return a float whose derivative is zero everywhere, for an op of some name."""
    op = create_custom(name, [value], [value.type], 1)
    for number, count in enumerate((1, 3, 3)):
        body = b.block(op, number, [value.type] * count)
        with ir.InsertionPoint(body):
            yield_([body.arguments[0] if count == 1 else b.number(0.0, value.type)])
    return op.results[0]


def _to_i64(value: ir.Value) -> ir.Value:
    i64 = b.integer_type(_BITS)
    if isinstance(value.type, ir.IndexType):
        return b.index_castui(value, i64)
    return value if value.type == i64 else b.extui(value, i64)


def _from_i64(value: ir.Value, type_: ir.Type) -> ir.Value:
    if isinstance(type_, ir.IndexType):
        return b.index_castui(value, type_)
    return value if value.type == type_ else b.trunci(value, type_)
