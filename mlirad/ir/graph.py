"""A function read once into plain Python objects, for analyses that ask many questions of every
value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any, TypeVar

from mlirad.bindings import ir
from mlirad.dialect.field import ARRAY_OPERAND, is_access, is_array
from mlirad.dialect.grad import AllocOp, CustomOp, PopOp, PushOp, stack_element
from mlirad.ir.build import is_float
from mlirad.ir.flow import Block, Edge, Flow, flow_of
from mlirad.ir.ops import Scf
from mlirad.ir.structured import is_branch, is_for, is_parallel
from mlirad.ir.walk import Array, array_root, children

Fact = TypeVar("Fact")
_STACKS = (PushOp.OPERATION_NAME, PopOp.OPERATION_NAME)


class Node:
    """An operation: values are numbers. Values pass unchanged through a passage: through blocks, or
    a stack."""

    __slots__ = (
        "_flow",
        "array",
        "block",
        "blocks",
        "is_passage",
        "name",
        "op",
        "operands",
        "position",
        "results",
    )

    def __init__(self, op: ir.Operation, block: BlockNode, position: int) -> None:
        self.op, self.block, self.position = op, block, position
        self.name: str = op.name
        self.operands: list[int] = []
        self.results: list[int] = []
        self.blocks: list[BlockNode] = []
        self.array: Array = ""
        self.is_passage = self.name in _STACKS
        self._flow: Flow | None = None

    @property
    def is_access(self) -> bool:
        """Return whether this loads, stores or updates an element."""
        return is_access(self)

    @property
    def indices(self) -> list[int]:
        """The index operands of an access."""
        return self.operands[ARRAY_OPERAND[self.name] + 1 :]

    @property
    def array_value(self) -> int:
        """The array operand of an access."""
        return self.operands[ARRAY_OPERAND[self.name]]

    @property
    def owners(self) -> list[Node]:
        """The ops around this one, outermost first."""
        owners: list[Node] = []
        owner = self.block.owner
        while owner is not None:
            owners.append(owner)
            owner = owner.block.owner
        return owners[::-1]

    def owners_within(self, outer: Node) -> list[Node]:
        """The ops around this one inside another, outermost first."""
        owners = self.owners
        return owners[owners.index(outer) + 1 :]

    @property
    def order(self) -> tuple[int, ...]:
        """Return the position of this node in the program, after those of the ops around it."""
        return tuple([node.position for node in (*self.owners, self)])

    @property
    def flow(self) -> Flow:
        """Return how values pass through this, and what decides which of its blocks run."""
        if self._flow is None:
            blocks = [Block(block.arguments, block.terminator.operands) for block in self.blocks]
            self._flow = flow_of(self.name, self.operands, blocks, self.results)
        return self._flow

    @property
    def edges(self) -> list[Edge]:
        """Each value that passes, with those that it may become; a stack is what its values are."""
        if self.blocks:
            return self.flow.edges
        if PushOp.holds(self):
            return [(self.operands[0], [self.operands[1]])]
        return [(self.operands[0], self.results)] if PopOp.holds(self) else []

    @property
    def induction(self) -> list[int]:
        """The indices of a `for` or a parallel loop; none for other ops."""
        if is_parallel(self):
            return self.blocks[0].arguments
        return self.blocks[0].arguments[:1] if is_for(self) else []

    def walk(self) -> Iterator[Node]:
        """The nodes nested in this one, in order."""
        for block in self.blocks:
            yield from block.walk()


class BlockNode:
    """A block; the last node is its terminator. The function's body has depth 0."""

    __slots__ = ("arguments", "depth", "nodes", "owner")

    def __init__(self, owner: Node | None, depth: int) -> None:
        self.owner, self.depth = owner, depth
        self.arguments: list[int] = []
        self.nodes: list[Node] = []

    @property
    def terminator(self) -> Node:
        """The last node."""
        return self.nodes[-1]

    def walk(self) -> Iterator[Node]:
        """The nodes of this block, and those nested in them, in order."""
        for node in self.nodes:
            yield node
            if node.blocks:
                yield from node.walk()


