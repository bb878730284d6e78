"""Stores that set every element of their box."""

from __future__ import annotations

from mlirad.analysis.linear import linear_form
from mlirad.bindings import ir
from mlirad.ir.box import Bounds, bounds_of, bounds_of_index
from mlirad.ir.graph import Graph, Node
from mlirad.ir.structured import is_for, is_parallel
from mlirad.ir.walk import constant_integer, is_function_argument


def covers_box(graph: Graph, node: Node) -> bool:
    """Return whether a store is certain to set all elements of its box: it stands in loops alone,
    of steps of 1, whose bounds are known before the launch, and each index follows a loop of its
    own, or none."""
    loops = [owner.op for owner in node.owners]
    if not all(is_for(loop) or is_parallel(loop) for loop in loops):
        return False
    followed: list[ir.Value] = []
    for index in node.indices:
        terms = linear_form(graph.values[index]).terms
        moving = [(leaf, factor) for leaf, factor in terms if not is_function_argument(leaf)]
        if len(moving) > 1:
            return False
        for leaf, factor in moving:
            if bounds_of_index(leaf) is None or abs(factor) != 1 or leaf in followed:
                return False
            followed.append(leaf)
    return all(
        _is_plain(bounds) and (index in followed or _runs(bounds))
        for loop in loops
        for index, bounds in zip(loop.regions[0].blocks[0].arguments, bounds_of(loop))
    )


def _is_plain(bounds: Bounds) -> bool:
    """Return whether an index takes all values between bounds that are known before the launch."""
    ends = (bounds.lower, bounds.upper)
    return constant_integer(bounds.step) == 1 and all(
        is_function_argument(leaf) for end in ends for leaf, _ in linear_form(end).terms
    )


def _runs(bounds: Bounds) -> bool:
    """Return whether there is a trip."""
    low, high = constant_integer(bounds.lower), constant_integer(bounds.upper)
    return low is not None and high is not None and low < high
