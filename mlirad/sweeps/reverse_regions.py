"""Branches and parallel loops reversed: their blocks anew, with adjoints of what they use from
outside."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect import field, grad
from mlirad.dialect.field import array_type, is_write
from mlirad.dialect.grad import PushOp
from mlirad.ir import build as b
from mlirad.ir.graph import Node
from mlirad.sweeps.adjoints import Adjoints, AdjointSweep
from mlirad.sweeps.recompute import Environment, Scope, parallel_like


def active_captures(sweep: AdjointSweep, node: Node) -> list[int]:
    """Active values from outside a structured op that ops inside pass adjoints to."""
    depth = node.block.depth
    values: dict[int, None] = {}
    for inner in node.walk():
        for operand in inner.operands:
            if (
                operand in sweep.activity.varied
                and operand in sweep.activity.useful
                and sweep.graph.depth_of(operand) <= depth
            ):
                values.setdefault(operand)
    return list(values)


def _has_memory_work(sweep: AdjointSweep, node: Node) -> bool:
    """Return whether something inside passes adjoints out of arrays, or of stacks."""
    inside = (n for n in node.walk() if n in sweep.needed.work)
    return any(is_write(n) or PushOp.holds(n) for n in inside)


def is_idle(sweep: AdjointSweep, node: Node, results: Sequence[ir.Value | None]) -> bool:
    """Return whether a node has nothing to reverse after all."""
    return all(v is None for v in results) and not _has_memory_work(sweep, node)


def mark_reversed(sweep: AdjointSweep, node: Node, op: ir.Operation) -> None:
    """Say of the reverse of a node that it leaves memory as it was before."""
    if sweep.needed.is_redone(node, node.block.depth + 1):
        op.attributes[grad.REVERSED] = ir.UnitAttr.get()


def branch(sweep: AdjointSweep, node: Node, env: Environment, adj: Adjoints) -> None:
    """A branch on the same condition, whose blocks give the adjoints of what they use from
    outside."""
    results = sweep.pop_results(node, adj)
    if is_idle(sweep, node, results):
        return
    outside = active_captures(sweep, node)
    op = b.if_else(env[node.flow.control[0]], [sweep.graph.values[v].type for v in outside])
    mark_reversed(sweep, node, op.op)
    for number, new in enumerate(op.blocks):
        with ir.InsertionPoint(new):
            inner: Adjoints = {}
            if number < len(node.blocks):
                block, scope = node.blocks[number], Scope(env)
                sweep.seed(inner, block.terminator.operands, results)
                sweep.recompute.block(block, block.depth + 1, scope)
                sweep.block(block, scope, inner)
            b.yield_([sweep.adjoint_of(inner, v) for v in outside])
    for value, adjoint in zip(outside, op.results):
        sweep.add(adj, value, adjoint)


def parallel_loop(sweep: AdjointSweep, node: Node, env: Environment, adj: Adjoints) -> None:
    """A loop over the same box, whose iterations add to cells the adjoints of what they use from
    outside."""
    if not _has_memory_work(sweep, node):
        return
    body = node.blocks[0]
    outside = active_captures(sweep, node)
    cells = [field.alloca(array_type(sweep.graph.values[v].type, [])) for v in outside]
    loop = parallel_like(node, env)
    with ir.InsertionPoint(loop.body):
        scope = Scope(env)
        scope.update(zip(body.arguments, loop.indices))
        inner: Adjoints = {}
        with sweep.undo.within(body, scope):
            sweep.recompute.block(body, body.depth + 1, scope)
            with sweep.undo.again():
                sweep.block(body, scope, inner)
        for value, cell in zip(outside, cells):
            if value in inner:
                field.atomic(inner[value], cell)
        b.end_parallel()
    for value, cell in zip(outside, cells):
        sweep.add(adj, value, field.load(cell))
