"""A copy of what finds the sizes of saved values, for `insert-size-counts`."""

from __future__ import annotations

from collections.abc import Mapping

from mlirad.bindings import ir
from mlirad.dialect.grad import MarkOp, OpenOp, RecordOp, UndoOp
from mlirad.ir import build as b
from mlirad.ir.box import Bounds
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.structured import is_branch, is_for, is_while
from mlirad.passes.gpu._size_slice import SizeSlice

Environment = dict[int, ir.Value]


class SizeCopy:
    """Emits the ops of a slice. `sites` are the sizes that are looked for: each is at least what
    its slot holds."""

    def __init__(self, graph: Graph, found: SizeSlice, sites: Mapping[Node, ir.Value]) -> None:
        self.graph, self.found = graph, found
        self.slots = {site.results[0]: slot for site, slot in sites.items()}  # by stack or log
        self.lengths = {log: b.slot(b.index_type()) for log in found.logs}
        for slot in (*self.slots.values(), *self.lengths.values()):
            b.write(b.index(0), slot)

    def block(self, block: BlockNode, env: Environment) -> None:
        """Emit what is in the slice of a block, without its end."""
        for node in block.nodes[:-1]:
            with node.op.location:
                self.node(node, env)

    def node(self, node: Node, env: Environment) -> None:
        """Emit an op, where it is in the slice."""
        if node in self.found.around:
            kind = (is_for, _for), (is_while, _while), (is_branch, _if)
            next(emit for holds, emit in kind if holds(node))(self, node, env)
        elif OpenOp.holds(node):
            if node.results[0] in self.lengths:
                b.write(b.index(0), self.lengths[node.results[0]])
        elif RecordOp.holds(node) or UndoOp.holds(node):
            if node in self.found.effects:
                self._change_length(node, env)
        elif MarkOp.holds(node):
            if node.results[0] in self.found.values:
                env[node.results[0]] = b.read(self.lengths[node.operands[0]])
        elif any(result in self.slots for result in node.results):
            self._note(node.results[0], self.value(node.operands[0], env))
        elif node in self.found.effects or self.wants(*node.results):
            copy = node.op.clone()
            for position, operand in enumerate(node.operands):
                copy.operands[position] = self.value(operand, env)
            env.update(zip(node.results, copy.results))

    def wants(self, *values: int) -> bool:
        """Whether one of some values is computed."""
        return any(value in self.found.values for value in values)

    def value(self, value: int, env: Environment) -> ir.Value:
        """A value in the copy: what comes from outside is as it is."""
        return env.get(value, self.graph.values[value])

    def _note(self, of: int, size: ir.Value) -> None:
        slot = self.slots[of]
        b.write(b.make("arith.maxsi", b.index_type(), [b.read(slot), size]), slot)

    def _change_length(self, node: Node, env: Environment) -> None:
        if UndoOp.holds(node):
            if self.found.is_extra(node):
                return
            b.write(self.value(node.operands[1], env), self.lengths[node.operands[0]])
            return
        log = node.operands[1]
        length = b.add(b.read(self.lengths[log]), b.index(1))
        b.write(length, self.lengths[log])
        if log in self.slots:
            self._note(log, length)


def _for(copy: SizeCopy, node: Node, env: Environment) -> None:
    body = node.blocks[0]
    kept = [
        one
        for one in node.flow.carried
        if copy.wants(*(v for v in (one.argument, one.result) if v is not None))
    ]
    bounds = Bounds(*(copy.value(v, env) for v in node.flow.control))
    loop = b.for_loop(*bounds, [copy.value(one.initial, env) for one in kept])
    inner = dict(env)
    inner.update(zip([*node.induction, *(one.argument for one in kept)], loop.body.arguments))
    with ir.InsertionPoint(loop.body):
        copy.block(body, inner)
        b.yield_([copy.value(one.following, inner) for one in kept])
    env.update((one.result, new) for one, new in zip(kept, loop.results) if one.result is not None)


def _while(copy: SizeCopy, node: Node, env: Environment) -> None:
    before, after = node.blocks
    kept = [one for one in node.flow.carried if copy.wants(one.argument)]
    passed = [one for one in node.flow.passed if copy.wants(one.argument, one.result)]
    types = [copy.graph.values[one.result].type for one in passed]
    loop = b.while_loop([copy.value(one.initial, env) for one in kept], types)
    inner = {**env, **dict(zip([one.argument for one in kept], loop.before.arguments))}
    with ir.InsertionPoint(loop.before):
        copy.block(before, inner)
        given = [copy.value(one.given, inner) for one in passed]
        condition = copy.found.conditions.get(node, node.flow.control[0])
        b.go_on_if(copy.value(condition, inner), given)
    inner = {**env, **dict(zip([one.argument for one in passed], loop.after.arguments))}
    with ir.InsertionPoint(loop.after):
        copy.block(after, inner)
        b.yield_([copy.value(one.following, inner) for one in kept])
    env.update(zip([one.result for one in passed], loop.results))


def _if(copy: SizeCopy, node: Node, env: Environment) -> None:
    if node not in copy.found.decided:
        for block in node.blocks:
            copy.block(block, env)
        return
    chosen = [one for one in node.flow.chosen if copy.wants(one.result)]
    types = [copy.graph.values[one.result].type for one in chosen]
    condition = copy.value(node.flow.control[0], env)
    branch = b.if_else(condition, types, with_else=len(node.blocks) > 1)
    for number, (block, new) in enumerate(zip(node.blocks, branch.blocks)):
        inner = dict(env)
        with ir.InsertionPoint(new):
            copy.block(block, inner)
            b.yield_([copy.value(one.given[number], inner) for one in chosen])
    env.update(zip([one.result for one in chosen], branch.results))
