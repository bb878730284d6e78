"""Index values as sums: `constant + Σ coefficient · value`, seen through casts and arithmetic."""

from dataclasses import dataclass

from mlirad.bindings import ir
from mlirad.ir.walk import constant_integer

_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.trunci")


@dataclass(frozen=True)
class Affine:
    """Terms in the order found; equal forms compare equal."""

    terms: frozenset[tuple[ir.Value, int]]
    constant: int

    def coefficient(self, value: ir.Value) -> int:
        """The factor of a value; 0 where it does not occur."""
        return next((factor for leaf, factor in self.terms if leaf == value), 0)

    def without(self, value: ir.Value) -> "Affine":
        """The rest of the sum."""
        return Affine(frozenset(term for term in self.terms if term[0] != value), self.constant)


def affine(value: ir.Value, depth: int = 16) -> Affine:
    """The affine form of an integer value; what cannot be looked into is a leaf."""
    known = constant_integer(value)
    if known is not None:
        return Affine(frozenset(), known)
    if isinstance(value, ir.BlockArgument) or depth == 0:
        return Affine(frozenset({(value, 1)}), 0)
    op = value.owner.operation
    if op.name in _CASTS:
        return affine(op.operands[0], depth - 1)
    if op.name in ("arith.addi", "arith.subi"):
        left, right = affine(op.operands[0], depth - 1), affine(op.operands[1], depth - 1)
        return _sum(left, right, 1 if op.name == "arith.addi" else -1)
    if op.name == "arith.muli":
        left, right = affine(op.operands[0], depth - 1), affine(op.operands[1], depth - 1)
        if not right.terms:
            return _scaled(left, right.constant)
        if not left.terms:
            return _scaled(right, left.constant)
    return Affine(frozenset({(value, 1)}), 0)


def _sum(left: Affine, right: Affine, sign: int) -> Affine:
    factors = dict(left.terms)
    for leaf, factor in right.terms:
        factors[leaf] = factors.get(leaf, 0) + sign * factor
    return Affine(
        frozenset((k, v) for k, v in factors.items() if v), left.constant + sign * right.constant
    )


def _scaled(form: Affine, factor: int) -> Affine:
    if factor == 0:
        return Affine(frozenset(), 0)
    return Affine(frozenset((leaf, k * factor) for leaf, k in form.terms), form.constant * factor)
