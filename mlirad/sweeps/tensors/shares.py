"""The share of a point in an element's adjoint: by how points are combined."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.errors import TaichiDerivativeError
from mlirad.ir import build as b
from mlirad.ir.reports.location import source_location
from mlirad.ir.walk import constant_float
from mlirad.sweeps.tensors.copies import At
from mlirad.sweeps.tensors.definition import Definition, copied_before, extents, type_with


def share_of(definition: Definition) -> Share:
    """The share of a point, by the kind of the definition's reduction."""
    kind = definition.kind
    kind_of_share = Share if kind in (None, te.ReduceKind.SUM) else _SHARES.get(kind or "")
    if kind_of_share is None:
        raise TaichiDerivativeError(
            f"a reduction of kind '{kind}' has no derivative",
            source_location(definition.op.location),
        )
    return kind_of_share(definition)


class Share:
    """Each point has all of it: of a sum, and of an expression."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition

    def factor(self, at: At, values: Sequence[ir.Value]) -> ir.Value | None:
        """The derivative of an element in what a point gives, for the values that it gives; None
        where it is 1."""
        return None

    def _position(self, at: At) -> list[ir.Value]:
        return at.copier.values(self.definition.indices)


class _OfOne(Share):
    """The first point with the greatest, or least, number has all of it."""

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        _refuse_initial(definition)
        self.places = _places_of(definition)

    def factor(self, at: At, values: Sequence[ir.Value]) -> ir.Value | None:
        (reduction,), (value,) = self.definition.reductions, values
        flat = b.index(0)
        for index, (low, high) in zip(te.body_of(reduction).arguments, te.bounds_of(reduction)):
            first, behind = at.value(low), at.value(high)
            offset = b.sub(at.copier.value(index), first)
            flat = b.add(b.mul(flat, b.sub(behind, first)), offset)
        place = te.read(self.places, self._position(at))
        here = b.index_cast(flat, place.type)
        unit, zero = (b.number(x, value.type) for x in (1.0, 0.0))
        return b.select(b.compare(b.EQ, here, place), unit, zero)


_SHARES: dict[str, type[Share]] = {te.ReduceKind.MAX: _OfOne, te.ReduceKind.MIN: _OfOne}


def _places_of(definition: Definition) -> ir.Value:
    """Return the place of the first greatest, or least, number of each element: a definition of the
    same shape."""
    (reduction,) = definition.reductions
    kind = {te.ReduceKind.MAX: te.ReduceKind.ARGMAX, te.ReduceKind.MIN: te.ReduceKind.ARGMIN}[
        te.reduce_kind(reduction)
    ]
    type_, sizes = type_with(extents(definition.op.results[0]), b.integer_type(32))
    body = te.body_of(reduction)

    def fill(indices: list[ir.Value]) -> ir.Value:
        copier = copied_before(definition, indices)

        def values(points: list[ir.Value]) -> list[ir.Value]:
            for argument, index in zip(body.arguments, points):
                copier[argument] = index
            return copier.block(body)

        bounds = [(copier.value(low), copier.value(high)) for low, high in te.bounds_of(reduction)]
        return te.reduce(kind, bounds, [], values, None)[0]

    label = te.ComputeOp(definition.op).label.value
    return te.compute(f"{label}.{kind}", type_, sizes, fill)


def _refuse_initial(definition: Definition) -> None:
    """Raise TaichiDerivativeError for a maximum or minimum that begins with something."""
    neutral = {te.ReduceKind.MAX: float("-inf"), te.ReduceKind.MIN: float("inf")}
    for op in definition.reductions:
        kind = te.reduce_kind(op)
        (initial,) = te.initial_of(op)
        if constant_float(initial) != neutral[kind] or len(definition.reductions) > 1:
            raise TaichiDerivativeError(
                f"a reduction of kind '{kind}' with init= has no derivative: combine the result "
                "with the initial value instead",
                source_location(op.location),
            )
