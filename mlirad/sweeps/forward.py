"""Dual numbers: every op again, and beside it the tangents of its results (Griewank and Walther
2008, §3.1).

A value that carries a derivative has as many tangents as there are directions. Tangents of scalars
are values, those of arrays live in arrays of the same shape. Rules come from the tables that
reverse mode transposes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.analysis.activity import Activity, is_stopped, stack_of
from mlirad.analysis.finite import Finiteness
from mlirad.analysis.rules.table import RULES
from mlirad.analysis.rules.terms import Values, convert_float, emit, guarded
from mlirad.bindings import ir
from mlirad.dialect import field, grad
from mlirad.dialect.field import is_atomic
from mlirad.dialect.grad import log_parts
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.custom import JVP, VJP, apply_region, is_given, unless_all_zero
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.location import source_location
from mlirad.ir.rounding import round_like
from mlirad.ir.structured import FOR, IF, PARALLEL, WHILE
from mlirad.ir.walk import Array, attributes_of, is_zero
from mlirad.sweeps.recompute import Environment, parallel_like

Tangents = list[ir.Value]


class Forward:
    """Emits the ops of blocks with `count` tangents. `arrays` are the arrays of tangents, `env` the
    new values.

    `tangents` has those of the values that carry a derivative; a value that is missing there has
    the tangent 0. Code that is differentiated `again` keeps its derivatives where a tangent is 0.
    """

    def __init__(
        self, graph: Graph, activity: Activity, count: int, env: Environment, *, again: bool = False
    ) -> None:
        self.graph, self.activity, self.count, self.env = graph, activity, count, env
        self.tangents: dict[int, Tangents] = {}
        self.arrays: dict[Array, Tangents] = {}
        self.finiteness, self.again = Finiteness(graph), again

    def block(self, block: BlockNode) -> None:
        """Emit what stands in front of a block's terminator."""
        for node in block.nodes[:-1]:
            with node.op.location:
                _HANDLERS.get(node.name, Forward._op)(self, node)

    def of(self, value: int) -> Tangents:
        """The tangents of a value, zeros where it carries no derivative."""
        found = self.tangents.get(value)
        if found is None:
            zero = b.number(0.0, self.graph.values[value].type)
            return [zero] * self.count
        return found

    def values(self, numbers: Sequence[int]) -> list[ir.Value]:
        """The new values of some."""
        return [self.env[v] for v in numbers]

    def _active(self, numbers: Sequence[int]) -> list[int]:
        return [v for v in numbers if v in self.activity.active]

    def _all_of(self, numbers: Sequence[int]) -> list[ir.Value]:
        return [one for v in numbers for one in self.of(v)]

    def _types(self, numbers: Sequence[int]) -> list[ir.Type]:
        return [self.graph.values[v].type for v in numbers for _ in range(self.count)]

    def _bind(self, numbers: Sequence[int], new: Sequence[ir.Value], active: Sequence[int]) -> None:
        """Take values and, behind them, the tangents of those that carry a derivative."""
        self.env.update(zip(numbers, new))
        parts = list(new)[len(numbers) :]
        for k, value in enumerate(active):
            self.tangents[value] = parts[k * self.count : (k + 1) * self.count]

    # Ops without regions.

    def _clone(self, node: Node) -> ir.Operation:
        copy: ir.Operation = node.op.clone()
        for position, operand in enumerate(node.operands):
            copy.operands[position] = self.env[operand]
        self.env.update(zip(node.results, copy.results))
        return copy

    def _op(self, node: Node) -> None:
        if node.blocks:
            raise TaichiCompilationError(
                f"forward mode has no rule for '{node.name}'", source_location(node.op.location)
            )
        self._clone(node)
        if not self._active(node.results):
            return
        result = self.graph.values[node.results[0]].type
        found: list[ir.Value | None] = [None] * self.count
        for position, operand in enumerate(node.operands):
            term = RULES[node.name][position]
            if term is None or operand not in self.tangents:
                continue
            if self.finiteness.may_be_infinite(node, position):
                term = guarded(term, again=self.again)
            for k, tangent in enumerate(self.tangents[operand]):
                if is_zero(tangent):
                    continue
                part = convert_float(
                    emit(
                        term,
                        Values(
                            tangent,
                            lambda n: self.env[node.operands[n]],
                            lambda: self.env[node.results[0]],
                            result,
                            result,
                        ),
                    ),
                    result,
                )
                old = found[k]
                found[k] = part if old is None else b.make("arith.addf", result, [old, part])
        if any(one is not None for one in found):
            self.tangents[node.results[0]] = [
                b.number(0.0, result) if one is None else one for one in found
            ]

    def _custom(self, node: Node) -> None:
        """The function's own rule; where it has none for tangents, the rows of the Jacobian, which
        its transpose gives."""
        self._clone(node)
        active = self._active(node.results)
        if not active:
            return
        values = self.values([*node.operands, *node.results])
        if is_given(node.op, JVP):
            along = [self.of(v) for v in node.operands if self.graph.floats[v]]
            for seeds in zip(*along):
                tangents = unless_all_zero(seeds, apply_region(node.op, JVP, [*values, *seeds]))
                for value, tangent in zip(node.results, tangents):
                    if value in self.activity.active:
                        self.tangents.setdefault(value, []).append(tangent)
            return
        for value in active:
            unit = [b.number(float(v == value), self.graph.values[v].type) for v in node.results]
            row = apply_region(node.op, VJP, values + unit)
            self.tangents[value] = [
                self._product(node, row, k, unit[0].type) for k in range(self.count)
            ]

    def _product(
        self, node: Node, row: Sequence[ir.Value], direction: int, type_: ir.Type
    ) -> ir.Value:
        """A row of a Jacobian times the tangents of a node's operands in one direction."""
        total = b.number(0.0, type_)
        for operand, factor in zip(node.operands, row):
            if operand in self.tangents:
                tangent = self.tangents[operand][direction]
                part = unless_all_zero(
                    [tangent], [b.make("arith.mulf", factor.type, [factor, tangent])]
                )[0]
                total = b.make("arith.addf", type_, [total, convert_float(part, type_)])
        return total

    # Memory.

    def _element(self, node: Node, array: ir.Value) -> tuple[ir.Value, list[ir.Value]]:
        return array, self.values(node.indices)

    def _load(self, node: Node) -> None:
        self._clone(node)
        if node.array in self.arrays and not is_stopped(node) and self._active(node.results):
            self.tangents[node.results[0]] = [
                field.load(*self._element(node, array)) for array in self.arrays[node.array]
            ]

    def _store(self, node: Node) -> None:
        self._clone(node)
        for array, tangent in zip(self.arrays.get(node.array, []), self.of(node.operands[0])):
            field.store(tangent, *self._element(node, array))

    def _atomic(self, node: Node) -> None:
        """A sum's tangents are sums. Other updates choose between tangents, which is done where
        nothing interferes."""
        if node.array not in self.arrays:
            self._clone(node)
            return
        kind = field.AtomicOp(node.op).kind.value
        if kind != "add":
            self._combine(node, kind)
            return
        self._clone(node)
        result, is_read = node.results[0], bool(self._active(node.results)) and not is_stopped(node)
        if node.operands[0] not in self.tangents and not is_read:
            return
        found = [
            field.atomic(tangent, *self._element(node, array))
            for array, tangent in zip(self.arrays[node.array], self.of(node.operands[0]))
        ]
        if is_read:
            self.tangents[result] = found

    def _combine(self, node: Node, kind: str) -> None:
        place = self._element(node, self.env[node.array_value])
        old, value = field.load(*place), self.env[node.operands[0]]
        field.store(round_like(b.combine(kind, old, value), node.op), *place)
        self.env[node.results[0]] = old
        found = []
        for array, tangent in zip(self.arrays[node.array], self.of(node.operands[0])):
            slot = self._element(node, array)
            before = field.load(*slot)
            field.store(_combined_tangent(kind, old, value, before, tangent), *slot)
            found.append(before)
        if not is_stopped(node):
            self.tangents[node.results[0]] = found

    def _alloca(self, node: Node) -> None:
        self._clone(node)
        array = self.graph.values[node.results[0]]
        if array in self.activity.local and self.activity.is_active_local(array):
            self.arrays[array] = [node.op.clone().results[0] for _ in range(self.count)]

    # What an earlier reverse keeps.

    def _alloc(self, node: Node) -> None:
        self._clone(node)
        stack = ("stack", node.results[0])
        if self.activity.is_active_local(stack):
            element = grad.stack_element(self.graph.values[node.results[0]].type)
            trips = self.env[node.operands[0]]
            self.arrays[stack] = [grad.alloc(element, trips) for _ in range(self.count)]

    def _push(self, node: Node) -> None:
        self._clone(node)
        for stack, tangent in zip(self.arrays.get(stack_of(node), []), self.of(node.operands[0])):
            grad.push(tangent, stack, self.env[node.operands[2]])

    def _pop(self, node: Node) -> None:
        self._clone(node)
        if stack_of(node) in self.arrays and self._active(node.results):
            self.tangents[node.results[0]] = [
                grad.pop(stack, self.env[node.operands[1]]) for stack in self.arrays[stack_of(node)]
            ]

    def _free(self, node: Node) -> None:
        self._clone(node)
        for stack in self.arrays.get(stack_of(node), []):
            grad.free(stack)

    def _open(self, node: Node) -> None:
        self._clone(node)
        if self.activity.logged.get(node.results[0]) in self.arrays:
            parts = log_parts(self.graph.values[node.results[0]].type)
            self.arrays["log", node.results[0]] = [grad.open_(*parts) for _ in range(self.count)]

    def _record(self, node: Node) -> None:
        self._clone(node)
        for log, tangent in zip(
            self.arrays.get(("log", node.operands[1]), []), self.of(node.operands[0])
        ):
            grad.record(tangent, log, self.values(node.operands[2:]))

    def _undo(self, node: Node) -> None:
        """Logs of tangents are as long as the log of their primal: its marks are theirs."""
        self._clone(node)
        logs = self.arrays.get(("log", node.operands[0]), [])
        for log, array in zip(logs, self.arrays.get(self.activity.logged[node.operands[0]], [])):
            grad.undo(log, self.env[node.operands[1]], array)

    def _close(self, node: Node) -> None:
        self._clone(node)
        for log in self.arrays.get(("log", node.operands[0]), []):
            grad.close(log)

    # Structured control flow.

    def _if(self, node: Node) -> None:
        active = self._active(node.results)
        types = [self.graph.values[v].type for v in node.results] + self._types(active)
        op = b.if_else(self.env[node.operands[0]], types, with_else=len(node.blocks) > 1)
        for block, new in zip(node.blocks, op.blocks):
            with ir.InsertionPoint(new):
                self.block(block)
                yielded = block.terminator.operands
                b.yield_(
                    self.values(yielded)
                    + self._all_of([yielded[node.results.index(v)] for v in active])
                )
        self._bind(node.results, list(op.results), active)

    def _for(self, node: Node) -> None:
        body = node.blocks[0]
        carried = body.arguments[1:]
        active = self._active(carried)
        where_active = [carried.index(v) for v in active]
        initial = node.operands[3:]
        lower, upper, step = self.values(node.operands[:3])
        op = b.for_loop(
            lower,
            upper,
            step,
            self.values(initial) + self._all_of([initial[k] for k in where_active]),
        )
        for name, attribute in attributes_of(node.op).items():
            op.op.attributes[name] = attribute
        block = op.body
        self._bind(body.arguments, list(block.arguments), active)
        with ir.InsertionPoint(block):
            self.block(body)
            yielded = body.terminator.operands
            b.yield_(self.values(yielded) + self._all_of([yielded[k] for k in where_active]))
        self._bind(node.results, list(op.results), [node.results[k] for k in where_active])

    def _while(self, node: Node) -> None:
        before, after = node.blocks
        first = self._active(before.arguments)
        where_first = [before.arguments.index(v) for v in first]
        second = [
            k
            for k, v in enumerate(after.arguments)
            if v in self.activity.active or node.results[k] in self.activity.active
        ]
        passed = [after.arguments[k] for k in second]
        initial = self.values(node.operands) + self._all_of([node.operands[k] for k in where_first])
        types = [self.graph.values[v].type for v in node.results] + self._types(passed)
        op = b.while_loop(initial, types, attributes_of(node.op))
        opening, closing = op.before, op.after
        self._bind(before.arguments, list(opening.arguments), first)
        with ir.InsertionPoint(opening):
            self.block(before)
            condition, *given = before.terminator.operands
            passed_on = [*self.values(given), *self._all_of([given[k] for k in second])]
            b.go_on_if(self.env[condition], passed_on)
        self._bind(after.arguments, list(closing.arguments), passed)
        with ir.InsertionPoint(closing):
            self.block(after)
            yielded = after.terminator.operands
            b.yield_(self.values(yielded) + self._all_of([yielded[k] for k in where_first]))
        self._bind(node.results, list(op.results), [node.results[k] for k in second])

    def _parallel(self, node: Node) -> None:
        body = node.blocks[0]
        if self._needs_order(node):
            self._serial(node, body.arguments, 0)
            return
        loop = parallel_like(node, self.env)
        self._bind(body.arguments, loop.indices, [])
        with ir.InsertionPoint(loop.body):
            self.block(body)
            b.end_parallel()

    def _needs_order(self, node: Node) -> bool:
        """Whether iterations race for which of them supplies an element, and its tangents with
        it."""
        return any(
            is_atomic(n) and n.array in self.arrays and field.AtomicOp(n.op).kind.value != "add"
            for n in node.walk()
        )

    def _serial(self, node: Node, indices: Sequence[int], axis: int) -> None:
        """A parallel loop as a nest of serial ones."""
        if axis == len(indices):
            self.block(node.blocks[0])
            return
        rank = len(indices)
        lower, upper, step = (self.env[node.operands[k * rank + axis]] for k in range(3))
        op = b.for_loop(lower, upper, step)
        block = op.body
        self.env[indices[axis]] = block.arguments[0]
        with ir.InsertionPoint(block):
            self._serial(node, indices, axis + 1)
            b.yield_()


