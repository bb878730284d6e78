"""Ops that do more than compute: memory, printing and random numbers. A function with derivatives
of its own cannot hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlirad.bindings import ir
from mlirad.dialect import activity, field
from mlirad.dialect.field import GetOp
from mlirad.errors import TaichiCompilationError
from mlirad.frontend.python.building.builder import current


def cell(type_: ir.Type) -> ir.Value:
    """Memory of this launch for one scalar of an array type without axes."""
    _refuse_in_custom("makes memory")
    return field.alloca(type_)


def load(
    array: ir.Value,
    indices: Sequence[ir.Value] = (),
    marks: Mapping[str, ir.Attribute] | None = None,
) -> ir.Value:
    """Read an element."""
    _refuse_in_custom("reads memory", array)
    return field.load(array, indices, marks)


def address(array: ir.Value, indices: Sequence[ir.Value]) -> ir.Value:
    """The address of an element."""
    _refuse_in_custom("asks where memory lies", array)
    return field.address(array, indices)


def store(value: ir.Value, array: ir.Value, indices: Sequence[ir.Value] = ()) -> None:
    """Set an element."""
    _refuse_in_custom("writes to memory", array)
    field.store(value, array, indices)


def atomic(
    value: ir.Value,
    array: ir.Value,
    indices: Sequence[ir.Value],
    kind: str,
    marks: Mapping[str, ir.Attribute],
) -> ir.Value:
    """Update an element in one step, and return its old value."""
    _refuse_in_custom("updates memory", array)
    return field.atomic(value, array, indices, kind, marks)


def activate(block: str, cell: Sequence[ir.Value]) -> None:
    """Make a cell of a block active."""
    _refuse_in_custom("activates memory")
    activity.activate(block, cell)


def deactivate(block: str, cell: Sequence[ir.Value]) -> None:
    """Make a cell of a block inactive, or empty a list."""
    _refuse_in_custom("deactivates memory")
    activity.deactivate(block, cell)


def is_active(block: str, cell: Sequence[ir.Value]) -> ir.Value:
    """Whether a cell of a block is active."""
    _refuse_in_custom("reads memory")
    return activity.is_active(block, cell)


def length(block: str, cell: Sequence[ir.Value]) -> ir.Value:
    """The number of items of a list."""
    _refuse_in_custom("reads memory")
    return activity.length(block, cell)


def append(block: str, cell: Sequence[ir.Value]) -> ir.Value:
    """Make a list longer, and return the number of the new item."""
    _refuse_in_custom("updates memory")
    return activity.append(block, cell)


def print_(text: str, values: Sequence[ir.Value]) -> None:
    """Write values into a text."""
    _refuse_in_custom("prints")
    field.print_(text, values)


def random(type_: ir.Type, counters: tuple[ir.Value, ir.Value, ir.Value]) -> ir.Value:
    """A random number, a function of its counters."""
    _refuse_in_custom("draws random numbers")
    return field.random(type_, *counters)


def _refuse_in_custom(effect: str, array: ir.Value | None = None) -> None:
    """Raise TaichiCompilationError if a function with derivatives of its own does more than
    compute."""
    function = current().custom
    if function is None:
        return
    name = ""
    if isinstance(array, ir.OpResult) and GetOp.holds(array.owner):
        name = f" '{GetOp(array.owner).field.value}'"
    raise TaichiCompilationError(
        f"'{function}' has derivatives of its own, so it can only compute with its arguments, and "
        f"this {effect}{name}: pass what it reads as an argument"
    )
