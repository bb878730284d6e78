"""The box of elements an access may touch, as bounds affine in the launch's integer arguments."""

from __future__ import annotations

from dataclasses import dataclass

from mlirad.analysis.linear import Affine, affine
from mlirad.bindings import ir
from mlirad.ir import build as b

Bound = tuple[int, tuple[tuple[int, int], ...]]  # constant, and pairs of argument number and factor


@dataclass(frozen=True)
class Axis:
    """First and last index along an axis; None where not known before the launch."""

    low: Bound | None
    high: Bound | None


def footprint(indices: list[ir.Value]) -> list[Axis]:
    """The box of an access with these indices."""
    return [_axis(affine(index)) for index in indices]


def _axis(form: Affine) -> Axis:
    low, high = _bound(form, False, 8), _bound(form, True, 8)
    return Axis(low, high)


def _bound(form: Affine, upper: bool, depth: int) -> Bound | None:
    """The least or greatest value of a form over all iterations."""
    constant, terms = form.constant, dict[int, int]()
    for leaf, factor in form.terms:
        part = _leaf(leaf, upper == (factor > 0), depth)
        if part is None:
            return None
        constant += factor * part[0]
        for argument, weight in part[1]:
            terms[argument] = terms.get(argument, 0) + factor * weight
    return constant, tuple(sorted((a, w) for a, w in terms.items() if w))


def _leaf(value: ir.Value, upper: bool, depth: int) -> Bound | None:
    if not isinstance(value, ir.BlockArgument) or depth == 0:
        return None
    owner = value.owner.owner.operation
    number = value.arg_number
    if owner.name == "func.func":
        return (
            (0, ((number, 1),)) if isinstance(value.type, ir.IntegerType | ir.IndexType) else None
        )
    if owner.name == "scf.for" and number == 0:
        edge = owner.operands[1 if upper else 0]
    elif owner.name == "scf.parallel":
        rank = len(value.owner.arguments)
        edge = owner.operands[rank + number if upper else number]
    else:
        return None
    bound = _bound(affine(edge), upper, depth - 1)
    return None if bound is None else (bound[0] - 1 if upper else bound[0], bound[1])


def is_named(array: object) -> bool:
    """Whether an array is a field or an argument, and not local to a launch."""
    return isinstance(array, str | ir.BlockArgument)


def named_array(array: object) -> ir.Attribute:
    """An array as a symbol, or as the number of an argument."""
    if isinstance(array, str):
        return ir.FlatSymbolRefAttr.get(array)
    return ir.IntegerAttr.get(b.integer_type(64), ir.BlockArgument(array).arg_number)
