"""Mark how each float op of a program rounds, once for all its modes.

Assumes that locals are values, and that nothing is differentiated yet. A decision (a comparison, a
cast to an integer, a choice of min or max, floor and its kin) comes out the same in the primal, its
reverse and its tangents only if what it is made of is the same to the last bit. So what feeds
decisions is exact, through memory that the function writes too. Elsewhere a product with what a
loop carries is fused into the sum that alone uses it, and a sum over a loop may be taken in any
order, of terms that are estimates. Other values, those stored in fields above all, are the same to
the last bit in every mode. Derivatives, which come later, carry no mark: `insert-fast-math` may do
with them as it likes.
"""

from __future__ import annotations

from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.field import is_atomic, is_write
from mlirad.dialect.grad import CustomOp
from mlirad.ir.custom import PRIMAL
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.requirements import KERNELS
from mlirad.ir.rounding import DECISION, EXACT, FUSED, LANES, LOOSE, is_marked, mark_exact, rounds
from mlirad.ir.structured import is_branch, is_for, is_parallel, is_serial_loop
from mlirad.ir.walk import Array, functions

REQUIRES = KERNELS

_CHOOSE = frozenset(
    {
        "arith.maximumf",
        "arith.minimumf",
        "arith.maxnumf",
        "arith.minnumf",
        "arith.remf",
        "math.absf",
        "math.copysign",
        "math.floor",
        "math.ceil",
        "math.round",
        "math.roundeven",
        "math.trunc",
        CustomOp.OPERATION_NAME,
    }
)
_STEPS = {"arith.addf": "add", "arith.subf": "add", "arith.mulf": "mul"}
_FUSED_TYPES = ("f32", "f64")
_SHORT, _SHORT_LANES = 8, 16  # trips


def mark_rounding(module: ir.Operation) -> None:
    """Mark float ops as exact, a product fused into a sum, or loose, and the decisions; what feeds
    these is exact."""
    for function in functions(module):
        if "sym_visibility" not in function.attributes:
            _Marking(Graph(function)).run()


