"""The box of elements an access may touch, as bounds affine in the launch's integer arguments."""

from __future__ import annotations

from itertools import chain

import msgspec

from mlirad.analysis.linear import Linear, linear_form, number, unknown
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of_index
from mlirad.ir.ops import Func
from mlirad.ir.walk import Array

Bound = Linear[int]  # of the numbers of arguments


class Axis(msgspec.Struct, frozen=True):
    """First and last index along an axis; None where not known before the launch."""

    low: Bound | None
    high: Bound | None


Axes = tuple[Axis, ...]


def footprint(indices: list[ir.Value]) -> Axes:
    """The box of an access with these indices."""
    return tuple([_axis(linear_form(index)) for index in indices])


def box_attribute(axes: Axes) -> ir.Attribute:
    """A box to be kept in IR: for each axis the low and the high bound as `[constant, argument,
    factor, ...]`; an empty bound is not known."""
    return ir.ArrayAttr.get(
        [ir.ArrayAttr.get([_encode(axis.low), _encode(axis.high)]) for axis in axes]
    )


def read_box(attribute: ir.Attribute) -> Axes:
    """The box that was kept in IR."""
    pairs = map(ir.ArrayAttr, ir.ArrayAttr(attribute))
    return tuple([Axis(_decode(pair[0]), _decode(pair[1])) for pair in pairs])


def _encode(bound: Bound | None) -> ir.Attribute:
    words = [] if bound is None else [bound.constant, *chain(*sorted(bound.terms))]
    return ir.DenseI64ArrayAttr.get(words)


def _decode(attribute: ir.Attribute) -> Bound | None:
    words = list(ir.DenseI64ArrayAttr(attribute))
    return Linear(frozenset(zip(words[1::2], words[2::2])), words[0]) if words else None


def _axis(form: Linear[ir.Value]) -> Axis:
    low, high = _bound(form, False, 8), _bound(form, True, 8)
    return Axis(low, high)


def _bound(form: Linear[ir.Value], upper: bool, depth: int) -> Bound | None:
    """The least or greatest value of a form over all iterations."""
    leaf_bounds: dict[ir.Value, Bound] = {}
    for leaf, factor in form.terms:
        leaf_bound = _leaf(leaf, upper == (factor > 0), depth)
        if leaf_bound is None:
            return None
        leaf_bounds[leaf] = leaf_bound
    return form.substitute(leaf_bounds)


def _leaf(value: ir.Value, upper: bool, depth: int) -> Bound | None:
    if not isinstance(value, ir.BlockArgument) or depth == 0:
        return None
    owner = value.owner.owner.operation
    if owner.name == Func.FUNC:
        return (
            unknown(value.arg_number)
            if isinstance(value.type, ir.IntegerType | ir.IndexType)
            else None
        )
    bounds = bounds_of_index(value)
    if bounds is None:
        return None
    bound = _bound(linear_form(bounds.upper if upper else bounds.lower), upper, depth - 1)
    return bound.plus(number(-1)) if bound is not None and upper else bound


def is_named(array: Array) -> bool:
    """Return whether an array is a field or an argument, and not local to a launch."""
    return isinstance(array, str | ir.BlockArgument)


def named_array(array: Array) -> ir.Attribute:
    """An array as a symbol, or as the number of an argument."""
    assert not isinstance(array, tuple)
    if isinstance(array, str):
        return ir.FlatSymbolRefAttr.get(array)
    return ir.IntegerAttr.get(b.integer_type(64), ir.BlockArgument(array).arg_number)
