"""The adjoint of what a definition reads: sums over the points that read an element.

The points at which `A[f(i)]` is read as `A[j]` are the solutions of `f(i) = j`; the adjoint of A at
j is the sum over them of the adjoint of what is defined, times a derivative. So it is a definition
again, and no larger than both. Where f depends on data, it is a `te.scatter`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import product

from mlirad.analysis.linear import number, unknown
from mlirad.analysis.tensors.integer_systems import Equation, Names, solve
from mlirad.analysis.tensors.te_accesses import Box, Forms, New, Piece, reads_of
from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.elementary.terms import convert_float
from mlirad.ir.te_regions import Copier
from mlirad.ir.walk import block_operations, owner_operation
from mlirad.sweeps.tensors.boxes import Covering
from mlirad.sweeps.tensors.combined import as_scan, goes_in_steps
from mlirad.sweeps.tensors.copies import At
from mlirad.sweeps.tensors.definition import Definition, box_of, definition_of, extents, type_with
from mlirad.sweeps.tensors.points import Environment, conditions, emit_sum, sum_over, value_or_zero
from mlirad.sweeps.tensors.scans import consumers
from mlirad.sweeps.tensors.shares import Share, share_of
from mlirad.sweeps.tensors.te_tangents import Tangents, product_of, sum_of
from mlirad.sweeps.tensors.windows import Windows


class _FreeNames(Names["ir.Value | New"]):
    def __init__(self, forms: Forms) -> None:
        self._forms = forms

    def quotient(self, number: int) -> New:
        return self._forms.new()

    def free(self, number: int) -> New:
        return self._forms.new()


def adjoint(output: ir.Value, tensor: ir.Value, head: ir.Value) -> ir.Value | None:
    """Return the contribution of one consumer to the adjoint of a tensor, of the tensor's element
    type; None if there is none. Raises TaichiDerivativeError where there is no derivative."""
    summands = adjoints(output, tensor, head)
    element = ir.RankedTensorType(tensor.type).element_type
    return convert_tensor(reduce(add_tensors, summands), element) if summands else None


def adjoints(output: ir.Value, tensor: ir.Value, head: ir.Value) -> list[ir.Value]:
    """Return the parts of the adjoint of a tensor, at the insertion point: the contributions of one
    consumer, each a tensor.

    `head` is the adjoint of the consumer `output`; it may have axes in front, which the parts have
    too. Raises TaichiDerivativeError where there is no derivative.
    """
    op = owner_operation(output)
    if te.ScanOp.holds(op):
        return [
            summand
            for definition, adjoint_of_consumer in consumers(output, head)
            for summand in adjoints(definition, tensor, adjoint_of_consumer)
        ]
    if te.ScatterOp.holds(op):
        return adjoints_of_scatter(op, tensor, head)
    definition = definition_of(op)
    if goes_in_steps(definition):
        states, last = as_scan(definition)
        (adjoint_of_states,) = adjoints(last, states, head)
        return adjoints(states, tensor, adjoint_of_states)
    share = share_of(definition)
    summands = []
    for block, is_initial in ((definition.body, False), *_initial(definition)):
        groups = _groups(definition, block, tensor, is_initial)
        for pieces, reads in groups:
            summand = _Part(definition, tensor, head, share, block, reads, is_initial)
            summands.append(summand.scatter() if pieces is None else summand.gather(pieces))
    return summands


def adjoints_of_scatter(op: ir.Operation, tensor: ir.Value, head: ir.Value) -> list[ir.Value]:
    """Return the adjoints of a `te.scatter`: the addend is a definition over its box, whose adjoint
    is the head at the place where it is added."""
    body = te.body_of(op)
    box = te.box_of(op)
    element = ir.RankedTensorType(op.results[0].type).element_type
    label = te.ScatterOp(op).label.value
    prefix = ir.RankedTensorType(head.type).rank - ir.RankedTensorType(op.results[0].type).rank
    type_, sizes = type_with(box, element)

    def value(indices: list[ir.Value]) -> ir.Value:
        return Copier(dict(zip(body.arguments, indices))).block(body)[1]

    def adjoint(indices: list[ir.Value]) -> ir.Value:
        copier = Copier(dict(zip(body.arguments, indices[prefix:])))
        holds, _, *target = copier.block(body)
        return value_or_zero(
            holds,
            lambda: b.number(0.0, element),
            lambda: te.read(head, [*indices[:prefix], *target]),
        )

    added_ = te.compute(f"{label}.value", type_, sizes, value)
    head_type, head_sizes = type_with([*extents(head)[:prefix], *box], element)
    return adjoints(added_, tensor, te.compute(f"{label}.adjoint", head_type, head_sizes, adjoint))


def _initial(definition: Definition) -> list[tuple[ir.Block, bool]]:
    return [(te.body_of(definition.op), True)] if definition.reductions else []


def _groups(
    definition: Definition, block: ir.Block, tensor: ir.Value, is_initial: bool
) -> list[tuple[tuple[Forms, Box, list[tuple[Piece, ...]]] | None, list[ir.Operation]]]:
    """Reads of a tensor, those at the same indices together, each with what these are."""
    forms = Forms([*definition.indices, *([] if is_initial else definition.reduction_indices)])
    box = box_of(definition, forms)
    if is_initial and box is not None:
        box.indices, reduced = list(definition.indices), set(definition.reduction_indices)
        box.constraints = [c for c in box.constraints if not reduced & set(c.names)]
        box.conditions = []
    by_pieces: dict[object, list[ir.Operation]] = {}
    for op in reads_of(block, tensor):
        pieces = [forms.pieces_of(index) for index in list(op.operands)[1:]]
        known_pieces = [piece for piece in pieces if piece is not None]
        is_known = box is not None and len(known_pieces) == len(pieces)
        key = tuple(product(*known_pieces)) if is_known else op
        by_pieces.setdefault(key, []).append(op)
    return [
        ((forms, box, list(key)) if isinstance(key, tuple) and box is not None else None, ops)
        for key, ops in by_pieces.items()
    ]


class _Part:
    """The contribution of reads of one tensor at the same indices."""

    def __init__(
        self,
        definition: Definition,
        tensor: ir.Value,
        head: ir.Value,
        share: Share,
        block: ir.Block,
        reads: Sequence[ir.Operation],
        is_initial: bool,
    ) -> None:
        self.definition, self.tensor, self.head, self.share = definition, tensor, head, share
        self.block, self.reads, self.is_initial = block, set(reads), is_initial
        self.element = ir.RankedTensorType(tensor.type).element_type
        self.label = f"{te.ComputeOp(definition.op).label.value}.adjoint"
        output = ir.RankedTensorType(definition.op.results[0].type)
        self.prefix = ir.RankedTensorType(head.type).rank - output.rank

    def _frame(self) -> tuple[ir.Type, list[ir.Value], list[ir.Value]]:
        shape = [*extents(self.head)[: self.prefix], *extents(self.tensor)]
        float_type = ir.F32Type.get() if isinstance(self.element, ir.F16Type) else self.element
        return *type_with(shape, float_type), shape

    def gather(self, key: tuple[Forms, Box, list[tuple[Piece, ...]]]) -> ir.Value:
        """A definition for each element of the tensor. Several cases of an index are added."""
        forms, box, cases = key
        type_, sizes, _ = self._frame()
        summands = [self._case(forms, box, case, type_, sizes) for case in cases]
        return reduce(add_tensors, summands)

    def _case(
        self,
        forms: Forms,
        box: Box,
        case: tuple[Piece, ...],
        type_: ir.Type,
        sizes: Sequence[ir.Value],
    ) -> ir.Value:
        targets = [forms.new() for _ in case]

        def fill(indices: list[ir.Value]) -> ir.Value:
            environment: Environment = dict(zip(targets, indices[self.prefix :]))
            return self._solution(forms, box, case, environment, indices[: self.prefix])

        return te.compute(self.label, type_, sizes, fill)

    def _solution(
        self,
        forms: Forms,
        box: Box,
        case: Sequence[Piece],
        environment: Environment,
        prefix: Sequence[ir.Value],
    ) -> ir.Value:
        equations = [
            Equation(piece.form, unknown(target)) for piece, target in zip(case, environment)
        ]
        quotients = dict.fromkeys(q for piece in case for q in piece.quotients)
        constraints = [*box.constraints, *(c for piece in case for c in piece.constraints)]
        for name, whole, divisor in quotients:
            remainder = whole.plus(unknown(name), -divisor)
            constraints += [remainder, remainder.times(-1).plus(number(divisor - 1))]
        indices = [*box.indices, *(name for name, _, _ in quotients)]
        spans = self._index_ranges(list(environment))
        solution = solve(equations, indices, constraints, _FreeNames(forms), spans)
        holding = conditions(solution, environment)
        holds = b.all_of(holding) if holding else None
        flags = [*((c, True) for c in box.conditions), *(c for p in case for c in p.conditions)]
        type_ = self._frame_element()
        windows = Windows(self.definition, self.block, self.tensor, self.reads)
        is_plain = (
            self.definition.kind in (None, te.ReduceKind.SUM) and not flags and not self.is_initial
        )
        ranges, beyond = windows.ranges(solution, spans, forms) if is_plain else (solution.free, [])

        def point() -> ir.Value:
            points: dict[ir.Value, ir.Value] = {
                index: emit_sum(solution.point[index], environment) for index in box.indices
            }
            zero = b.index(0)
            inside = [b.compare(b.SGE, emit_sum(form, environment), zero) for form in beyond]
            return self._at(points, flags, prefix, b.all_of(inside) if inside else None)

        return sum_over(ranges, environment, holds, lambda: b.number(0.0, type_), point)

    def _index_ranges(
        self, targets: Sequence[ir.Value | New]
    ) -> dict[ir.Value | New, tuple[int, int]]:
        """The range of each index of the tensor, where its type says it."""
        type_ = ir.RankedTensorType(self.tensor.type)
        return {
            target: (0, type_.get_dim_size(axis) - 1)
            for axis, target in enumerate(targets)
            if not type_.is_dynamic_dim(axis)
        }

    def _frame_element(self) -> ir.Type:
        return ir.F32Type.get() if isinstance(self.element, ir.F16Type) else self.element

    def _at(
        self,
        points: dict[ir.Value, ir.Value],
        flags: Sequence[tuple[ir.Value, bool]],
        prefix: Sequence[ir.Value],
        inside: ir.Value | None,
    ) -> ir.Value:
        """Return the contribution of the point at some indices, if conditions are as required; the
        head is read `inside` of it only."""
        at = At(points)
        type_ = self._frame_element()
        holds = [at.flag(value, expected) for value, expected in flags]
        condition = b.all_of(holds) if holds else None
        return value_or_zero(
            condition, lambda: b.number(0.0, type_), lambda: self._derivative(at, prefix, inside)
        )

    def _derivative(
        self, at: At, prefix: Sequence[ir.Value], inside: ir.Value | None = None
    ) -> ir.Value:
        def seed(op: ir.Operation, copier: object) -> ir.Value | None:
            return b.number(1.0, op.results[0].type) if op in self.reads else None

        tangents = Tangents(at.copier, seed)
        type_ = self._frame_element()
        values: list[ir.Value] = []
        if self.is_initial:
            (value,) = te.initial_of(self.definition.reductions[0])
            ops = block_operations(self.block)
            tangents.ops(ops[: ops.index(self.definition.reductions[0])])
            slope = tangents.tangent_of(value)
        else:
            at.prepare(self.definition)
            values, (slope, *_) = tangents.block(self.block)
            value = block_operations(self.block)[-1].operands[0]
        if slope is None:
            return b.number(0.0, type_)
        position = at.copier.values(self.definition.indices)
        element = ir.RankedTensorType(self.head.type).element_type
        head = value_or_zero(
            inside, lambda: b.number(0.0, element), lambda: te.read(self.head, [*prefix, *position])
        )
        factor = None if self.is_initial else self.share.factor(at, values)
        weight = head if factor is None else product_of([head, factor])
        return convert_float(tangents.weigh(value, slope, weight), type_)

    def scatter(self) -> ir.Value:
        """An update for each point."""
        type_, sizes, shape = self._frame()
        covering = Covering(self.definition, not self.is_initial)
        box = [*shape[: self.prefix], *covering.extents]
        (read,) = self.reads

        def fill(indices: list[ir.Value]) -> list[ir.Value]:
            prefix, points = indices[: self.prefix], covering.points(indices[self.prefix :])
            holds = _is_reached(read, points, covering.inside(points))
            condition = b.number(1, b.integer_type(1)) if holds is None else holds
            value = value_or_zero(
                holds,
                lambda: b.number(0.0, self._frame_element()),
                lambda: self._derivative(At(points), prefix),
            )
            target = At(points).guarded_values(holds, list(read.operands)[1:])
            return [condition, value, *prefix, *target]

        return te.scatter(self.label, type_, sizes, box, fill)


def _is_reached(
    read: ir.Operation, points: Mapping[ir.Value, ir.Value], inside: ir.Value | None
) -> ir.Value | None:
    """Return whether there is a point, and what is read there is needed; None where both are
    certain."""
    if inside is None:
        return At(points).branches_taken(read)
    branch = b.if_else(inside, [inside.type])
    with ir.InsertionPoint(branch.then):
        holds = At(points).branches_taken(read)
        b.yield_([b.number(1, inside.type) if holds is None else holds])
    with ir.InsertionPoint(branch.otherwise):
        b.yield_([b.number(0, inside.type)])
    return branch.results[0]


def add_tensors(left: ir.Value, right: ir.Value) -> ir.Value:
    """The sum of two tensors of one shape."""
    shape = extents(left)
    type_, sizes = type_with(shape, ir.RankedTensorType(left.type).element_type)

    def fill(indices: list[ir.Value]) -> ir.Value:
        return sum_of(te.read(left, indices), te.read(right, indices))

    return te.compute("sum", type_, sizes, fill)


def convert_tensor(tensor: ir.Value, element: ir.Type) -> ir.Value:
    """A tensor with elements of another float type."""
    if ir.RankedTensorType(tensor.type).element_type == element:
        return tensor
    type_, sizes = type_with(extents(tensor), element)
    return te.compute(
        "cast", type_, sizes, lambda indices: convert_float(te.read(tensor, indices), element)
    )
