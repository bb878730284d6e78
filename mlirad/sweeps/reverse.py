"""The reverse sweep: adjoints of operands from adjoints of results, ops last to first."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mlirad.analysis.activity import Activity
from mlirad.analysis.finite import Finiteness
from mlirad.analysis.loop_order import any_order
from mlirad.analysis.needed import Needed
from mlirad.analysis.rules.table import RULES
from mlirad.analysis.rules.terms import Values, convert_float, emit, guarded
from mlirad.bindings import ir
from mlirad.dialect import field, grad
from mlirad.dialect.field import AtomicOp, array_type, is_write, replaces
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.box import Bounds
from mlirad.ir.custom import VJP, apply_region, unless_all_zero, vjp_reads
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.location import source_location
from mlirad.ir.structured import FOR, IF, PARALLEL, WHILE, is_branch
from mlirad.ir.walk import Array
from mlirad.sweeps.recompute import Environment, Recompute, parallel_like

Adjoints = dict[int, ir.Value]
Element = tuple[ir.Value, list[ir.Value]]


class Reverse:
    """Emits the reverse of blocks. Adjoints of scalars are values, those of arrays live in
    `arrays`.

    `infinite` are the arrays whose numbers may be infinite. Code that is differentiated `again`
    keeps its derivatives where an adjoint is 0.
    """

    def __init__(
        self,
        graph: Graph,
        activity: Activity,
        needed: Needed,
        recompute: Recompute,
        arrays: dict[Array, ir.Value],
        *,
        infinite: Collection[Array] = (),
        again: bool = False,
    ) -> None:
        self.graph, self.activity, self.needed, self.recompute = graph, activity, needed, recompute
        self.arrays = arrays
        self.undo = recompute.undo
        self.finiteness, self.again = Finiteness(graph, infinite), again

    def function(self, env: Environment) -> None:
        """The reverse of the whole function."""
        self.undo.open(self.graph.body, env)
        self.recompute.block(self.graph.body, 1, env)
        self._block(self.graph.body, env, {})
        self.undo.close()

    def _block(self, block: BlockNode, env: Environment, adj: Adjoints) -> None:
        for node in reversed(block.nodes[:-1]):
            with node.op.location:
                if node in self.needed.redone:
                    self._undo(node, env)
                if node in self.needed.work:
                    _HANDLERS.get(node.name, Reverse._op)(self, node, env, adj)

    def _undo(self, node: Node, env: Environment) -> None:
        """Take back what computing the block anew did at a node. The iterations of a reversed loop
        unwind themselves: unless it reverses nothing after all, its first one finds the logs
        unwound already."""
        if not node.blocks:
            self.undo.undo_write(node, env)
        elif is_branch(node) or node not in self.needed.work:
            self.undo.undo_to(self.undo.before[node])

    def _add(self, adj: Adjoints, value: int, part: ir.Value) -> None:
        old = adj.get(value)
        adj[value] = part if old is None else b.make("arith.addf", part.type, [old, part])

    def _zero(self, value: int) -> ir.Value:
        return b.number(0.0, self.graph.values[value].type)

    def _op(self, node: Node, env: Environment, adj: Adjoints) -> None:
        adjoint = adj.pop(node.results[0], None)
        if adjoint is None:
            return
        for position, operand in enumerate(node.operands):
            term = RULES[node.name][position]
            if term is None or operand not in self.activity.varied:
                continue
            target = self.graph.values[operand].type
            if self.finiteness.may_be_infinite(node, position):
                term = guarded(term, again=self.again)
            values = Values(
                adjoint,
                lambda k: env[node.operands[k]],
                lambda: env[node.results[0]],
                adjoint.type,
                target,
            )
            self._add(adj, operand, convert_float(emit(term, values), target))

    def _custom(self, node: Node, env: Environment, adj: Adjoints) -> None:
        """The function's own rule, from the adjoints of all results to those of all arguments."""
        results = self._pop_results(node, adj)
        given = [part for part in results if part is not None]
        if not given:
            return
        reads = vjp_reads(node, self.activity.varied)
        values = [env[v] if v in reads else None for v in [*node.operands, *node.results]]
        found = apply_region(
            node.op, VJP, values + [self._or_zero(p, v) for p, v in zip(results, node.results)]
        )
        for operand, part in zip(node.operands, unless_all_zero(given, found)):
            if operand in self.activity.varied:
                self._add(adj, operand, part)

    # Memory.

    def _element(self, node: Node, env: Environment) -> Element:
        return self.arrays[node.array], [env[i] for i in node.indices]

    def _load(self, node: Node, env: Environment, adj: Adjoints) -> None:
        adjoint = adj.pop(node.results[0], None)
        if adjoint is not None and node.array in self.arrays:
            field.atomic(adjoint, *self._element(node, env))

    def _store(self, node: Node, env: Environment, adj: Adjoints) -> None:
        element = self._element(node, env)
        if node.operands[0] in self.activity.varied:
            self._add(adj, node.operands[0], field.load(*element))
        field.store(self._zero(node.operands[0]), *element)

    def _atomic(self, node: Node, env: Environment, adj: Adjoints) -> None:
        """The update, then the value before it, which is a load."""
        type_ = self.graph.values[node.operands[0]].type
        element = self._element(node, env)
        kind = AtomicOp(node.op).kind.value
        is_active = node.operands[0] in self.activity.varied
        if kind == "add":
            if is_active:
                self._add(adj, node.operands[0], field.load(*element))
        elif kind in ("min", "max") and node not in self.needed.redone:
            claimed = self._claim(node, env, type_, element)
            if is_active:
                self._add(adj, node.operands[0], claimed)
        elif kind in ("min", "max", "mul"):
            self._combine(node, env, adj, kind, element)
        elif replaces(node.op):
            self._store(node, env, adj)
        else:
            raise TaichiCompilationError(
                f"atomic_{kind} on a field with a gradient cannot be differentiated",
                source_location(node.op.location),
            )
        old = adj.pop(node.results[0], None)
        if old is not None:
            field.atomic(old, *element)

    def _claim(self, node: Node, env: Environment, type_: ir.Type, element: Element) -> ir.Value:
        """All of the adjoint for the one iteration that supplied the value in memory, nothing for
        the others."""
        zero = b.number(0.0, type_)
        final = field.load(env[node.array_value], element[1])
        supplied = b.make(
            "arith.cmpf",
            b.integer_type(1),
            [final, env[node.operands[0]]],
            predicate=b.predicate(b.OEQ),
        )
        claim = b.if_else(supplied, [type_])
        with ir.InsertionPoint(claim.then):
            b.yield_([field.atomic(zero, *element, kind="exchange")])
        with ir.InsertionPoint(claim.otherwise):
            b.yield_([zero])
        return claim.results[0]

    def _combine(
        self, node: Node, env: Environment, adj: Adjoints, kind: str, element: Element
    ) -> None:
        """An update whose value before is at hand: a product, or a choice whose tie goes to the new
        value."""
        if node not in self.undo.old:
            raise TaichiCompilationError(
                f"the reverse of atomic_{kind} needs what it overwrites: run check-access-rules "
                f"first",
                source_location(node.op.location),
            )
        value, old = env[node.operands[0]], self.undo.old[node]
        adjoint = field.load(*element)
        if kind == "mul":
            to_value, to_old = (
                b.make("arith.mulf", value.type, [adjoint, other]) for other in (old, value)
            )
        else:
            keeps = b.make(
                "arith.cmpf",
                b.integer_type(1),
                [old, value],
                predicate=b.predicate(b.OGT if kind == "max" else b.OLT),
            )
            zero = b.number(0.0, value.type)
            to_value = b.make("arith.select", value.type, [keeps, zero, adjoint])
            to_old = b.make("arith.select", value.type, [keeps, adjoint, zero])
        if node.operands[0] in self.activity.varied:
            self._add(adj, node.operands[0], to_value)
        field.store(to_old, *element)

    # Structured control flow.

    def _captured(self, node: Node) -> list[int]:
        """Active values from outside a structured op that ops inside pass adjoints to."""
        depth = node.block.depth
        found: dict[int, None] = {}
        for inner in node.walk():
            for operand in inner.operands:
                if (
                    operand in self.activity.varied
                    and operand in self.activity.useful
                    and self.graph.depth_of(operand) <= depth
                ):
                    found.setdefault(operand)
        return list(found)

    def _has_memory_work(self, node: Node) -> bool:
        """Whether something inside passes adjoints out of arrays."""
        return any(n in self.needed.work and is_write(n) for n in node.walk())

    def _pop_results(self, node: Node, adj: Adjoints) -> list[ir.Value | None]:
        return [adj.pop(v, None) for v in node.results]

    def _is_idle(self, node: Node, results: Sequence[ir.Value | None]) -> bool:
        return all(v is None for v in results) and not self._has_memory_work(node)

    def _if(self, node: Node, env: Environment, adj: Adjoints) -> None:
        results = self._pop_results(node, adj)
        if self._is_idle(node, results):
            return
        outside = self._captured(node)
        op = b.if_else(env[node.operands[0]], [self.graph.values[v].type for v in outside])
        for number, new in enumerate(op.blocks):
            with ir.InsertionPoint(new):
                inner: Adjoints = {}
                if number < len(node.blocks):
                    block, scope = node.blocks[number], dict(env)
                    self._seed(inner, block.terminator.operands, results)
                    self.recompute.block(block, block.depth + 1, scope)
                    self._block(block, scope, inner)
                b.yield_([self._taken(inner, v) for v in outside])
        for value, part in zip(outside, op.results):
            self._add(adj, value, part)

    def _seed(self, adj: Adjoints, values: Sequence[int], parts: Sequence[ir.Value | None]) -> None:
        for value, part in zip(values, parts):
            if part is not None and value in self.activity.active:
                self._add(adj, value, part)

    def _taken(self, adj: Adjoints, value: int) -> ir.Value:
        return adj[value] if value in adj else self._zero(value)

    def _active(self, arguments: Sequence[int]) -> list[int]:
        return [k for k, a in enumerate(arguments) if a in self.activity.active]

    def _for(self, node: Node, env: Environment, adj: Adjoints) -> None:
        results = self._pop_results(node, adj)
        if self._is_idle(node, results):
            self._skip(node, node.blocks[0].arguments)
            return
        body = node.blocks[0]
        active = self._active(body.arguments[1:])
        outside = self._captured(node)
        carried = [body.arguments[1 + k] for k in active]
        initial = [self._or_zero(results[k], a) for k, a in zip(active, carried)] + [
            self._zero(v) for v in outside
        ]
        bounds = Bounds(*(env[v] for v in node.operands[:3]))
        forwards = any_order(self.graph, self.activity, self.needed, node)
        trips = self.recompute.trips[node]
        run = bounds if forwards else Bounds(b.index(0), trips, b.index(1))
        op = b.for_loop(*run, initial)
        block = op.body
        with ir.InsertionPoint(block):
            counter = block.arguments[0]
            scope = dict(env)
            if forwards:
                scope[body.arguments[0]] = counter
            else:
                trip = b.sub(b.sub(trips, b.index(1)), counter)
                scope[body.arguments[0]] = bounds.value(trip)
                if node in self.needed.redone:
                    self.undo.undo_iteration(node, trip)
                self._pop_history(body.arguments, trip, scope)
            incoming = list(block.arguments)[1:]
            inner: Adjoints = {}
            for k, part in zip(active, incoming):
                self._seed(inner, [body.terminator.operands[k]], [part])
            self.recompute.block(body, body.depth + 1, scope)
            self._block(body, scope, inner)
            sums = [
                b.make("arith.addf", old.type, [old, inner[v]]) if v in inner else old
                for v, old in zip(outside, incoming[len(active) :])
            ]
            b.yield_([self._taken(inner, a) for a in carried] + sums)
        self._free_history(node, body.arguments)
        for k, result in zip(active, op.results):
            self._seed(adj, [node.operands[3 + k]], [result])
        for value, result in zip(outside, list(op.results)[len(active) :]):
            self._add(adj, value, result)

    def _or_zero(self, part: ir.Value | None, value: int) -> ir.Value:
        return self._zero(value) if part is None else part

    def _pop_history(self, arguments: Sequence[int], trip: ir.Value, scope: Environment) -> None:
        for argument in arguments:
            if argument in self.needed.saved:
                scope[argument] = grad.pop(self.recompute.stacks[argument], trip)

    def _skip(self, node: Node, arguments: Sequence[int]) -> None:
        """Take back a loop that has nothing to reverse after all."""
        if node in self.needed.redone:
            self.undo.undo_to(self.undo.before[node])
        self._free_history(node, arguments)

    def _free_history(self, node: Node, arguments: Sequence[int]) -> None:
        if node in self.needed.redone:
            self.undo.free_marks(node)
        for argument in arguments:
            if argument in self.needed.saved:
                grad.free(self.recompute.stacks[argument])

    def _parallel(self, node: Node, env: Environment, adj: Adjoints) -> None:
        if not self._has_memory_work(node):
            return
        body = node.blocks[0]
        outside = self._captured(node)
        cells = [field.alloca(array_type(self.graph.values[v].type, [])) for v in outside]
        loop = parallel_like(node, env)
        with ir.InsertionPoint(loop.body):
            scope = dict(env)
            scope.update(zip(body.arguments, loop.indices))
            inner: Adjoints = {}
            outer, self.undo.logs = self.undo.logs, {}
            self.undo.open(body, scope)
            self.recompute.block(body, body.depth + 1, scope)
            self._block(body, scope, inner)
            self.undo.close()
            self.undo.logs = outer
            for value, cell in zip(outside, cells):
                if value in inner:
                    field.atomic(inner[value], cell)
            b.end_parallel()
        for value, cell in zip(outside, cells):
            self._add(adj, value, field.load(cell))

    def _while(self, node: Node, env: Environment, adj: Adjoints) -> None:
        results = self._pop_results(node, adj)
        before, after = node.blocks
        active = self._active(before.arguments)
        carried = [before.arguments[k] for k in active]
        outside = self._captured(node)
        # The last evaluation of the condition's block, whose iteration did not run.
        scope = {**env, **self.recompute.final[node]}
        last: Adjoints = {}
        self._seed(last, before.terminator.operands[1:], results)
        self.recompute.block(before, before.depth + 1, scope)
        self._block(before, scope, last)
        trips = self.recompute.trips[node]
        initial = [self._taken(last, v) for v in [*carried, *outside]]
        op = b.for_loop(b.index(0), trips, b.index(1), initial)
        block = op.body
        with ir.InsertionPoint(block):
            trip = b.sub(b.sub(trips, b.index(1)), block.arguments[0])
            scope = dict(env)
            if node in self.needed.redone:
                self.undo.undo_iteration(node, trip)
            self._pop_history(before.arguments, trip, scope)
            incoming = list(block.arguments)[1:]
            inner: Adjoints = {}
            for k, part in zip(active, incoming):
                self._seed(inner, [after.terminator.operands[k]], [part])
            self.recompute.block(before, before.depth + 1, scope)
            for argument, value in zip(after.arguments, before.terminator.operands[1:]):
                if value in scope:
                    scope[argument] = scope[value]
            self.recompute.block(after, after.depth + 1, scope)
            self._block(after, scope, inner)
            for argument, value in zip(after.arguments, before.terminator.operands[1:]):
                if argument in inner:
                    self._seed(inner, [value], [inner.pop(argument)])
            self._block(before, scope, inner)
            sums = [
                b.make("arith.addf", old.type, [old, inner[v]]) if v in inner else old
                for v, old in zip(outside, incoming[len(active) :])
            ]
            b.yield_([self._taken(inner, a) for a in carried] + sums)
        self._free_history(node, before.arguments)
        for k, result in zip(active, op.results):
            self._seed(adj, [node.operands[k]], [result])
        for value, result in zip(outside, list(op.results)[len(active) :]):
            self._add(adj, value, result)


_HANDLERS = {
    field.LoadOp.OPERATION_NAME: Reverse._load,
    field.StoreOp.OPERATION_NAME: Reverse._store,
    field.AtomicOp.OPERATION_NAME: Reverse._atomic,
    IF: Reverse._if,
    FOR: Reverse._for,
    WHILE: Reverse._while,
    PARALLEL: Reverse._parallel,
    grad.CustomOp.OPERATION_NAME: Reverse._custom,
}
