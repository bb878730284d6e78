"""A copy of what finds the sizes of saved values, for `insert-size-counts`."""

from __future__ import annotations

from collections.abc import Mapping

from mlirad.bindings import ir
from mlirad.dialect import grad
from mlirad.dialect.grad import OpenOp, RecordOp, log_parts
from mlirad.ir import build as b
from mlirad.ir.box import Bounds
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.structured import is_branch, is_for, is_parallel, is_while
from mlirad.ir.walk import attributes_of, owner_operation
from mlirad.passes.gpu.insert_size_counts.size_slice import SizeSlice

Environment = dict[int, ir.Value]


class SizeCopy:
    """Emits the ops of a slice. `sites` are the sizes that are looked for: each is at least what
    its slot holds."""

    def __init__(self, graph: Graph, size_slice: SizeSlice, sites: Mapping[Node, ir.Value]) -> None:
        self.graph, self.slice = graph, size_slice
        self.slots = {site.results[0]: slot for site, slot in sites.items()}  # by stack or log
        self.lengths = {log: b.slot(b.index_type()) for log in size_slice.counted}
        for slot in (*self.slots.values(), *self.lengths.values()):
            b.write(b.index(0), slot)

    def block(self, block: BlockNode, env: Environment) -> None:
        """Emit what is in the slice of a block, without its end."""
        for node in block.nodes[:-1]:
            with node.op.location:
                self.node(node, env)

    def node(self, node: Node, env: Environment) -> None:
        """Emit an op, where it is in the slice."""
        if node in self.slice.around:
            kind = (is_for, _for), (is_while, _while), (is_branch, _if), (is_parallel, _parallel)
            next(emit for holds, emit in kind if holds(node))(self, node, env)
        elif OpenOp.holds(node):
            self._open(node, env)
        elif RecordOp.holds(node) and node.operands[1] in self.lengths:
            if node in self.slice.effects:
                self._lengthen(node.operands[1])
        elif any(result in self.slots for result in node.results):
            self._note(node.results[0], self.value(node.operands[0], env))
        elif node in self.slice.effects or self.wants(*node.results):
            copy = node.op.clone()
            for position, operand in enumerate(node.operands):
                copy.operands[position] = self.value(operand, env)
            if grad.is_undone(copy):  # but for what was left out
                del copy.attributes[grad.UNDONE]
            env.update(zip(node.results, copy.results))

    def wants(self, *values: int) -> bool:
        """Return whether one of some values is computed."""
        return any(value in self.slice.values for value in values)

    def value(self, value: int, env: Environment) -> ir.Value:
        """A value in the copy: what comes from outside is as it is."""
        return env.get(value, self.graph.values[value])

    def open_outer_logs(self) -> Environment:
        """Logs of the copy for those that are opened in front of what is copied."""
        logs = [log for log in sorted(self.slice.logs) if self.slice.is_outside(log)]
        return {log: self._open_copy(log) for log in logs}

    def _open_copy(self, log: int) -> ir.Value:
        value = self.graph.values[log]
        return grad.open_(*log_parts(value.type), [*owner_operation(value).operands])

    def _open(self, node: Node, env: Environment) -> None:
        log = node.results[0]
        if log in self.lengths:
            b.write(b.index(0), self.lengths[log])
        elif log in self.slice.logs:
            env[log] = self._open_copy(log)

    def _note(self, of: int, size: ir.Value) -> None:
        slot = self.slots[of]
        b.write(b.maxsi(b.read(slot), size), slot)

    def _lengthen(self, log: int) -> None:
        length = b.add(b.read(self.lengths[log]), b.index(1))
        b.write(length, self.lengths[log])
        self._note(log, length)


def _for(copy: SizeCopy, node: Node, env: Environment) -> None:
    carried = [v for v in node.flow.carried if copy.wants(*v.targets)]
    bounds = Bounds(*(copy.value(v, env) for v in node.flow.control))
    loop = b.for_loop(*bounds, [copy.value(v.initial, env) for v in carried])
    arguments = [*node.induction, *(v.argument for v in carried)]
    inner = {**env, **dict(zip(arguments, loop.body.arguments))}
    with ir.InsertionPoint(loop.body):
        copy.block(node.blocks[0], inner)
        b.yield_([copy.value(v.following, inner) for v in carried])
    env.update((v.result, new) for v, new in zip(carried, loop.results) if v.result is not None)


def _while(copy: SizeCopy, node: Node, env: Environment) -> None:
    before, after = node.blocks
    carried = [v for v in node.flow.carried if copy.wants(v.argument)]
    passed = [v for v in node.flow.passed if copy.wants(v.argument, v.result)]
    types = [copy.graph.values[v.result].type for v in passed]
    loop = b.while_loop([copy.value(v.initial, env) for v in carried], types)
    inner = {**env, **dict(zip([v.argument for v in carried], loop.before.arguments))}
    with ir.InsertionPoint(loop.before):
        copy.block(before, inner)
        condition = copy.slice.conditions.get(node, node.flow.control[0])
        b.go_on_if(copy.value(condition, inner), [copy.value(v.value, inner) for v in passed])
    inner = {**env, **dict(zip([v.argument for v in passed], loop.after.arguments))}
    with ir.InsertionPoint(loop.after):
        copy.block(after, inner)
        b.yield_([copy.value(v.following, inner) for v in carried])
    env.update(zip([v.result for v in passed], loop.results))


def _if(copy: SizeCopy, node: Node, env: Environment) -> None:
    if node not in copy.slice.decided:
        for block in node.blocks:
            copy.block(block, env)
        return
    chosen = [v for v in node.flow.chosen if copy.wants(v.result)]
    types = [copy.graph.values[v.result].type for v in chosen]
    condition = copy.value(node.flow.control[0], env)
    branch = b.if_else(condition, types, with_else=len(node.blocks) > 1)
    for number, (block, new) in enumerate(zip(node.blocks, branch.blocks)):
        inner = dict(env)
        with ir.InsertionPoint(new):
            copy.block(block, inner)
            b.yield_([copy.value(v.values[number], inner) for v in chosen])
    env.update(zip([v.result for v in chosen], branch.results))


def _parallel(copy: SizeCopy, node: Node, env: Environment) -> None:
    rank, operands = len(node.induction), [copy.value(v, env) for v in node.operands]
    lower, upper, steps = (operands[k * rank : (k + 1) * rank] for k in range(3))
    loop = b.parallel_loop(lower, upper, steps, attributes_of(node.op))
    with ir.InsertionPoint(loop.body):
        copy.block(node.blocks[0], {**env, **dict(zip(node.induction, loop.indices))})
        b.end_parallel()
