"""How much of an element's adjoint a point gets: by how points are combined."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.errors import TaichiDerivativeError
from mlirad.ir import build as b
from mlirad.ir.location import source_location
from mlirad.ir.te_regions import Copier
from mlirad.ir.walk import block_operations, constant_float
from mlirad.sweeps.tensors.copies import At
from mlirad.sweeps.tensors.definition import Definition, extents, type_with


def share_of(definition: Definition) -> Share:
    """By the kind of the definition's reduction."""
    kind = definition.kind
    found = Share if kind in (None, "sum") else _SHARES.get(kind or "")
    if found is None:
        raise TaichiDerivativeError(
            f"a reduction of kind '{kind}' has no derivative",
            source_location(definition.op.location),
        )
    return found(definition)


class Share:
    """Each point has all of it: of a sum, and of an expression."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition

    def extents(self, is_initial: bool) -> list[ir.Value]:
        """The box that `te.scatter` goes through. Raises TaichiDerivativeError for one that is
        none."""
        found = extents(self.definition.op.results[0])
        for op in [] if is_initial else self.definition.reductions:
            for low, high in te.bounds_of(op):
                found.append(b.sub(high, low))
        return found

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
        (reduction,) = definition.reductions
        kind = {"max": "argmax", "min": "argmin"}[te.ReduceOp(reduction).kind.value]
        shape = extents(definition.op.results[0])
        type_, sizes = type_with(shape, b.integer_type(32))
        body = te.body_of(reduction)

        def fill(indices: list[ir.Value]) -> ir.Value:
            copier = Copier(dict(zip(definition.indices, indices)))
            _copy_before(definition, copier)
            bounds = [
                (copier.value(low), copier.value(high)) for low, high in te.bounds_of(reduction)
            ]

            def values(points: list[ir.Value]) -> list[ir.Value]:
                for argument, index in zip(body.arguments, points):
                    copier[argument] = index
                return copier.block(body)

            return te.reduce(kind, bounds, [], values, None)[0]

        label = te.ComputeOp(definition.op).label.value
        self.places = te.compute(f"{label}.{kind}", type_, sizes, fill)

    def factor(self, at: At, values: Sequence[ir.Value]) -> ir.Value | None:
        (reduction,), (value,) = self.definition.reductions, values
        flat = b.index(0)
        for index, (low, high) in zip(te.body_of(reduction).arguments, te.bounds_of(reduction)):
            first, behind = at.value(low), at.value(high)
            own = b.sub(at.copier.value(index), first)
            flat = b.add(b.mul(flat, b.sub(behind, first)), own)
        place = te.read(self.places, self._position(at))
        here = b.make("arith.index_cast", place.type, [flat])
        one, zero = (b.number(x, value.type) for x in (1.0, 0.0))
        return b.make("arith.select", value.type, [b.compare(b.EQ, here, place), one, zero])


class _OfProduct(Share):
    """The product of the others: by division, where no factor is 0; where one is, it has the
    product of the others, which is not 0, and these have nothing."""

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        _refuse_initial(definition)
        self.zeros = self._reduced("zeros", is_count=True)
        self.rest = self._reduced("rest", is_count=False)

    def _reduced(self, label: str, *, is_count: bool) -> ir.Value:
        """How many factors are 0, or the product of the others."""
        (reduction,) = self.definition.reductions
        shape = extents(self.definition.op.results[0])
        element = ir.RankedTensorType(self.definition.op.results[0].type).element_type
        type_, sizes = type_with(shape, element)
        body = te.body_of(reduction)
        name = "arith.addf" if is_count else "arith.mulf"

        def fill(indices: list[ir.Value]) -> ir.Value:
            copier = Copier(dict(zip(self.definition.indices, indices)))
            _copy_before(self.definition, copier)
            bounds = [
                (copier.value(low), copier.value(high)) for low, high in te.bounds_of(reduction)
            ]

            def values(points: list[ir.Value]) -> list[ir.Value]:
                for argument, index in zip(body.arguments, points):
                    copier[argument] = index
                (value,) = copier.block(body)
                zero, one = b.number(0.0, element), b.number(1.0, element)
                chosen = [one, zero] if is_count else [one, value]
                return [b.make("arith.select", element, [_is_zero(value), *chosen])]

            def combine(a: Sequence[ir.Value], c: Sequence[ir.Value]) -> list[ir.Value]:
                return [b.make(name, element, [a[0], c[0]])]

            kind, start = ("sum", 0.0) if is_count else ("prod", 1.0)
            return te.reduce(kind, bounds, [b.number(start, element)], values, combine)[0]

        own = te.ComputeOp(self.definition.op).label.value
        return te.compute(f"{own}.{label}", type_, sizes, fill)

    def factor(self, at: At, values: Sequence[ir.Value]) -> ir.Value | None:
        (value,) = values
        type_, position = value.type, self._position(at)
        zeros, rest = te.read(self.zeros, position), te.read(self.rest, position)
        none, one, zero = (b.number(x, type_) for x in (0.0, 1.0, 0.0))

        def is_(number: ir.Value, wanted: ir.Value) -> ir.Value:
            return b.make(
                "arith.cmpf", b.integer_type(1), [number, wanted], predicate=b.predicate(b.OEQ)
            )

        def choose(test: ir.Value, then: ir.Value, otherwise: ir.Value) -> ir.Value:
            return b.make("arith.select", type_, [test, then, otherwise])

        here = _is_zero(value)
        divisor = choose(here, one, value)
        others = b.make("arith.divf", type_, [rest, divisor])
        alone, all_others = (
            choose(is_(zeros, one), rest, zero),
            choose(is_(zeros, none), others, zero),
        )
        return choose(here, alone, all_others)


_SHARES: dict[str, type[Share]] = {"max": _OfOne, "min": _OfOne, "prod": _OfProduct}


def _is_zero(value: ir.Value) -> ir.Value:
    zero = b.number(0.0, value.type)
    return b.make("arith.cmpf", b.integer_type(1), [value, zero], predicate=b.predicate(b.OEQ))


def _copy_before(definition: Definition, copier: Copier) -> None:
    """What stands in front of a definition's only reduction."""
    (reduction,) = definition.reductions
    for op in block_operations(te.body_of(definition.op)):
        if op == reduction:
            return
        copier.op(op)


def _refuse_initial(definition: Definition) -> None:
    """Raise TaichiDerivativeError for a product, maximum or minimum that begins with something."""
    neutral = {"prod": 1.0, "max": float("-inf"), "min": float("inf")}
    for op in definition.reductions:
        kind = te.ReduceOp(op).kind.value
        (initial,) = te.initial_of(op)
        if constant_float(initial) != neutral[kind] or len(definition.reductions) > 1:
            raise TaichiDerivativeError(
                f"a reduction of kind '{kind}' with init= has no derivative: combine the result "
                "with what it is to begin with",
                source_location(op.location),
            )
