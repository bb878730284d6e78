"""Computing primal values anew in the reverse of a function, and keeping the history of loops."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.analysis.derivatives.activity import Activity
from mlirad.analysis.derivatives.needed import NeededValues
from mlirad.analysis.trips import most_trips
from mlirad.bindings import ir
from mlirad.dialect import field, grad
from mlirad.dialect.field import makes_array
from mlirad.ir import build as b
from mlirad.ir.box import Bounds
from mlirad.ir.flow import CarriedValue
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.structured import Parallel, is_branch, is_for, is_parallel, is_while
from mlirad.ir.walk import attributes_of
from mlirad.sweeps.undo import Undo

Environment = dict[int, ir.Value]
MOST = 256  # iterations of a loop for which slots are made before it is known how many it makes


class Scope(Environment):
    """The values of a region: what is none of its own is one of the region around it."""

    def __init__(self, outer: Environment, values: Environment | None = None) -> None:
        super().__init__(values or {})
        self._outer = outer

    def __missing__(self, value: int) -> ir.Value:
        return self._outer[value]

    def __contains__(self, value: object) -> bool:
        return super().__contains__(value) or value in self._outer


class Recompute:
    """Emits the needed ops of blocks. `stacks` holds the saved history of carried values, `trips`
    trip counts."""

    def __init__(self, graph: Graph, activity: Activity, needed: NeededValues) -> None:
        self.graph, self.activity, self.needed = graph, activity, needed
        self.stacks: dict[int, ir.Value] = {}
        self.trips: dict[Node, ir.Value] = {}
        self.final: dict[Node, Environment] = {}
        self.undo = Undo(needed)

    def block(self, block: BlockNode, level: int, env: Environment) -> None:
        """Emit what a block is needed for. `level` counts the blocks around its values that run
        reversed."""
        for node in block.nodes[:-1]:
            if makes_array(node):
                continue
            with node.op.location:
                self._node(node, level, env)

    def _wants(self, values: Sequence[int], level: int) -> bool:
        """Return whether values are to be computed anew."""
        return any((v, level) in self.needed.keys and v not in self.needed.stored for v in values)

    def _load_stored(self, node: Node, level: int, env: Environment) -> None:
        """Load the results of a node that the launch has stored."""
        for value in node.results:
            if value in self.needed.stored and (value, level) in self.needed.keys:
                store = self.needed.stored[value]
                indices = [env[index] for index in store.indices]
                env[value] = field.load(env[store.array_value], indices)

    def _node(self, node: Node, level: int, env: Environment) -> None:
        self._load_stored(node, level, env)
        runs_reversed = level == node.block.depth + 1
        redone = self.needed.is_redone(node, level)
        fills = (node, level) in self.needed.runs
        replays = (level == 1 and node in self.needed.replayed) or redone or fills
        if redone and runs_reversed and node.blocks:
            self.undo.before[node] = self.undo.marks()
        if is_for(node):
            history = (
                [a for a in node.blocks[0].arguments if a in self.needed.saved]
                if runs_reversed
                else []
            )
            if runs_reversed and node in self.needed.work:
                self.trips[node] = Bounds(*(env[v] for v in node.flow.control)).trips()
            if history or replays or self._wants(node.results, level):
                with_marks = (
                    runs_reversed and node in self.needed.work and self.needed.moves_memory(node)
                )
                self._for(node, level, env, history, with_marks=with_marks)
        elif is_while(node):
            if runs_reversed and node in self.needed.work:
                self._while_with_history(node, level, env)
            elif replays or self._wants(node.results, level):
                self._while(node, level, env)
        elif is_branch(node):
            if replays or self._wants(node.results, level):
                self._if(node, level, env)
        elif is_parallel(node):
            if replays:
                _parallel(self, node, level, env)
        elif redone:
            self.undo.write(node, env, runs_reversed=runs_reversed)
        elif replays or self._wants(node.results, level):
            copy = node.op.clone()
            for position, operand in enumerate(node.operands):
                copy.operands[position] = env[operand]
            env.update(zip(node.results, copy.results))

    def _if(self, node: Node, level: int, env: Environment) -> None:
        choices = [choice for choice in node.flow.chosen if self._wants([choice.result], level)]
        types = [self.graph.values[choice.result].type for choice in choices]
        op = b.if_else(env[node.flow.control[0]], types)
        for number, (block, new) in enumerate(zip(node.blocks, op.blocks)):
            with ir.InsertionPoint(new):
                inner = Scope(env)
                self.block(block, level, inner)
                b.yield_([inner[choice.values[number]] for choice in choices])
        if len(node.blocks) == 1:
            with ir.InsertionPoint(op.otherwise):
                b.yield_()
        env.update(zip([choice.result for choice in choices], op.results))

    def _carried_values(self, node: Node, level: int) -> list[CarriedValue]:
        """The carried values that running a loop forward needs."""
        return [value for value in node.flow.carried if self._wants(value.targets, level)]

    def _for(
        self, node: Node, level: int, env: Environment, history: Sequence[int], *, with_marks: bool
    ) -> None:
        body = node.blocks[0]
        carried = self._carried_values(node, level)
        bounds = Bounds(*(env[v] for v in node.flow.control))
        if history:
            trips = self.trips[node]
            for argument in history:
                self.stacks[argument] = self._stack(argument, trips)
        if with_marks:
            self.undo.keep_marks(node, self.trips[node])
        op = b.for_loop(*bounds, [env[value.initial] for value in carried])
        block = op.body
        inner = Scope(env)
        inner.update(
            zip([*node.induction, *(value.argument for value in carried)], block.arguments)
        )
        with ir.InsertionPoint(block):
            if history or with_marks:
                trip = bounds.trip(block.arguments[0])
                if with_marks:
                    self.undo.push_marks(node, trip)
                for argument in history:
                    grad.push(inner[argument], self.stacks[argument], trip)
            self.block(body, level, inner)
            b.yield_([inner[value.following] for value in carried])
        env.update((v.result, new) for v, new in zip(carried, op.results) if v.result is not None)

    def _stack(self, argument: int, trips: ir.Value) -> ir.Value:
        return grad.alloc(self.graph.values[argument].type, trips)

    # Loops whose trips are counted by running them.

    def _while(
        self,
        node: Node,
        level: int,
        env: Environment,
        history: Sequence[int] = (),
        *,
        with_count: bool = False,
    ) -> list[CarriedValue]:
        """Run a loop for its results and, if asked, its number of iterations, keeping the history
        of values; the carried values kept."""
        before, after = node.blocks
        carried = self._carried_values(node, level)
        passed = [v for v in node.flow.passed if self._wants([v.argument, v.result], level)]
        start = [env[value.initial] for value in carried]
        types = [self.graph.values[v.result].type for v in passed]
        if with_count:
            types += [b.index_type(), *(value.type for value in start)]
        op = b.while_loop(start + [b.index(0)] * with_count, types)
        inner = Scope(env)
        inner.update(zip([value.argument for value in carried], op.before.arguments))
        with ir.InsertionPoint(op.before):
            arguments: list[ir.Value] = list(op.before.arguments)
            for argument in history:
                grad.push(inner[argument], self.stacks[argument], arguments[-1])
            self.block(before, level, inner)
            noted = [arguments[-1], *arguments[:-1]] if with_count else []
            handed_on = [inner[v.value] for v in passed] + noted
            b.go_on_if(inner[node.flow.control[0]], handed_on)
        inner = Scope(env)
        inner.update(zip([value.argument for value in passed], op.after.arguments))
        with ir.InsertionPoint(op.after):
            self.block(after, level, inner)
            count = [b.add(op.after.arguments[len(passed)], b.index(1))] if with_count else []
            b.yield_([inner[value.following] for value in carried] + count)
        env.update(zip([value.result for value in passed], op.results))
        if with_count:
            self.trips[node], *last = list(op.results)[len(passed) :]
            self.final[node] = dict(zip([value.argument for value in carried], last))
        return carried

    def _while_with_history(self, node: Node, level: int, env: Environment) -> None:
        """Keep a loop's history: while it runs, where it is known to be short, or count its
        iterations, and run it that often again."""
        redone = self.needed.is_redone(node, level)
        redone_last = any(self.needed.is_redone(inner, level) for inner in node.blocks[0].nodes)
        most = None if redone or redone_last else most_trips(node.op)
        if most is not None and most <= MOST:
            history = [a for a in node.blocks[0].arguments if a in self.needed.saved]
            slots = b.index(most + 1)  # one for the last evaluation of the condition
            self.stacks.update((a, self._stack(a, slots)) for a in history)
            self._while(node, level, env, history, with_count=True)
            return
        carried = self._while(node, level, env, with_count=True)
        with self.undo.again():
            if redone:
                self.undo.undo_to(self.undo.before[node])
                self.undo.keep_marks(node, self.trips[node])
            self._keep_history(node, carried, level, env)
            if redone_last:
                self.undo.mark_last(node)
                self.block(node.blocks[0], level, Scope(env, self.final[node]))

    def _keep_history(
        self, node: Node, carried: Sequence[CarriedValue], level: int, env: Environment
    ) -> None:
        (before, after), trips = node.blocks, self.trips[node]
        history = [a for a in before.arguments if a in self.needed.saved]
        for argument in history:
            self.stacks[argument] = self._stack(argument, trips)
        op = b.for_loop(b.index(0), trips, b.index(1), [env[value.initial] for value in carried])
        block = op.body
        inner = Scope(env)
        inner.update(zip([value.argument for value in carried], op.carried))
        with ir.InsertionPoint(block):
            if self.needed.is_redone(node, level):
                self.undo.push_marks(node, block.arguments[0])
            for argument in history:
                grad.push(inner[argument], self.stacks[argument], block.arguments[0])
            self.block(before, level, inner)
            for passed in node.flow.passed:
                if passed.value in inner:
                    inner[passed.argument] = inner[passed.value]
            self.block(after, level, inner)
            b.yield_([inner[value.following] for value in carried])
        self.final[node] = dict(zip([value.argument for value in carried], op.results))


def _parallel(recompute: Recompute, node: Node, level: int, env: Environment) -> None:
    body = node.blocks[0]
    loop = parallel_like(node, env)
    inner = Scope(env)
    inner.update(zip(body.arguments, loop.indices))
    with ir.InsertionPoint(loop.body):
        with recompute.undo.within(body, inner):
            begin = recompute.undo.marks()
            recompute.block(body, level, inner)
            recompute.undo.undo_to(begin)
        b.end_parallel()


def parallel_like(node: Node, env: Environment) -> Parallel:
    """An empty `scf.parallel` over the box of another."""
    rank, operands = len(node.blocks[0].arguments), [env[v] for v in node.operands]
    lower, upper, steps = (operands[k * rank : (k + 1) * rank] for k in range(3))
    return b.parallel_loop(lower, upper, steps, attributes_of(node.op))
