"""Derivatives of functions of the module, as functions: `expand-derivatives` makes them.

Both ops name a function and list in `active`, rising, the arguments that derivatives are taken in;
all others are constant. Numbers, vectors and tensors of floats carry a derivative as values,
memrefs of floats in a buffer of the same type. The derivative is a function, for
`func.call_indirect`, whose type the op has as its result. The short form with arguments,
`%r = grad.vjp @f(%x, %dy) {active = [0]} : (f64, f64) -> f64`, stands for the op and its call.
"""

from collections.abc import Callable, Sequence
from typing import Any

from mlirad.bindings import ext, ir
from mlirad.dialect.grad.stacks import Grad
from mlirad.dialect.snode import module_of
from mlirad.dialect.view import NamedOp, View

Types = Sequence[ir.Type]


class VjpOp(View, dialect=Grad, name="vjp", traits=[ext.Pure]):
    """The reverse of a function: it maps adjoints of its results to adjoints of its active
    arguments.

    It takes the arguments of the function, an adjoint buffer for each active memref, and an adjoint
    for each result that carries a derivative. It returns the adjoints of the active arguments that
    are values. On entry, a buffer holds the adjoint of the final content of the memref; on return,
    that of its initial content. The memrefs themselves are unchanged.

    `%df = grad.vjp @f {active = [0]} : (f64, f64) -> f64`, and in one line with the call:
    `%dx = grad.vjp @f(%x, %dy) {active = [0]} : (f64, f64) -> f64`
    """

    derivative: ext.Result[Any]
    callee: ir.FlatSymbolRefAttr
    active: ir.ArrayAttr

    def problem(self) -> str | None:
        return _problem(self.operation, type_of_vjp)


class JvpOp(View, dialect=Grad, name="jvp", traits=[ext.Pure]):
    """A function together with its derivative along tangents of its active arguments.

    It takes the arguments of the function, then a tangent for each active argument, and returns the
    results of the function, then a tangent for each result that carries a derivative. It also does
    what the function does: memrefs contain the values that the function writes. On entry, the
    tangent buffer of an active memref holds the tangent of its initial content; on return, that of
    its final content.

    `%df = grad.jvp @f {active = [0]} : (f64, f64) -> (f64, f64)`, and in one line with the call:
    `%y, %dy = grad.jvp @f(%x, %dx) {active = [0]} : (f64, f64) -> (f64, f64)`
    """

    derivative: ext.Result[Any]
    callee: ir.FlatSymbolRefAttr
    active: ir.ArrayAttr

    def problem(self) -> str | None:
        return _problem(self.operation, type_of_jvp)


def is_derivative(op: NamedOp) -> bool:
    """Return whether an op is the derivative of a function that it names."""
    return VjpOp.holds(op) or JvpOp.holds(op)


def callee_of(op: ir.Operation) -> str:
    """Return the name of the function that an op is a derivative of."""
    return ir.FlatSymbolRefAttr(op.attributes["callee"]).value


def active_arguments(op: ir.Operation) -> tuple[int, ...]:
    """Return the numbers of the arguments that an op takes the derivative in."""
    return tuple(ir.IntegerAttr(number).value for number in ir.ArrayAttr(op.attributes["active"]))


def carries_derivative(type_: ir.Type) -> bool:
    """Return whether values of a type, or memory, have derivatives: floats, one or many."""
    if isinstance(type_, ir.VectorType | ir.RankedTensorType | ir.MemRefType):
        type_ = type_.element_type
    return isinstance(type_, ir.FloatType)


def type_of_vjp(function: ir.FunctionType, active: Sequence[int]) -> ir.FunctionType:
    """Return the type that `grad.vjp` of a function has."""
    inputs = [function.inputs[number] for number in active]
    buffers = [type_ for type_ in inputs if isinstance(type_, ir.MemRefType)]
    adjoints = [type_ for type_ in function.results if carries_derivative(type_)]
    values = [type_ for type_ in inputs if not isinstance(type_, ir.MemRefType)]
    operands = [*function.inputs, *buffers, *adjoints]
    return ir.FunctionType.get(operands, values, function.context)


def type_of_jvp(function: ir.FunctionType, active: Sequence[int]) -> ir.FunctionType:
    """Return the type that `grad.jvp` of a function has."""
    tangents = [function.inputs[number] for number in active]
    carried = [type_ for type_ in function.results if carries_derivative(type_)]
    results = [*function.results, *carried]
    return ir.FunctionType.get([*function.inputs, *tangents], results, function.context)


def function_named(op: ir.Operation, name: str) -> ir.Operation | None:
    """Return the function of a name in the module around an op."""
    module = module_of(op)
    for child in module.regions[0].blocks[0].operations if len(module.regions) else ():
        attributes = child.operation.attributes
        if "sym_name" in attributes and ir.StringAttr(attributes["sym_name"]).value == name:
            return child.operation if _type_of(child.operation) is not None else None
    return None


def _type_of(op: ir.Operation) -> ir.FunctionType | None:
    """Return the type of a function."""
    attribute = op.attributes.get("function_type")
    type_ = attribute.value if isinstance(attribute, ir.TypeAttr) else None
    return type_ if isinstance(type_, ir.FunctionType) else None


def _problem(
    op: ir.Operation, derive: Callable[[ir.FunctionType, Sequence[int]], ir.FunctionType]
) -> str | None:
    callee = op.attributes["callee"]
    if not isinstance(callee, ir.FlatSymbolRefAttr):
        return f"'callee' is {callee}, expected the name of a function"
    function = function_named(op, callee.value)
    type_ = None if function is None else _type_of(function)
    if type_ is None:
        return f"there is no function @{callee.value} in this module"
    problem = _problem_of_active(ir.ArrayAttr(op.attributes["active"]), type_.inputs, callee.value)
    if problem is not None:
        return problem
    expected = derive(type_, active_arguments(op))
    if op.results[0].type != expected:
        return f"a function of type {op.results[0].type}, expected {expected}"
    return None


def _problem_of_active(active: ir.ArrayAttr, inputs: Types, name: str) -> str | None:
    numbers = [ir.IntegerAttr(n).value for n in active if isinstance(n, ir.IntegerAttr)]
    if not numbers or len(numbers) < len(active) or sorted({*numbers}) != numbers:
        return f"'active' is {active}, expected numbers of arguments, rising, one at least"
    for number in numbers:
        if not 0 <= number < len(inputs):
            return f"'active' lists argument {number}, and @{name} has {len(inputs)}"
        if not carries_derivative(inputs[number]):
            return f"argument {number} of @{name} is a '{inputs[number]}', which has no derivative"
    return None