class Graph:
    """The body of a function, or of another op with one region.

    `defined[v]` is the node, or the block (for its arguments), that defines value v; values from
    outside count as arguments of the block `outside`. A stack of floats counts as a float.
    """

    def __init__(self, function: ir.Operation) -> None:
        self.values: list[ir.Value] = []
        self.floats: list[bool] = []
        self.defined: list[Node | BlockNode] = []
        self._numbers: dict[ir.Value, int] = {}
        self._facts: dict[Hashable, Any] = {}
        self.outside = BlockNode(None, -1)
        self.body = self._read(function.regions[0].blocks[0], None, 0)

    def _number(self, value: ir.Value, definition: Node | BlockNode) -> int:
        number = len(self.values)
        self._numbers[value] = number
        self.values.append(value)
        self.floats.append(is_float(value.type))
        self.defined.append(definition)
        return number

    def _use(self, value: ir.Value) -> int:
        if value not in self._numbers:
            self.outside.arguments.append(self._number(value, self.outside))
        return self._numbers[value]

    def _read(self, block: ir.Block, owner: Node | None, depth: int) -> BlockNode:
        result = BlockNode(owner, depth)
        result.arguments = [self._number(a, result) for a in block.arguments]
        for position, child in enumerate(block.operations):
            op = child.operation
            node = Node(op, result, position)
            node.operands = [self._use(v) for v in op.operands]
            for region in (
                op.regions if not CustomOp.holds(node) else ()
            ):  # which has derivatives of its own
                for inner in region.blocks:
                    node.blocks.append(self._read(inner, node, depth + 1))
                    node.is_passage = True
            node.results = [self._number(v, node) for v in op.results]
            if AllocOp.holds(node):
                self.floats[node.results[0]] = is_float(stack_element(op.results[0].type))
            if is_access(node):
                node.array = array_root(self.values[node.array_value])
            result.nodes.append(node)
        return result

    @cached_property
    def has_cycles(self) -> bool:
        """Return whether a value may depend on a later one: by a loop, or by a stack."""
        return any(
            node.is_passage and not is_branch(node) and not is_parallel(node)
            for node in self.nodes()
        )

    def fact(self, key: Hashable, find: Callable[[], Fact]) -> Fact:
        """Return what `find` returns, which is called once for a key. It may depend on the ops, but
        not on marks that passes set."""
        if key not in self._facts:
            self._facts[key] = find()
        fact: Fact = self._facts[key]
        return fact

    def block_of(self, value: int) -> BlockNode:
        """The block in which a value is defined."""
        definition = self.defined[value]
        return definition if isinstance(definition, BlockNode) else definition.block

    def depth_of(self, value: int) -> int:
        """The depth of the block in which a value is defined."""
        return self.block_of(value).depth

    def nodes(self) -> Iterator[Node]:
        """Every node, in order."""
        return self.body.walk()

    def is_array(self, value: int) -> bool:
        """Return whether a value is an array."""
        return is_array(self.values[value].type)


_GRAPHS: ContextVar[dict[ir.Operation, Graph] | None] = ContextVar("graphs", default=None)
_NAMES: ContextVar[dict[ir.Operation, frozenset[str]] | None] = ContextVar("names", default=None)


def graph_of(function: ir.Operation) -> Graph:
    """Return the graph of a function, as it was when the running pass began: passes that only set
    marks, and the one behind them, share it."""
    return _shared(_GRAPHS.get(), function, Graph)


def names_in(op: ir.Operation) -> frozenset[str]:
    """Return the names of the operations in one, as they were when the running pass began; of those
    that are in a serial loop, also `in_loops(name)`."""
    return _shared(_NAMES.get(), op, _find_names)


def in_loops(name: str) -> str:
    """Return what stands for the name of an operation in a serial loop."""
    return f"{name} in {Scf.FOR}"


def _find_names(op: ir.Operation) -> frozenset[str]:
    names: set[str] = set()
    names_in_loops: set[str] = set()
    pending = [(op.regions, names)]
    while pending:
        regions, collected = pending.pop()
        for child in children(regions):
            name = child.name
            collected.add(name)
            inner = child.regions
            if len(inner):
                pending.append((inner, names_in_loops if name == Scf.FOR else collected))
    return frozenset(names | names_in_loops | {in_loops(name) for name in names_in_loops})


def _shared(
    facts: dict[ir.Operation, Fact] | None, op: ir.Operation, find: Callable[[ir.Operation], Fact]
) -> Fact:
    if facts is None:
        return find(op)
    if op not in facts:
        facts[op] = find(op)
    return facts[op]


@contextmanager
def sharing_graphs() -> Iterator[None]:
    """Let passes share graphs, and names, while they leave ops as they are."""
    graphs, names = _GRAPHS.set({}), _NAMES.set({})
    try:
        yield
    finally:
        _GRAPHS.reset(graphs)
        _NAMES.reset(names)


def forget_graphs() -> None:
    """Drop the shared graphs and names, because ops change."""
    for facts in (_GRAPHS.get(), _NAMES.get()):
        if facts is not None:
            facts.clear()


def verify_graphs() -> None:
    """Raise AssertionError if a shared graph is not that of its function, or a shared name is
    gone."""
    for op, names in (_NAMES.get() or {}).items():
        assert names == _find_names(op), f"a pass that sets marks changed the names in {op.name}"
    for function, graph in (_GRAPHS.get() or {}).items():
        current = Graph(function)
        assert graph.values == current.values, f"a pass that sets marks changed {function.name}"
        for node, again in zip(graph.nodes(), current.nodes(), strict=True):
            assert (node.op, node.operands) == (again.op, again.operands), f"{node.op} has changed"
