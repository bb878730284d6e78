"""Values that carry a derivative from a differentiable array to one (Hascoët and Pascual 2013,
§5.3)."""

from __future__ import annotations

from mlirad.analysis.rules.table import RULES
from mlirad.bindings import ir
from mlirad.dialect.field import AllocaOp, array_of, is_atomic, is_load, is_read, is_store, is_write
from mlirad.dialect.grad import CustomOp, PopOp, PushOp, RecordOp, UndoOp
from mlirad.dialect.snode import duals_of, places
from mlirad.errors import TaichiCompilationError
from mlirad.ir.graph import BlockNode, Graph, Node, graph_of
from mlirad.ir.reports.location import source_location
from mlirad.ir.walk import Array, array_root


class Activity:
    """`active` values depend on differentiable memory and reach it; `adjoint` names the adjoint of
    each array.

    Fields have the adjoint that their placement names, ndarray arguments marked `field.needs_grad`
    one of their own, float cells local to a launch always one. Seen by forward mode (`with_duals`),
    differentiable are the fields whose placement names duals (`duals`, here by array), those
    arguments and their adjoints (`field.adjoint`), and stacks and logs of an earlier reverse hold
    values too. Without a module, the arguments of the graph's body are what derivatives are taken
    in, and its results what of.
    """

    def __init__(
        self,
        module: ir.Operation | None,
        function: ir.Operation,
        graph: Graph,
        *,
        with_duals: bool = False,
    ) -> None:
        self.graph = graph
        self.adjoint: dict[Array, str | None] = {}
        self.duals: dict[Array, tuple[str, ...]] = {}
        self.cells: set[Array] = set()  # all cells local to a launch; `local` are those of floats
        self.local: dict[Array, Node] = {}
        self.logged: dict[int, Array] = {}  # the array whose elements a log holds
        self.varied: set[int] = set()
        self.useful: set[int] = set()
        self.varied_locals: set[Array] = set()
        self.useful_locals: set[Array] = set()
        if module is None:
            self._mark(self.varied, graph.body.arguments)
            self._mark(self.useful, graph.body.terminator.operands)
        elif with_duals:
            self._find_duals(module, function)
        else:
            self._find_adjoints(module, function)
        self._find_cells()
        while self._vary(graph.body):
            pass
        while self._use(graph.body):
            pass
        self.active = self.varied & self.useful

    def _find_duals(self, module: ir.Operation, function: ir.Operation) -> None:
        for place in places(module):
            if duals := duals_of(place):
                self.duals[ir.StringAttr(place.attributes["sym_name"]).value] = duals
        for number, attributes in zip(self.graph.body.arguments, _argument_attributes(function)):
            if "field.needs_grad" in attributes or "field.adjoint" in attributes:
                self.duals[self.graph.values[number]] = ()

    def _find_adjoints(self, module: ir.Operation, function: ir.Operation) -> None:
        for place in places(module):
            if "adjoint" in place.attributes:
                name = ir.StringAttr(place.attributes["sym_name"]).value
                self.adjoint[name] = ir.FlatSymbolRefAttr(place.attributes["adjoint"]).value
        for number, attributes in zip(self.graph.body.arguments, _argument_attributes(function)):
            if "field.needs_grad" in attributes:
                self.adjoint[self.graph.values[number]] = None

    def _find_cells(self) -> None:
        for node in self.graph.nodes():
            if UndoOp.holds(node):
                self.logged[node.operands[0]] = array_root(self.graph.values[node.operands[2]])
            if AllocaOp.holds(node):
                value = self.graph.values[node.results[0]]
                self.cells.add(value)
                if array_of(value.type)[0].startswith("f"):
                    self.local[value] = node

    def is_differentiable(self, node: Node) -> bool:
        """Return whether the array of an access has a derivative that matters."""
        if node.array in self.local:
            return self.is_active_local(node.array)
        return self._has_derivative(node.array)

    def is_active_local(self, array: Array) -> bool:
        """Return whether a cell, or a stack, holds values that carry a derivative."""
        return array in self.varied_locals and array in self.useful_locals

    def _has_derivative(self, array: Array) -> bool:
        return array in self.adjoint or array in self.duals

    def _vary(self, block: BlockNode) -> bool:
        changed = False
        for node in block.nodes:
            for inner in node.blocks:
                changed |= self._vary(inner)
            changed |= self._vary_node(node)
        return changed

    def _mark(self, group: set[int], values: list[int]) -> bool:
        new = [v for v in values if v not in group and self.graph.floats[v]]
        group.update(new)
        return bool(new)

    def _vary_node(self, node: Node) -> bool:
        if is_read(node):
            changed = False
            if is_atomic(node):
                changed = self._vary_local(node)
            varies = (
                self._has_derivative(node.array) or node.array in self.varied_locals
            ) and not is_stopped(node)
            return (self._mark(self.varied, node.results) if varies else False) or changed
        if is_store(node):
            return self._vary_local(node)
        if PushOp.holds(node) and node.operands[0] in self.varied:
            return _include(self.varied_locals, stack_of(node))
        if PopOp.holds(node):
            return stack_of(node) in self.varied_locals and self._mark(self.varied, node.results)
        if node.blocks:
            changed = False
            for source, targets in node.flow.edges:
                if source in self.varied:
                    changed |= self._mark(self.varied, targets)
            return changed
        if not self.varied.isdisjoint(node.operands) and any(
            self.graph.floats[v] for v in node.results
        ):
            if CustomOp.holds(node):
                return self._mark(self.varied, node.results)
            if node.name not in RULES:
                raise TaichiCompilationError(
                    f"no derivative rule for '{node.name}'", source_location(node.op.location)
                )
            if all(term is None for term in RULES[node.name]):
                return False
            return self._mark(self.varied, node.results)
        return False

    def _vary_local(self, node: Node) -> bool:
        return (
            node.array in self.local
            and node.operands[0] in self.varied
            and _include(self.varied_locals, node.array)
        )

    def _use(self, block: BlockNode) -> bool:
        changed = False
        for node in reversed(block.nodes):
            changed |= self._use_node(node)
            for inner in reversed(node.blocks):
                changed |= self._use(inner)
        return changed

    def _use_node(self, node: Node) -> bool:
        if is_write(node):
            if self._has_derivative(node.array) or node.array in self.useful_locals:
                return self._mark(self.useful, node.operands[:1])
            return False
        if is_load(node):
            return (
                node.array in self.local
                and node.results[0] in self.useful
                and _include(self.useful_locals, node.array)
            )
        if PushOp.holds(node):
            return stack_of(node) in self.useful_locals and self._mark(
                self.useful, node.operands[:1]
            )
        if PopOp.holds(node):
            return node.results[0] in self.useful and _include(self.useful_locals, stack_of(node))
        if RecordOp.holds(node):
            return self._has_derivative(self.logged.get(node.operands[1], "")) and self._mark(
                self.useful, node.operands[:1]
            )
        if node.blocks:
            changed = False
            for source, targets in node.flow.edges:
                if not self.useful.isdisjoint(targets):
                    changed |= self._mark(self.useful, [source])
            return changed
        if not self.useful.isdisjoint(node.results):
            return self._mark(self.useful, node.operands)
        return False


def activity_of(
    module: ir.Operation, function: ir.Operation, *, with_duals: bool = False
) -> Activity:
    """Return the activity of a function, with its graph, which passes that only set marks share."""
    graph = graph_of(function)
    return graph.fact(
        (Activity, with_duals), lambda: Activity(module, function, graph, with_duals=with_duals)
    )


def _argument_attributes(function: ir.Operation) -> list[ir.DictAttr]:
    if "arg_attrs" not in function.attributes:
        return []
    return [
        ir.DictAttr(attributes) for attributes in ir.ArrayAttr(function.attributes["arg_attrs"])
    ]


def stack_of(node: Node) -> tuple[str, int]:
    """Return a key that distinguishes the stack of a push or a pop from other stacks and from
    cells."""
    return "stack", node.operands[1 if PushOp.holds(node) else 0]


def _include(group: set[Array], item: Array) -> bool:
    if item in group:
        return False
    group.add(item)
    return True


def is_stopped(node: Node) -> bool:
    """Return whether the value of an access carries no derivative by the program's wish
    (`ti.stop_grad`)."""
    return "grad.stop" in node.op.attributes