def _combined_tangent(
    kind: str, old: ir.Value, value: ir.Value, before: ir.Value, tangent: ir.Value
) -> ir.Value:
    """The tangent of what an update leaves, as `_build.combine` computes it."""
    type_ = old.type
    if kind == "exchange":
        return tangent
    if kind == "mul":
        return b.make(
            "arith.addf",
            type_,
            [
                b.make("arith.mulf", type_, [before, value]),
                b.make("arith.mulf", type_, [old, tangent]),
            ],
        )
    keeps = b.make(
        "arith.cmpf",
        b.integer_type(1),
        [old, value],
        predicate=b.predicate(b.OGT if kind == "max" else b.OLT),
    )
    return b.make("arith.select", type_, [keeps, before, tangent])


_HANDLERS: dict[str, Callable[[Forward, Node], None]] = {
    field.LoadOp.OPERATION_NAME: Forward._load,
    field.StoreOp.OPERATION_NAME: Forward._store,
    field.AtomicOp.OPERATION_NAME: Forward._atomic,
    field.AllocaOp.OPERATION_NAME: Forward._alloca,
    grad.AllocOp.OPERATION_NAME: Forward._alloc,
    grad.PushOp.OPERATION_NAME: Forward._push,
    grad.PopOp.OPERATION_NAME: Forward._pop,
    grad.FreeOp.OPERATION_NAME: Forward._free,
    grad.OpenOp.OPERATION_NAME: Forward._open,
    grad.RecordOp.OPERATION_NAME: Forward._record,
    grad.UndoOp.OPERATION_NAME: Forward._undo,
    grad.CloseOp.OPERATION_NAME: Forward._close,
    IF: Forward._if,
    FOR: Forward._for,
    WHILE: Forward._while,
    PARALLEL: Forward._parallel,
    grad.CustomOp.OPERATION_NAME: Forward._custom,
}
