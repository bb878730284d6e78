"""Parameters of a raised function and what they stand for (see `raise-memrefs-to-arrays`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from mlirad.bindings import ir
from mlirad.dialect.field import array_of, is_array
from mlirad.errors import SourceLocation
from mlirad.ir.marks.roles import EXTENTS, ROLE, VALUE, Role
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import symbols_in
from mlirad.ir.signature import parameter_attributes
from mlirad.ir.walk import entry_of
from mlirad.runtime.memory.values import Values
from mlirad.types import DataType, from_mlir

Place = tuple[int, ...]  # the position of a parameter, and an axis if it is an array
Extents = Callable[[Callable[[Place], int]], tuple[int, ...]]


class Parameter(msgspec.Struct, frozen=True):
    """A parameter: an array of some extents (-1 if the type leaves one open), or an integer.

    `source` is the number of an argument or of a result; `value` is what a constant holds.
    """

    role: Role
    source: int
    dtype: DataType
    shape: tuple[int, ...] | None
    extents: Extents | None = None
    value: Values | None = None
    line: SourceLocation | None = None  # where it is defined

    @property
    def is_array(self) -> bool:
        """Return whether it is an array, not an integer."""
        return self.shape is not None

    def shape_in(self, size: Callable[[Place], int]) -> tuple[int, ...]:
        """Return the shape, by the sizes of a call's arguments."""
        assert self.shape is not None
        if self.extents is None:
            return self.shape
        open_extents = iter(self.extents(size))
        return tuple(next(open_extents) if extent < 0 else extent for extent in self.shape)


def parameters_of(function: ir.Operation, module: ir.Operation) -> list[Parameter]:
    """Return the parameters of a raised function."""
    types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    parameters = [
        replace(_parameter(type_, label, module), line=source_location(argument.location))
        for type_, label, argument in zip(
            types.inputs, parameter_attributes(function), entry_of(function).arguments
        )
    ]
    if "res_attrs" in function.attributes:  # of one of definitions: any other writes to arrays
        labels = ir.ArrayAttr(function.attributes["res_attrs"])
        for type_, entry in zip(types.results, labels):
            parameters.append(_parameter(type_, {ROLE: ir.DictAttr(entry)[ROLE]}, module))
    return parameters


def _parameter(type_: ir.Type, label: dict[str, ir.Attribute], module: ir.Operation) -> Parameter:
    role_name, *source = ir.ArrayAttr(label[ROLE])
    role = Role(ir.StringAttr(role_name).value)
    number, value = -1, None
    if VALUE in label:
        value = np.array(ir.DenseElementsAttr(label[VALUE]))
    elif role is Role.CONSTANT:
        value = _value_of(ir.FlatSymbolRefAttr(source[0]).value, module)
    elif source:
        number = ir.IntegerAttr(source[0]).value
    extents = _extents(label[EXTENTS]) if EXTENTS in label else None
    return Parameter(role, number, *_array(type_), extents, value)


def _array(type_: ir.Type) -> tuple[DataType, tuple[int, ...] | None]:
    """Return the type of the elements of an array or a tensor, and its shape; of an integer its
    type alone."""
    if isinstance(type_, ir.RankedTensorType):
        return from_mlir(str(type_.element_type)), tuple(type_.shape)
    element, shape = array_of(type_) if is_array(type_) else (str(type_), None)
    return from_mlir(element), shape


def _value_of(name: str, module: ir.Operation) -> Values:
    """Return what a `memref.global` holds."""
    attribute = symbols_in(module)[name].attributes["initial_value"]
    return np.array(ir.DenseElementsAttr(attribute))


def _extents(attribute: ir.Attribute) -> Extents:
    """Return what computes the extents that a type leaves open."""
    map_, operands = ir.ArrayAttr(attribute)
    places = [
        tuple(ir.IntegerAttr(number).value for number in ir.ArrayAttr(place))
        for place in ir.ArrayAttr(operands)
    ]
    expressions = [_evaluator(result) for result in ir.AffineMapAttr(map_).value.results]

    def extents(size: Callable[[Place], int]) -> tuple[int, ...]:
        sizes = [size(place) for place in places]
        return tuple(expression(sizes) for expression in expressions)

    return extents


def _evaluator(expression: ir.AffineExpr) -> Callable[[Sequence[int]], int]:
    """Return what computes an affine expression from the values of its symbols."""
    if isinstance(expression, ir.AffineConstantExpr):
        value = expression.value
        return lambda sizes: value
    if isinstance(expression, ir.AffineSymbolExpr):
        position = expression.position
        return lambda sizes: sizes[position]
    assert isinstance(expression, ir.AffineBinaryExpr)
    combine = _COMBINE[type(expression)]
    left, right = _evaluator(expression.lhs), _evaluator(expression.rhs)
    return lambda sizes: combine(left(sizes), right(sizes))


_COMBINE: dict[type[ir.AffineBinaryExpr], Callable[[int, int], int]] = {
    ir.AffineAddExpr: lambda a, b: a + b,
    ir.AffineMulExpr: lambda a, b: a * b,
    ir.AffineModExpr: lambda a, b: a % b,
    ir.AffineFloorDivExpr: lambda a, b: a // b,
    ir.AffineCeilDivExpr: lambda a, b: -(-a // b),
}
