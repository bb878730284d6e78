"""Comparisons of indices that hold wherever they are made, or nowhere."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.analysis.linear import Linear, extent_of
from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.walk import before, constant_integer

Ranges = dict[ir.Value, tuple[int, int]]


def ranges_of(op: ir.Operation) -> Ranges:
    """The first and the last value of the indices of a definition, or of a reduction, where they
    are known."""
    if te.is_reduce(op):
        indices = list(te.body_of(op).arguments)
        ends = [tuple(map(constant_integer, pair)) for pair in te.bounds_of(op)]
        return {
            index: (low, high - 1)
            for index, (low, high) in zip(indices, ends)
            if low is not None and high is not None
        }
    if not te.ComputeOp.holds(op):
        return {}
    type_ = ir.RankedTensorType(op.results[0].type)
    return {
        index: (0, type_.get_dim_size(axis) - 1)
        for axis, index in enumerate(te.body_of(op).arguments)
        if not type_.is_dynamic_dim(axis)
    }


def fold_known(op: ir.Operation, sums: Sequence[Linear[ir.Value]], ranges: Ranges) -> None:
    """Let what uses a comparison, which holds where some sums are not negative, use what it always
    is."""
    spans = [extent_of(sum_, ranges) for sum_ in sums]
    bounded = [ends for ends in spans if ends is not None]
    is_true = len(bounded) == len(spans) and all(low >= 0 for low, _ in bounded)
    if spans and (is_true or any(high < 0 for _, high in bounded)):
        with before(op), op.location:
            op.results[0].replace_all_uses_with(b.number(int(is_true), op.results[0].type))