class _Marking:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.users: dict[int, list[Node]] = {}
        for node in graph.nodes():
            for operand in dict.fromkeys(node.operands):
                self.users.setdefault(operand, []).append(node)
        self.decisive: set[int] = set()
        self.arrays: set[Array] = set()
        self.lanes: set[Node] = set()

    def run(self) -> None:
        """Set the marks."""
        self._find_decisive()
        loose = self._loose()
        self.lanes = self._lanes()
        products = self._products(loose)
        unit = ir.UnitAttr.get()
        for node in self.graph.nodes():
            if self._decides(node):
                node.op.attributes[DECISION] = unit
            if is_marked(node.op):
                continue
            if is_atomic(node) and self.graph.floats[node.results[0]]:
                node.op.attributes[LOOSE if node in loose else EXACT] = unit
            elif CustomOp.holds(node):
                mark_exact(node.op.regions[PRIMAL])
            elif rounds(node.op):
                node.op.attributes[
                    LOOSE if node in loose else FUSED if node in products else EXACT
                ] = unit
                if node in self.lanes:
                    node.op.attributes[LANES] = unit

    # What feeds decisions.

    def _find_decisive(self) -> None:
        """The floats that decisions are made of, and the arrays that they are loaded from."""
        nodes = list(self.graph.nodes())
        for node in nodes:
            if self._decides(node):
                self._decide(node.operands)
        size = -1
        while size < len(self.decisive) + len(self.arrays):
            size = len(self.decisive) + len(self.arrays)
            for node in reversed(nodes):
                self._follow(node)

    def _decide(self, values: list[int]) -> None:
        self.decisive.update(v for v in values if self.graph.floats[v])

    def _decides(self, node: Node) -> bool:
        """Whether what a node gives jumps where its floats pass some value."""
        if is_atomic(node):
            return ir.StringAttr(node.op.attributes["kind"]).value in ("min", "max")
        if node.name in _CHOOSE:
            return True
        return (
            node.name.startswith(("arith.", "math."))
            and any(self.graph.floats[v] for v in node.operands)
            and not any(self.graph.floats[v] for v in node.results)
        )

    def _follow(self, node: Node) -> None:
        if is_write(node) and self._array(node) in self.arrays:
            self._decide(node.operands[:1])
        if node.blocks:
            for source, targets in node.flow.edges:
                if any(target in self.decisive for target in targets):
                    self._decide([source])
        elif any(v in self.decisive for v in node.results):
            if node.is_access:
                self.arrays.add(self._array(node))
            else:
                self._decide(node.operands)

    def _array(self, node: Node) -> Array:
        """What tells arrays apart; arguments may be one array given twice."""
        if isinstance(node.array, ir.BlockArgument):
            return "arguments", 0
        return node.array

    # Sums over loops.

    def _loose(self) -> set[Node]:
        """The steps of sums over loops, and the ops whose results go nowhere else."""
        found = {node for node in self.graph.nodes() if self._is_shared_sum(node)}
        for loop in self.graph.nodes():
            if is_for(loop) and not self._is_short(loop):
                for argument, last in zip(
                    loop.blocks[0].arguments[1:], loop.blocks[0].terminator.operands
                ):
                    if self.graph.floats[argument] and argument not in self.decisive:
                        found |= self._chain(loop, argument, last)
        for node in reversed(list(self.graph.nodes())):
            if rounds(node.op) and node.results[0] not in self.decisive:
                users = self.users.get(node.results[0], [])
                if users and all(user in found for user in users):
                    found.add(node)
        return found

    def _lanes(self) -> set[Node]:
        """The steps of sums over loops that decisions are made of, where nothing else reads what
        they have come to."""
        found = set()
        for loop in self.graph.nodes():
            if not is_for(loop) or self._is_short(loop, _SHORT_LANES):
                continue
            body = loop.blocks[0]
            for argument, last in zip(body.arguments[1:], body.terminator.operands):
                step = self.graph.defined[last]
                if (
                    argument in self.decisive
                    and isinstance(step, Node)
                    and step.name == "arith.addf"
                    and step.block is body
                    and self.users.get(argument) == [step]
                    and step.operands.count(argument) == 1
                    and self.users.get(last) == [body.terminator]
                    and body.terminator.operands.count(last) == 1
                ):
                    found.add(step)
        return found

    def _is_shared_sum(self, node: Node) -> bool:
        """Whether an update adds to an element that other iterations may add to as well, in no
        order."""
        if (
            not is_atomic(node)
            or self._array(node) in self.arrays
            or self._decides(node)
            or not self.graph.floats[node.operands[0]]
        ):
            return False
        loops = [owner for owner in node.owners if is_parallel(owner)]
        own = {v for loop in loops for v in loop.induction}
        inner = [owner for owner in node.owners if is_serial_loop(owner)]
        return bool(inner) or not own.issubset(node.indices)

    def _is_short(self, loop: Node, trips: int = _SHORT) -> bool:
        """Whether a loop has so few trips that its sums gain nothing from another order."""
        known = spans(loop.op)[0].trips
        return known is not None and known <= trips

    def _chain(self, loop: Node, argument: int, last: int) -> set[Node]:
        """The steps from a carried value to what the next iteration gets; none where it is used in
        another way."""
        steps: set[Node] = set()
        values, pending = {argument}, [argument]
        while pending:
            value = pending.pop()
            for user in self.users.get(value, ()):
                if user is loop.blocks[0].terminator:
                    if user.operands.count(value) > 1 or value != last:
                        return set()
                    continue
                following = self._after(user, value)
                if following is None:
                    return set()
                if user.name in _STEPS:
                    steps.add(user)
                new = [v for v in following if v not in values]
                values.update(new)
                pending += new
        if last not in values or len({_STEPS[step.name] for step in steps}) > 1:
            return set()
        return steps

    def _after(self, user: Node, value: int) -> list[int] | None:
        """What a partial sum becomes at a use; None where the use is no step of a sum."""
        if user.name in _STEPS:
            once = user.operands.count(value) == 1
            return (
                list(user.results)
                if once and (user.name != "arith.subf" or user.operands[0] == value)
                else None
            )
        owner = user if user.blocks else user.block.owner
        if (
            owner is None
            or not (is_for(owner) or is_branch(owner))
            or (user.blocks and value not in user.operands[3:])
        ):
            return None
        if not user.blocks and user is not user.block.terminator:
            return None
        return [
            target for source, targets in owner.flow.edges if source == value for target in targets
        ]

    # Products that are not rounded.

    def _products(self, loose: set[Node]) -> set[Node]:
        """The products that become one op with the sum that alone uses them, at most one for a sum:
        those that wait for the iteration before, or are a term of a sum in lanes. Elsewhere the
        time is not worth another rounding."""
        found = set()
        for node in self.graph.nodes():
            if (
                node.name in ("arith.addf", "arith.subf")
                and node not in loose
                and (node.results[0] not in self.decisive or node in self.lanes)
                and str(node.op.results[0].type) in _FUSED_TYPES
            ):
                products = [
                    p for v in node.operands if (p := self._product_of(v, node)) is not None
                ]
                found.update(
                    [p for p in products if node in self.lanes or self._is_carried(p)][-1:]
                )
        return found

    def _product_of(self, value: int, user: Node) -> Node | None:
        """The product that a value is, if it is used here alone."""
        made = self.graph.defined[value]
        if isinstance(made, BlockNode) or made.name != "arith.mulf" or made.block is not user.block:
            return None
        alone = self.users[value] == [user] and user.operands.count(value) == 1
        return made if alone and (value not in self.decisive or user in self.lanes) else None

    def _is_carried(self, product: Node) -> bool:
        """Whether a product waits for the iteration before."""
        blocks = [
            made for v in product.operands if isinstance(made := self.graph.defined[v], BlockNode)
        ]
        return any(block.owner is not None and is_serial_loop(block.owner) for block in blocks)
