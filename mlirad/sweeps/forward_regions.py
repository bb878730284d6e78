"""Structured ops, with the tangents of what passes through them."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import is_atomic
from mlirad.ir import build as b
from mlirad.ir.box import Bounds
from mlirad.ir.flow import CarriedValue
from mlirad.ir.graph import BlockNode, Node
from mlirad.ir.walk import attributes_of
from mlirad.sweeps.recompute import parallel_like
from mlirad.sweeps.tangents import TangentSweep


def branch(sweep: TangentSweep, node: Node) -> None:
    """A copy of the branch, whose blocks give tangents, too."""
    chosen = [choice for choice in node.flow.chosen if choice.result in sweep.activity.active]
    active = [choice.result for choice in chosen]
    types = [sweep.graph.values[v].type for v in node.results] + sweep.types(active)
    (condition,) = sweep.values(node.flow.control)
    op = b.if_else(condition, types, with_else=len(node.blocks) > 1)
    _hand_on(node, op.op)
    for number, (block, new) in enumerate(zip(node.blocks, op.blocks)):
        with ir.InsertionPoint(new):
            sweep.block(block)
            b.yield_(
                sweep.values(block.terminator.operands)
                + sweep.all_of([choice.values[number] for choice in chosen])
            )
    sweep.bind(node.results, op.results, active)


def _hand_on(node: Node, op: ir.Operation) -> None:
    """Give an op the attributes of the one that it is made from."""
    for name, attribute in attributes_of(node.op).items():
        op.attributes[name] = attribute


def _active(sweep: TangentSweep, node: Node) -> list[CarriedValue]:
    return [carried for carried in node.flow.carried if carried.argument in sweep.activity.active]


def _initial(sweep: TangentSweep, node: Node, active: Sequence[CarriedValue]) -> list[ir.Value]:
    values = [carried.initial for carried in node.flow.carried]
    return sweep.values(values) + sweep.all_of([carried.initial for carried in active])


def _yield(sweep: TangentSweep, block: BlockNode, active: Sequence[CarriedValue]) -> None:
    following = [carried.following for carried in active]
    b.yield_(sweep.values(block.terminator.operands) + sweep.all_of(following))


def for_loop(sweep: TangentSweep, node: Node) -> None:
    """A copy of the loop, which carries tangents, too."""
    body, active = node.blocks[0], _active(sweep, node)
    op = b.for_loop(*Bounds(*sweep.values(node.flow.control)), _initial(sweep, node, active))
    _hand_on(node, op.op)
    sweep.bind(body.arguments, list(op.body.arguments), [carried.argument for carried in active])
    with ir.InsertionPoint(op.body):
        sweep.block(body)
        _yield(sweep, body, active)
    results = [value.result for value in active if value.result is not None]
    sweep.bind(node.results, op.results, results)


def while_loop(sweep: TangentSweep, node: Node) -> None:
    """A copy of the loop, which carries tangents, and passes them on, too."""
    before, after = node.blocks
    carried, active_values = _active(sweep, node), sweep.activity.active
    passed = [v for v in node.flow.passed if {v.argument, v.result} & active_values]
    arguments = [value.argument for value in passed]
    types = [sweep.graph.values[v].type for v in node.results] + sweep.types(arguments)
    op = b.while_loop(_initial(sweep, node, carried), types, attributes_of(node.op))
    sweep.bind(before.arguments, list(op.before.arguments), [value.argument for value in carried])
    with ir.InsertionPoint(op.before):
        sweep.block(before)
        condition, *values = before.terminator.operands
        tangents = sweep.all_of([v.value for v in passed])
        b.go_on_if(sweep.env[condition], [*sweep.values(values), *tangents])
    sweep.bind(after.arguments, list(op.after.arguments), arguments)
    with ir.InsertionPoint(op.after):
        sweep.block(after)
        _yield(sweep, after, carried)
    sweep.bind(node.results, op.results, [value.result for value in passed])


def parallel_loop(sweep: TangentSweep, node: Node) -> None:
    """A loop over the same box; a nest of serial loops where the order of iterations matters."""
    body = node.blocks[0]
    if _needs_order(sweep, node):
        _serial(sweep, node, body.arguments, 0)
        return
    loop = parallel_like(node, sweep.env)
    sweep.bind(body.arguments, loop.indices, [])
    with ir.InsertionPoint(loop.body):
        sweep.block(body)
        b.end_parallel()


def _needs_order(sweep: TangentSweep, node: Node) -> bool:
    """Return whether iterations race for which of them supplies an element, and its tangents with
    it."""
    return any(
        is_atomic(n) and n.array in sweep.arrays and field.atomic_kind(n.op) != field.AtomicKind.ADD
        for n in node.walk()
    )


def _serial(sweep: TangentSweep, node: Node, indices: Sequence[int], axis: int) -> None:
    """A parallel loop as a nest of serial ones."""
    if axis == len(indices):
        sweep.block(node.blocks[0])
        return
    rank = len(indices)
    lower, upper, step = (sweep.env[node.operands[k * rank + axis]] for k in range(3))
    op = b.for_loop(lower, upper, step)
    block = op.body
    sweep.env[indices[axis]] = block.arguments[0]
    with ir.InsertionPoint(block):
        _serial(sweep, node, indices, axis + 1)
        b.yield_()
