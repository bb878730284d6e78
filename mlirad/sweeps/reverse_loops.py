"""Serial loops reversed: their iterations from the last to the first, with what each began with."""

from __future__ import annotations

from mlirad.analysis.derivatives.loop_order import any_order
from mlirad.bindings import ir
from mlirad.dialect import grad
from mlirad.ir import build as b
from mlirad.ir.box import Bounds
from mlirad.ir.graph import BlockNode, Node
from mlirad.ir.structured import For
from mlirad.sweeps.adjoints import Adjoints, AdjointSweep
from mlirad.sweeps.recompute import Environment, Scope
from mlirad.sweeps.reverse_regions import active_captures, is_idle, mark_reversed


class _Passing:
    """The adjoints that pass through a reversed loop: of values that it `carried`, and of those
    from `outside`, which its iterations add to."""

    def __init__(self, sweep: AdjointSweep, node: Node) -> None:
        self.sweep = sweep
        active = sweep.activity.active
        self.carried = [carried for carried in node.flow.carried if carried.argument in active]
        self.outside = active_captures(sweep, node)

    def begin(self, loop: For) -> Adjoints:
        """The adjoints at the end of the iteration that is reversed."""
        adjoints: Adjoints = {}
        for carried, adjoint in zip(self.carried, loop.carried):
            self.sweep.seed(adjoints, [carried.following], [adjoint])
        return adjoints

    def end(self, loop: For, adjoints: Adjoints) -> None:
        """Give the iteration before what this one found."""
        sums = [
            b.plus(old, adjoints[value]) if value in adjoints else old
            for value, old in zip(self.outside, loop.carried[len(self.carried) :])
        ]
        arguments = [carried.argument for carried in self.carried]
        b.yield_([*(self.sweep.adjoint_of(adjoints, argument) for argument in arguments), *sums])

    def take(self, loop: For, adj: Adjoints) -> None:
        """Add what the loop gives to the adjoints around it."""
        for carried, result in zip(self.carried, loop.results):
            self.sweep.seed(adj, [carried.initial], [result])
        for value, result in zip(self.outside, loop.results[len(self.carried) :]):
            self.sweep.add(adj, value, result)


def for_loop(sweep: AdjointSweep, node: Node, env: Environment, adj: Adjoints) -> None:
    """A loop over the same box: backwards, unless its iterations may run in any order."""
    results = sweep.pop_results(node, adj)
    if is_idle(sweep, node, results):
        _skip(sweep, node)
        return
    body, passing = node.blocks[0], _Passing(sweep, node)
    result_adjoints = dict(zip(body.arguments[1:], results))
    initial = [
        sweep.or_zero(result_adjoints[carried.argument], carried.argument)
        for carried in passing.carried
    ]
    initial += [sweep.zero(v) for v in passing.outside]
    bounds = Bounds(*(env[v] for v in node.flow.control))
    forwards = any_order(sweep.graph, sweep.activity, sweep.needed, node)
    trips = sweep.recompute.trips[node]
    run = bounds if forwards else Bounds(b.index(0), trips, b.index(1))
    loop = b.for_loop(*run, initial)
    mark_reversed(sweep, node, loop.op)
    with ir.InsertionPoint(loop.body):
        scope = Scope(env)
        if forwards:
            scope[body.arguments[0]] = loop.induction
        else:
            trip = b.sub(b.sub(trips, b.index(1)), loop.induction)
            scope[body.arguments[0]] = bounds.value(trip)
            _go_back(sweep, node, trip, scope)
        inner = passing.begin(loop)
        _recompute(sweep, body, scope)
        sweep.block(body, scope, inner)
        passing.end(loop, inner)
    _free_history(sweep, node)
    passing.take(loop, adj)


def while_loop(sweep: AdjointSweep, node: Node, env: Environment, adj: Adjoints) -> None:
    """The last evaluation of the condition's block, whose iteration did not run; then a loop with
    the trips that were counted."""
    passing, trips = _Passing(sweep, node), sweep.recompute.trips[node]
    last = _last_condition(sweep, node, env, adj)
    initial = [sweep.adjoint_of(last, carried.argument) for carried in passing.carried]
    initial += [sweep.adjoint_of(last, value) for value in passing.outside]
    loop = b.for_loop(b.index(0), trips, b.index(1), initial)
    mark_reversed(sweep, node, loop.op)
    with ir.InsertionPoint(loop.body):
        trip = b.sub(b.sub(trips, b.index(1)), loop.induction)
        scope = Scope(env)
        _go_back(sweep, node, trip, scope)
        inner = passing.begin(loop)
        _iteration(sweep, node, scope, inner)
        passing.end(loop, inner)
    _free_history(sweep, node)
    passing.take(loop, adj)


def _last_condition(sweep: AdjointSweep, node: Node, env: Environment, adj: Adjoints) -> Adjoints:
    before, scope = node.blocks[0], Scope(env, sweep.recompute.final[node])
    result_adjoints = dict(zip(node.results, sweep.pop_results(node, adj)))
    adjoints: Adjoints = {}
    for passed in node.flow.passed:
        sweep.seed(adjoints, [passed.value], [result_adjoints[passed.result]])
    sweep.undo.undo_last(node)
    _recompute(sweep, before, scope)
    sweep.block(before, scope, adjoints)
    return adjoints


def _iteration(sweep: AdjointSweep, node: Node, scope: Environment, adj: Adjoints) -> None:
    """The block behind the condition, then that of the condition."""
    before, after = node.blocks
    _recompute(sweep, before, scope)
    scope.update(
        (passed.argument, scope[passed.value])
        for passed in node.flow.passed
        if passed.value in scope
    )
    _recompute(sweep, after, scope)
    sweep.block(after, scope, adj)
    for passed in node.flow.passed:
        if passed.argument in adj:
            sweep.seed(adj, [passed.value], [adj.pop(passed.argument)])
    sweep.block(before, scope, adj)


def _recompute(sweep: AdjointSweep, block: BlockNode, scope: Environment) -> None:
    sweep.recompute.block(block, block.depth + 1, scope)


def _go_back(sweep: AdjointSweep, node: Node, trip: ir.Value, scope: Environment) -> None:
    """To the start of an iteration: memory, and the values that the loop carried."""
    if sweep.needed.moves_memory(node):
        sweep.undo.undo_iteration(node, trip)
    for argument, stack in _history(sweep, node):
        scope[argument] = grad.pop(stack, trip)


def _skip(sweep: AdjointSweep, node: Node) -> None:
    """Take back a loop that has nothing to reverse after all."""
    if sweep.needed.moves_memory(node):
        sweep.undo.undo_to(sweep.undo.before[node])
    _free_history(sweep, node)


def _free_history(sweep: AdjointSweep, node: Node) -> None:
    if sweep.needed.moves_memory(node):
        sweep.undo.free_marks(node)
    for _, stack in _history(sweep, node):
        grad.free(stack)


def _history(sweep: AdjointSweep, node: Node) -> list[tuple[int, ir.Value]]:
    saved = [
        carried.argument for carried in node.flow.carried if carried.argument in sweep.needed.saved
    ]
    return [(argument, sweep.recompute.stacks[argument]) for argument in saved]
