"""Ops without regions: by the rules of the tables, and those that functions give."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.analysis.rules.table import RULES
from mlirad.bindings import ir
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.custom import (
    JVP,
    VJP,
    apply_region,
    is_given,
    require_derivative,
    unless_all_zero,
)
from mlirad.ir.elementary.terms import Values, convert_float, emit, guard_term
from mlirad.ir.graph import Node
from mlirad.ir.reports.location import source_location
from mlirad.ir.walk import is_zero
from mlirad.sweeps.tangents import TangentSweep


def scalar(sweep: TangentSweep, node: Node) -> None:
    """The op, and the terms of its rule."""
    if node.blocks:
        raise TaichiCompilationError(
            f"forward mode has no rule for '{node.name}'", source_location(node.op.location)
        )
    sweep.clone(node)
    if not sweep.active(node.results):
        return
    result = sweep.graph.values[node.results[0]].type
    tangents: list[ir.Value | None] = [None] * sweep.count
    for position, operand in enumerate(node.operands):
        term = RULES[node.name][position]
        if term is None or operand not in sweep.tangents:
            continue
        if sweep.finiteness.may_be_infinite(node, position):
            term = guard_term(term, again=sweep.again)
        for k, tangent in enumerate(sweep.tangents[operand]):
            if is_zero(tangent):
                continue
            term_tangent = convert_float(
                emit(
                    term,
                    Values(
                        tangent,
                        lambda n: sweep.env[node.operands[n]],
                        lambda: sweep.env[node.results[0]],
                        result,
                        result,
                    ),
                ),
                result,
            )
            old = tangents[k]
            tangents[k] = term_tangent if old is None else b.plus(old, term_tangent)
    if any(tangent_or_none is not None for tangent_or_none in tangents):
        sweep.tangents[node.results[0]] = [
            b.number(0.0, result) if tangent_or_none is None else tangent_or_none
            for tangent_or_none in tangents
        ]


def choice(sweep: TangentSweep, node: Node) -> None:
    """A choice of two values: the same choice of their tangents."""
    sweep.clone(node)
    if not sweep.active(node.results):
        return
    condition, *values = node.operands
    if not any(value in sweep.tangents for value in values):
        return
    pairs = zip(*(sweep.tangents_of(value) for value in values))
    sweep.tangents[node.results[0]] = [b.select(sweep.env[condition], *pair) for pair in pairs]


def custom(sweep: TangentSweep, node: Node) -> None:
    """The function's own rule; where it has none for tangents, the rows of the Jacobian, which
    its transpose gives."""
    sweep.clone(node)
    active = sweep.active(node.results)
    if not active:
        return
    require_derivative(node.op)
    values = sweep.values([*node.operands, *node.results])
    if is_given(node.op, JVP):
        along = [sweep.tangents_of(v) for v in node.operands if sweep.graph.floats[v]]
        for seeds in zip(*along):
            tangents = unless_all_zero(seeds, apply_region(node.op, JVP, [*values, *seeds]))
            for value, tangent in zip(node.results, tangents):
                if value in sweep.activity.active:
                    sweep.tangents.setdefault(value, []).append(tangent)
        return
    for value in active:
        unit = [b.number(float(v == value), sweep.graph.values[v].type) for v in node.results]
        row = apply_region(node.op, VJP, values + unit)
        sweep.tangents[value] = [
            _product(sweep, node, row, k, unit[0].type) for k in range(sweep.count)
        ]


def _product(
    sweep: TangentSweep, node: Node, row: Sequence[ir.Value], direction: int, type_: ir.Type
) -> ir.Value:
    """A row of a Jacobian times the tangents of a node's operands in one direction."""
    total = b.number(0.0, type_)
    for operand, factor in zip(node.operands, row):
        if operand in sweep.tangents:
            tangent = sweep.tangents[operand][direction]
            summand = unless_all_zero([tangent], [b.mulf(factor, tangent)])[0]
            total = b.plus(total, convert_float(summand, type_))
    return total
