"""The parameters of a function on arrays, and what each stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.layout_rules import ELEMENT_SIZES
from mlirad.ir import build as b
from mlirad.ir.marks.roles import EXTENTS, ROLE, Label, Role, result_in_memory, returned_results
from mlirad.ir.ops import Arith
from mlirad.ir.requirements import refuse
from mlirad.ir.signature import NEEDS_GRAD, argument_label, parameter_attributes
from mlirad.ir.walk import at_start, constant_integer, entry_of
from mlirad.passes.functions.raise_memrefs_to_arrays.views import DYNAMIC, View, full_view


class Parameter(msgspec.Struct):
    """A parameter: `source` is the number of an argument or a result, or the name of a global."""

    value: ir.Value
    role: Role
    source: int | str | None = None
    extents: ir.Attribute | None = None
    is_marked: bool = False  # as having a gradient

    def label(self, position: int, *, gradients: bool) -> ir.DictAttr:
        """Return its attributes."""
        source: list[ir.Attribute] = []
        if isinstance(self.source, int):
            source = [ir.IntegerAttr.get(b.integer_type(64), self.source)]
        elif self.source is not None:
            source = [ir.FlatSymbolRefAttr.get(self.source)]
        label = argument_label(position)
        label[ROLE] = ir.ArrayAttr.get([ir.StringAttr.get(self.role), *source])
        if self.extents is not None:
            label[EXTENTS] = self.extents
        if gradients and self.role is not Role.CONSTANT and _holds_floats(self.value.type):
            label[NEEDS_GRAD] = ir.UnitAttr.get()
        return ir.DictAttr.get(label)


class Parameters:
    """The parameters so far, behind those that they stand for in the entry block."""

    def __init__(self, function: ir.Operation) -> None:
        self.function, self.entry = function, entry_of(function)
        self.all: list[Parameter] = []
        self._replaced, self._labels = list(self.entry.arguments), parameter_attributes(function)
        self.returned_results = returned_results(self._labels)  # their numbers

    def replace(self) -> dict[ir.Value, View]:
        """Let parameters stand for the arguments of the function; the views that memrefs are."""
        views: dict[ir.Value, View] = {}
        for number, (argument, label) in enumerate(zip(self._replaced, self._labels)):
            type_ = argument.type
            if isinstance(type_, ir.MemRefType):
                result = result_in_memory(label)
                role, source = (Role.ARGUMENT, number) if result is None else (Role.RESULT, result)
                array = self.add(array_type(type_, self.function), role, source)
                self._mark(label, number)
                views[argument] = self.full_view(array, in_order=_is_in_order(type_))
            else:
                argument.replace_all_uses_with(self._scalar(type_, number))
                self._mark(label, number)
        return views

    def _mark(self, label: Label, number: int) -> None:
        """Let the last parameter have a gradient if the argument that it stands for is marked."""
        if NEEDS_GRAD not in label:
            return
        type_ = self._replaced[number].type
        if not _holds_floats(self.all[-1].value.type):
            refuse(
                self.function,
                f"argument {number} is a '{type_}' marked '{NEEDS_GRAD}', expected floats",
            )
        self.all[-1].is_marked = True

    def _scalar(self, type_: ir.Type, number: int) -> ir.Value:
        """Return the value of an argument that is a number."""
        if b.is_float(type_):
            array = self.add(field.array_type(type_, []), Role.ARGUMENT, number)
            with at_start(self.entry, self.function.location):
                return field.load(array)
        if isinstance(type_, ir.IndexType):
            value = self.add(b.integer_type(64), Role.ARGUMENT, number)
            with at_start(self.entry, self.function.location):
                return b.to_index(value)
        if not isinstance(type_, ir.IntegerType):
            refuse(self.function, f"argument {number} is a '{type_}', which no array holds")
        return self.add(type_, Role.ARGUMENT, number)

    def add(
        self,
        type_: ir.Type,
        role: Role,
        source: int | str | None = None,
        extents: ir.Attribute | None = None,
        location: ir.Location | None = None,
    ) -> ir.Value:
        """Return the value of one more parameter."""
        value = self.entry.add_argument(type_, location or self.function.location)
        self.all.append(Parameter(value, role, source, extents))
        return value

    def full_view(self, array: ir.Value, *, in_order: bool = True) -> View:
        """Return the view of all of a parameter."""
        with at_start(self.entry, self.function.location):
            return full_view(array, in_order=in_order)

    def of(self, array: ir.Value, role: Role) -> Parameter | None:
        """Return the parameter that an array is, if it has a role."""
        return next((p for p in self.all if p.value == array and p.role is role), None)

    def sign(self, *, gradients: bool) -> None:
        """Drop the arguments that parameters stand for, and declare the parameters."""
        for _ in self._replaced:
            self.entry.erase_argument(0)
        types = [parameter.value.type for parameter in self.all]
        follow = any(parameter.is_marked for parameter in self.all)
        labels = [
            p.label(k, gradients=gradients or p.is_marked or (follow and p.role in _FOLLOWING))
            for k, p in enumerate(self.all)
        ]
        attributes = self.function.attributes
        attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
        attributes["arg_attrs"] = ir.ArrayAttr.get(labels)
        if "res_attrs" in attributes:
            del attributes["res_attrs"]


_FOLLOWING = (Role.RESULT, Role.BUFFER)  # which have gradients if an argument is marked


def array_type(type_: ir.MemRefType, op: ir.Operation) -> ir.Type:
    """Return the type of the array of a memref."""
    element = type_.element_type
    if isinstance(element, ir.IndexType):
        element = b.integer_type(64)
    if str(element) not in ELEMENT_SIZES:
        refuse(op, f"a memref of '{element}', expected one of {', '.join(ELEMENT_SIZES)}")
    return field.array_type(element, [-1 if e == DYNAMIC() else e for e in type_.shape])


def extents_of(sizes: Sequence[ir.Value], parameters: Parameters, op: ir.Operation) -> ir.Attribute:
    """Return sizes as affine maps of extents and integers among the parameters: a map, and for each
    of its operands the position of a parameter, and an axis if it is an array. The operands are
    symbols: text may hold a product of symbols, but not of dimensions."""
    operands: dict[tuple[int, ...], int] = {}
    form = _Form({p.value: number for number, p in enumerate(parameters.all)}, operands, op)
    expressions = [form.of(size) for size in sizes]
    map_ = ir.AffineMap.get(0, len(operands), expressions)
    places = [
        ir.ArrayAttr.get([ir.IntegerAttr.get(b.integer_type(64), number) for number in place])
        for place in operands
    ]
    return ir.ArrayAttr.get([ir.AffineMapAttr.get(map_), ir.ArrayAttr.get(places)])


class _Form:
    """Values as affine expressions."""

    def __init__(
        self,
        positions: dict[ir.Value, int],
        operands: dict[tuple[int, ...], int],
        op: ir.Operation,
    ) -> None:
        self.positions, self.operands, self.op = positions, operands, op

    def of(self, value: ir.Value) -> ir.AffineExpr:
        """Return the expression of a value."""
        if value in self.positions:
            return self._operand((self.positions[value],))
        owner = None if isinstance(value, ir.BlockArgument) else value.owner.operation
        if owner is not None:
            if owner.name == Arith.CONSTANT:
                return ir.AffineExpr.get_constant(ir.IntegerAttr(owner.attributes["value"]).value)
            if field.DimOp.holds(owner) and owner.operands[0] in self.positions:
                axis = ir.IntegerAttr(owner.attributes["axis"]).value
                return self._operand((self.positions[owner.operands[0]], axis))
            if owner.name in (Arith.INDEX_CAST, Arith.EXTSI, Arith.EXTUI):
                return self.of(owner.operands[0])
            if owner.name == Arith.MAXSI and constant_integer(owner.operands[1]) == 0:
                return _not_negative(self.of(owner.operands[0]))
            if owner.name in _AFFINE:
                return _AFFINE[owner.name](*map(self.of, owner.operands))
        refuse(
            self.op, "an allocation whose size is not an affine function of extents and integers"
        )

    def _operand(self, place: tuple[int, ...]) -> ir.AffineExpr:
        return ir.AffineExpr.get_symbol(self.operands.setdefault(place, len(self.operands)))


def _not_negative(expression: ir.AffineExpr) -> ir.AffineExpr:
    """Return the larger of an expression and 0: its product with 1 + -1, where it is negative, or
    with 1 + 0."""
    unit, larger = map(ir.AffineExpr.get_constant, (1, _LARGER))
    sign = ir.AffineExpr.get_floor_div(expression, larger)
    return ir.AffineExpr.get_mul(expression, ir.AffineExpr.get_add(sign, unit))


_LARGER = 1 << 62  # than any size
_AFFINE: dict[str, Callable[[ir.AffineExpr, ir.AffineExpr], ir.AffineExpr]] = {
    Arith.ADDI: ir.AffineExpr.get_add,
    Arith.MULI: ir.AffineExpr.get_mul,
    Arith.SUBI: lambda a, b: a - b,
    Arith.DIVUI: ir.AffineExpr.get_floor_div,
    Arith.FLOORDIVSI: ir.AffineExpr.get_floor_div,
    Arith.CEILDIVSI: ir.AffineExpr.get_ceil_div,
    Arith.REMUI: ir.AffineExpr.get_mod,
}


def _holds_floats(type_: ir.Type) -> bool:
    return field.is_array(type_) and b.is_float(field.element_type(type_))


def _is_in_order(type_: ir.MemRefType) -> bool:
    """Return whether elements lie row by row."""
    return bool(type_.affine_map == ir.AffineMap.get_identity(type_.rank))
