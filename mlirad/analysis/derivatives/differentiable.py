"""Requirements of derivative passes on a program that the frontend did not write: no value, of any
type, takes a derivative where the passes would lose it.

The sweeps know floats, fields, local arrays, stacks and structured ops. A derivative that reaches
anything else is an error at its line, never a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mlirad.analysis.derivatives.activity import is_stopped, stack_of
from mlirad.analysis.rules.table import RULES
from mlirad.bindings import ir
from mlirad.dialect import field, grad
from mlirad.dialect.field import GetOp, is_read, is_write
from mlirad.dialect.snode import duals_of, places
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.marks.roles import ROLE, Role
from mlirad.ir.ops import Arith, Func, Math, Memref, Scf
from mlirad.ir.requirements import Requirement, is_private, refuse
from mlirad.ir.signature import parameter_attributes
from mlirad.ir.structured import STRUCTURED, is_parallel
from mlirad.ir.walk import Array, functions, is_function_argument, owner_operation

# ops that take a float and give an integer: their derivative is 0 everywhere
DECISIONS = frozenset(
    (Arith.CMPF, Arith.FPTOSI, Arith.FPTOUI, Math.ISFINITE, Math.ISINF, Math.ISNAN, Math.ISNORMAL)
)
# ops that read a float and change nothing that a program can see
REPORTS = frozenset((field.PrintOp.OPERATION_NAME, field.AssertOp.OPERATION_NAME))
TERMINATORS = frozenset((Scf.YIELD, Scf.CONDITION, Scf.REDUCE, Func.RETURN))
FLOWS = "field.flows"  # of a module: a tape knows which arrays pass derivatives to which


def differentiable_in_reverse(root: ir.Operation) -> None:
    """Require that reverse mode loses no derivative: see the module."""
    _require(root, lambda place: "adjoint" in place.attributes)


def differentiable_forward(root: ir.Operation) -> None:
    """Require that forward mode loses no derivative: see the module."""
    _require(root, lambda place: bool(duals_of(place)))


def _require(root: ir.Operation, is_differentiable: Callable[[ir.Operation], bool]) -> None:
    fields = {
        ir.StringAttr(place.attributes["sym_name"]).value
        for place in places(root)
        if is_differentiable(place)
    }
    for function in functions(root):
        if not is_private(function):
            _refuse_other_memory(function)
            graph = Graph(function)
            arrays = fields | _array_arguments(graph, function)
            _Carriers(graph, arrays, knows_flows=FLOWS in root.attributes).require()


def _array_arguments(graph: Graph, function: ir.Operation) -> set[Array]:
    if "arg_attrs" not in function.attributes:
        return set()
    labels = [
        ir.DictAttr(attributes) for attributes in ir.ArrayAttr(function.attributes["arg_attrs"])
    ]
    return {
        graph.values[number]
        for number, label in zip(graph.body.arguments, labels)
        if "field.needs_grad" in label or "field.adjoint" in label
    }


def _refuse_other_memory(function: ir.Operation) -> None:
    """Refuse arguments that are memory of floats, and no array."""
    block = function.regions[0].blocks[0]
    for number, argument in enumerate(block.arguments):
        if not isinstance(argument.type, ir.VectorType) and _holds_floats(argument.type):
            refuse(
                function,
                f"argument {number} is a '{argument.type}': derivatives are taken of fields and "
                "of arguments of type '!field.array' only",
            )


def _holds_floats(type_: ir.Type) -> bool:
    """Return whether a type is memory, a vector, a tensor or a pair of floats."""
    if isinstance(type_, ir.ShapedType | ir.ComplexType):
        return isinstance(type_.element_type, ir.FloatType | ir.ComplexType)
    return False


class _Carriers:
    """The values and arrays of a function that may carry a derivative."""

    def __init__(self, graph: Graph, arrays: set[Array], *, knows_flows: bool) -> None:
        self.graph, self.differentiable, self.knows_flows = graph, arrays, knows_flows
        self.values: set[int] = set()
        self.arrays: set[Array] = set()
        self.stored: dict[Array, Node] = {}  # arrays without a derivative, and who writes to them

    def require(self) -> None:
        """Raise TaichiCompilationError at the first op that loses a derivative."""
        while self._pass_on(self.graph.body):
            pass
        for node in self.graph.nodes():
            self._check(node)

    def _pass_on(self, block: BlockNode) -> bool:
        changed = False
        for node in block.nodes:
            for inner in node.blocks:
                changed |= self._pass_on(inner)
            count = len(self.values) + len(self.arrays)
            self._pass_through(node)
            changed |= len(self.values) + len(self.arrays) > count
        return changed

    def _pass_through(self, node: Node) -> None:
        if node.is_access:
            self._access(node)
        elif grad.PushOp.holds(node):
            if node.operands[0] in self.values:
                self.arrays.add(stack_of(node))
        elif grad.PopOp.holds(node):
            if stack_of(node) in self.arrays:
                self.values.update(node.results)
        elif node.blocks:
            for source, targets in node.flow.edges:
                if source in self.values:
                    self.values.update(targets)
        elif node.name not in DECISIONS and self._is_reached(node):
            self.values.update(node.results)

    def _access(self, node: Node) -> None:
        if is_write(node) and node.operands[0] in self.values:
            self.arrays.add(node.array)
        if is_read(node) and not is_stopped(node):
            is_local = node.array not in self.differentiable
            if not is_local or node.array in self.arrays:
                self.values.update(v for v in node.results if self.graph.floats[v])

    def _is_reached(self, node: Node) -> bool:
        """Return whether one of its operands carries a derivative that its result depends on."""
        terms = RULES.get(node.name)
        operands: Iterable[int] = node.operands
        if terms is not None:
            operands = [v for v, term in zip(node.operands, terms) if term is not None]
        return any(v in self.values for v in operands)

    def _check(self, node: Node) -> None:
        if node.is_access:
            self._check_memory(node)
        elif field.AllocaOp.holds(node):
            self._check_local(node)
        elif not self._is_reached(node) or node.name in (*DECISIONS, *REPORTS, *TERMINATORS):
            if node.name == Func.RETURN and not self.knows_flows:
                self._check_results(node)
        elif node.name == Memref.STORE:
            refuse(
                node.op,
                "a value that carries a derivative is stored to a memref, where it would be lost: "
                "run mem2reg first, or use 'field.alloca'",
            )
        elif not (self._has_rule(node) or node.blocks or node.name in _KNOWN):
            refuse(node.op, f"no derivative rule for '{node.name}'{self._types_of(node)}")

    def _check_results(self, node: Node) -> None:
        if self._is_reached(node):
            refuse(node.op, "a result that carries a derivative: store it in a field")
        for number, value in enumerate(node.operands):
            type_ = self.graph.values[value].type
            if isinstance(type_, ir.FloatType) or _holds_floats(type_):
                refuse(
                    node.op,
                    f"result {number} is made of numbers that have no derivative here: pass them "
                    "in fields",
                )

    def _check_memory(self, node: Node) -> None:
        if (
            is_read(node)
            and node.array in self.arrays
            and node.array not in self.differentiable
            and not self.knows_flows
            and not self._is_local(node)
        ):
            _refuse_state(node)
            refuse(
                node.op,
                f"{_name(node.array)} holds what carries a derivative and has no adjoint or dual "
                "of its own, so the derivative would be lost: give it one, or run mark-flows "
                "first, for a tape that gives it a hidden one",
            )

    def _check_local(self, node: Node) -> None:
        """Refuse a local array of one iteration: its derivative would be one of the launch."""
        array = self.graph.values[node.results[0]]
        if array in self.arrays and any(map(is_parallel, node.owners)):
            refuse(
                node.op,
                "a local array in a parallel loop, whose iterations would share its derivative: "
                "put it before the loop with an axis for the iterations, or make the loop an "
                "'scf.for'",
            )

    def _is_local(self, node: Node) -> bool:
        definition = self.graph.defined[node.array_value]
        return isinstance(definition, Node) and not GetOp.holds(definition)

    def _has_rule(self, node: Node) -> bool:
        return node.name in RULES and all(self.graph.floats[v] for v in node.results)

    def _types_of(self, node: Node) -> str:
        if node.name not in RULES:
            return ""
        return f" of '{self.graph.values[node.results[0]].type}'"


_KNOWN = (
    *STRUCTURED,
    grad.CustomOp.OPERATION_NAME,
    grad.PushOp.OPERATION_NAME,
    grad.PopOp.OPERATION_NAME,
    grad.RecordOp.OPERATION_NAME,
    grad.UndoOp.OPERATION_NAME,
)


def _refuse_state(node: Node) -> None:
    """Refuse a read of a `memref.global` through which a derivative would pass, to the next call
    too."""
    array = node.array
    if not isinstance(array, ir.BlockArgument) or not is_function_argument(array):
        return
    label = parameter_attributes(owner_operation(array))[array.arg_number]
    role = list(ir.ArrayAttr(label[ROLE])) if ROLE in label else []
    if role and ir.StringAttr(role[0]).value == Role.CONSTANT:
        refuse(
            node.op,
            f"{' '.join(map(str, role[1:]))} holds what carries a derivative, which calls would "
            "pass on to each other: pass the memory as an argument",
        )


def _name(array: Array) -> str:
    return f"field '{array}'" if isinstance(array, str) else "an array argument"


IN_REVERSE: tuple[Requirement, ...] = (differentiable_in_reverse,)
FORWARD: tuple[Requirement, ...] = (differentiable_forward,)
