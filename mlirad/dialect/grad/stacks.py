"""Saved values: one per iteration of a loop."""

from typing import Any

from mlirad.bindings import ext, ir
from mlirad.dialect.effects import allocates, frees, reads, writes
from mlirad.dialect.view import View


class Grad(ext.Dialect, name="grad"):
    """Values saved for the reverse sweep."""


class StackType(Grad.Type, name="stack"):
    """Slots for one value per iteration. `!grad.stack<f32>`"""

    element: ir.TypeAttr


class AllocOp(View, dialect=Grad, name="alloc", effects=[allocates("stack")]):
    """Allocate one slot per iteration of a loop. `%s = grad.alloc %trips : !grad.stack<f32>`

    Races: within a parallel loop, each iteration has its own.
    Bounds: `trips` is 0 or more.
    Aliasing: it overlaps nothing.
    """

    trips: ext.Operand[ir.IndexType]
    stack: ext.Result[Any]

    def problem(self) -> str | None:
        return _problem_of_stack(self.operation.results[0].type)


class PushOp(View, dialect=Grad, name="push", effects=[writes("stack")]):
    """Save the value of iteration `trip`. `grad.push %v, %s[%k]`

    Races: with accesses of the same slot in another iteration.
    Bounds: `trip` is less than `trips`; this is not tested.
    """

    value: ext.Operand[Any]
    stack: ext.Operand[Any]
    trip: ext.Operand[ir.IndexType]

    def problem(self) -> str | None:
        return _problem_of_element(self.operation.operands[0].type, self.operation.operands[1].type)


class PopOp(View, dialect=Grad, name="pop", effects=[reads("stack")]):
    """Return the saved value of iteration `trip`. `%v = grad.pop %s[%k] : f32`

    Races: with a push to the same slot in another iteration.
    Bounds: `trip` is less than `trips`; this is not tested.
    """

    stack: ext.Operand[Any]
    trip: ext.Operand[ir.IndexType]
    value: ext.Result[Any]

    def problem(self) -> str | None:
        return _problem_of_element(self.operation.results[0].type, self.operation.operands[0].type)


class FreeOp(View, dialect=Grad, name="free", effects=[frees("stack")]):
    """Free the slots after the reversed loop. `grad.free %s`

    Races: with every use of the stack in another iteration.
    """

    stack: ext.Operand[Any]

    def problem(self) -> str | None:
        return _problem_of_stack(self.operation.operands[0].type)


def stack_type(element: ir.Type) -> ir.Type:
    """The type of a stack of one element type."""
    return StackType.get(ir.TypeAttr.get(element))


def stack_element(type_: ir.Type) -> ir.Type:
    """The element type of a stack."""
    return ir.TypeAttr(StackType(type_).element).value


def _problem_of_stack(type_: ir.Type) -> str | None:
    return None if isinstance(type_, StackType) else f"{type_} is not a stack"


def _problem_of_element(value: ir.Type, stack: ir.Type) -> str | None:
    is_stack_of = str(stack) == f"!grad.stack<{value}>"
    return None if is_stack_of else f"value of type {value} in {stack}"


def alloc(element: ir.Type, trips: ir.Value) -> ir.Value:
    """`grad.alloc`: a stack of values of one type."""
    return ir.Operation.create(AllocOp.OPERATION_NAME, [stack_type(element)], [trips]).result


def push(value: ir.Value, stack: ir.Value, trip: ir.Value) -> None:
    """`grad.push`."""
    ir.Operation.create(PushOp.OPERATION_NAME, [], [value, stack, trip])


def pop(stack: ir.Value, trip: ir.Value) -> ir.Value:
    """`grad.pop`."""
    type_ = stack_element(stack.type)
    return ir.Operation.create(PopOp.OPERATION_NAME, [type_], [stack, trip]).result


def free(stack: ir.Value) -> None:
    """`grad.free`."""
    ir.Operation.create(FreeOp.OPERATION_NAME, [], [stack])
