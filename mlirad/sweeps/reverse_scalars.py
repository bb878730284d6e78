"""Ops without regions reversed: by the rules of the tables, and those that functions give."""

from __future__ import annotations

from mlirad.analysis.rules.table import RULES
from mlirad.ir.custom import VJP, apply_region, unless_all_zero, vjp_reads
from mlirad.ir.elementary.terms import Values, convert_float, emit, guard_term
from mlirad.ir.graph import Node
from mlirad.sweeps.adjoints import Adjoints, AdjointSweep
from mlirad.sweeps.recompute import Environment


def scalar(sweep: AdjointSweep, node: Node, env: Environment, adj: Adjoints) -> None:
    """The terms of the rule of an op."""
    adjoint = adj.pop(node.results[0], None)
    if adjoint is None:
        return
    for position, operand in enumerate(node.operands):
        term = RULES[node.name][position]
        if term is None or operand not in sweep.activity.varied:
            continue
        target = sweep.graph.values[operand].type
        if sweep.finiteness.may_be_infinite(node, position):
            term = guard_term(term, again=sweep.again)
        values = Values(
            adjoint,
            lambda k: env[node.operands[k]],
            lambda: env[node.results[0]],
            adjoint.type,
            target,
        )
        sweep.add(adj, operand, convert_float(emit(term, values), target))


def custom(sweep: AdjointSweep, node: Node, env: Environment, adj: Adjoints) -> None:
    """The function's own rule, from the adjoints of all results to those of all arguments."""
    results = sweep.pop_results(node, adj)
    adjoints = [adjoint for adjoint in results if adjoint is not None]
    if not adjoints:
        return
    reads = vjp_reads(node, sweep.activity.varied)
    values = [env[v] if v in reads else None for v in [*node.operands, *node.results]]
    shares = apply_region(
        node.op, VJP, values + [sweep.or_zero(p, v) for p, v in zip(results, node.results)]
    )
    for operand, adjoint in zip(node.operands, unless_all_zero(adjoints, shares)):
        if operand in sweep.activity.varied:
            sweep.add(adj, operand, adjoint)
