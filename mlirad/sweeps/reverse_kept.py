"""Stacks of an earlier reverse, reversed: each has a stack of adjoints beside it, of as many
slots."""

from __future__ import annotations

from mlirad.analysis.derivatives.activity import stack_of
from mlirad.dialect import grad
from mlirad.ir import build as b
from mlirad.ir.graph import Node
from mlirad.ir.walk import at_end
from mlirad.sweeps.adjoints import Adjoints, AdjointSweep
from mlirad.sweeps.recompute import Environment


def free(sweep: AdjointSweep, node: Node, env: Environment, adj: Adjoints) -> None:
    """Create the adjoints of a stack, all 0, where the stack was freed."""
    stack = stack_of(node)
    if not sweep.activity.is_active_local(stack):
        return
    allocation = sweep.graph.defined[stack[1]]
    assert isinstance(allocation, Node)
    type_ = grad.stack_element(sweep.graph.values[stack[1]].type)
    trips = env[allocation.operands[0]]
    sweep.arrays[stack] = adjoints = grad.alloc(type_, trips)
    loop = b.for_loop(b.index(0), trips, b.index(1), [])
    with at_end(loop.body, node.op.location):
        grad.push(b.number(0.0, type_), adjoints, loop.induction)
        b.yield_()


def pop(sweep: AdjointSweep, node: Node, env: Environment, adj: Adjoints) -> None:
    """An update of the slot's adjoint."""
    adjoint, stack = adj.pop(node.results[0], None), stack_of(node)
    if adjoint is not None and stack in sweep.arrays:
        slots, trip = sweep.arrays[stack], env[node.operands[1]]
        before = grad.pop(slots, trip)
        grad.push(b.plus(before, adjoint), slots, trip)


def push(sweep: AdjointSweep, node: Node, env: Environment, adj: Adjoints) -> None:
    """The value has the slot's adjoint."""
    slots = sweep.arrays.get(stack_of(node))
    if slots is not None and node.operands[0] in sweep.activity.varied:
        sweep.add(adj, node.operands[0], grad.pop(slots, env[node.operands[2]]))


def alloc(sweep: AdjointSweep, node: Node, env: Environment, adj: Adjoints) -> None:
    """Free a stack and its adjoints where it was created."""
    stack = node.results[0]
    if stack in env:
        grad.free(env[stack])
    if ("stack", stack) in sweep.arrays:
        grad.free(sweep.arrays.pop(("stack", stack)))
