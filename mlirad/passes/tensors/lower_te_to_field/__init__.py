"""Tensor expressions to loops over arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.analysis.linear import linear_form, number
from mlirad.bindings import ir
from mlirad.dialect import field, te
from mlirad.errors import MLIRError
from mlirad.ir import build as b
from mlirad.ir.marks.axis_choices import NO_CHOICE, AxisChoice, choices_of, set_choice
from mlirad.ir.marks.rounding import SETTLED
from mlirad.ir.ops import Tensor
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import TENSORS, symbol_of
from mlirad.ir.signature import argument_label, label_parameters, own_label
from mlirad.ir.te_regions import Copier
from mlirad.ir.walk import before, block_operations, constant_integer, entry_of, functions
from mlirad.passes.tensors.lower_te_to_field.scheduled_loops import Box

REQUIRES = TENSORS
_ATOMIC = {
    te.ReduceKind.SUM: field.AtomicKind.ADD,
    te.ReduceKind.PROD: field.AtomicKind.MUL,
    te.ReduceKind.MAX: field.AtomicKind.MAX,
    te.ReduceKind.MIN: field.AtomicKind.MIN,
}


def lower_te_to_field(module: ir.Operation) -> None:
    """Give every tensor of a function an array, which a parallel loop fills.

    The function takes its tensors as arrays, then the arrays of the tensors that it defines, in
    their order, and gives nothing; those that it did not give are marked as its own. What it was
    marked to add is added to what arrays hold; nothing else reads such a tensor.
    """
    for function in functions(module):
        if any(te.defines_tensor(op) for op in block_operations(entry_of(function))):
            _Lowering(function).run()


class _Lowering:
    """One function."""

    def __init__(self, function: ir.Operation) -> None:
        self.function, self.entry = function, entry_of(function)
        self.arrays: dict[ir.Value, ir.Value] = {}

    def run(self) -> None:
        """Put another function in its place."""
        ops = block_operations(self.entry)
        defined = [op for op in ops if te.defines_tensor(op)]
        self.added = te.added_by(self.function)
        parameters: list[ir.Value] = list(self.entry.arguments)
        types = [_lowered_type(v.type) for v in (*parameters, *(op.results[0] for op in defined))]
        returned = set(ops[-1].operands)
        labels = [argument_label(number) for number in range(len(types))]
        for label, op in zip(labels[len(parameters) :], defined):
            label.update({} if op.results[0] in returned else own_label())
        attributes = {**label_parameters(labels), SETTLED: ir.UnitAttr.get()}
        with before(self.function), self.function.location:
            name = symbol_of(self.function)
            block = entry_of(b.function(name, types, [], attributes, is_private=False))
        arguments = list(block.arguments)
        self.copier = Copier(dict(zip(parameters, arguments)), self._read)
        tensors = [*parameters, *(op.results[0] for op in defined)]
        self.arrays.update(zip(tensors, arguments))
        with ir.InsertionPoint(block), self.function.location:
            for op in ops[:-1]:
                with op.location:
                    self._lower(op)
            b.return_()
        self.function.erase()

    def _lower(self, op: ir.Operation) -> None:
        if te.ComputeOp.holds(op):
            self._compute(op)
        elif te.ScatterOp.holds(op):
            self._scatter(op)
        elif te.ScanOp.holds(op):
            self._scan(op)
        elif te.defines_tensor(op) or te.SizeOp.holds(op):
            raise MLIRError(f"'{op.name}' within a function", source_location(op.location))
        elif op.name == Tensor.DIM:
            tensor, axis = op.operands
            self.copier[op.results[0]] = field.dim(self.arrays[tensor], _axis_number(axis, op))
        else:
            self.copier.op(op)

    def _put(
        self, op: ir.Operation, value: ir.Value, array: ir.Value, at: Sequence[ir.Value] = ()
    ) -> None:
        """An element of what an op defines."""
        if op.results[0] in self.added:
            field.atomic(value, array, at)
        else:
            field.store(value, array, at)

    def _extents(self, op: ir.Operation) -> list[ir.Value]:
        return self.copier.values(te.extents_of(op, b.index))

    def _loop(self, extents: Sequence[ir.Value]) -> tuple[ir.Block, list[ir.Value]]:
        """The body of a loop over a box, and its indices."""
        zero, step = b.index(0), b.index(1)
        rank = len(extents)
        loop = b.parallel_loop([zero] * rank, list(extents), [step] * rank)
        return loop.body, list(loop.body.arguments)

    def _compute(self, op: ir.Operation) -> None:
        array, body = self.arrays[op.results[0]], te.body_of(op)
        extents = self._extents(op)
        if not extents:
            self._number(op, array)
            return
        is_sum = any(te.is_reduce(inner) for inner in block_operations(body))
        box = Box(extents, choices_of(op, len(extents)), is_cut=not is_sum)
        box.run(lambda at: self._put(op, self._element(body, at), array, at))

    def _element(self, body: ir.Block, indices: Sequence[ir.Value]) -> ir.Value:
        for argument, index in zip(body.arguments, indices):
            self.copier[argument] = index
        return self.copier.block(body)[0]

    def _number(self, op: ir.Operation, array: ir.Value) -> None:
        """A tensor without axes: where it is a sum, or its like, the loop is parallel."""
        body = te.body_of(op)
        *before_it, end = block_operations(body)
        last = before_it[-1] if before_it else end
        is_update = _is_combined(last) and last.results[0] == end.operands[0]
        if not is_update or (op.results[0] in self.added and not _is_sum(last)):
            self._put(op, self._element(body, []), array)
            return
        for inner in before_it[:-1]:
            self.copier.op(inner)
        (initial,) = self.copier.values(te.initial_of(last))
        self._put(op, initial, array)
        bounds = [self.copier.values(pair) for pair in te.bounds_of(last)]
        lows, highs = zip(*bounds)
        loop = b.parallel_loop(lows, highs, [b.index(1)] * len(lows))
        with ir.InsertionPoint(loop.body):
            value = self._element(te.body_of(last), list(loop.body.arguments))
            field.atomic(value, array, [], _atomic_kind(last))
            b.end_parallel()

    def _scatter(self, op: ir.Operation) -> None:
        array, body = self.arrays[op.results[0]], te.body_of(op)
        type_ = ir.RankedTensorType(op.results[0].type)
        if op.results[0] not in self.added:
            self._clear(op, array, b.number(0, type_.element_type))
        box = self.copier.values(te.box_of(op))
        points, indices = self._loop(box or [b.index(1)])
        with ir.InsertionPoint(points):
            for argument, index in zip(body.arguments, indices):
                self.copier[argument] = index
            holds, value, *target = self.copier.block(body)
            guarded = b.if_else(holds, [], with_else=False)
            with ir.InsertionPoint(guarded.then):
                field.atomic(value, array, target)
                b.yield_()
            b.end_parallel()

    def _clear(self, op: ir.Operation, array: ir.Value, zero: ir.Value) -> None:
        extents = self._extents(op)
        if not extents:
            field.store(zero, array)
            return
        loop, indices = self._loop(extents)
        with ir.InsertionPoint(loop):
            field.store(zero, array, indices)
            b.end_parallel()

    def _scan(self, op: ir.Operation) -> None:
        """A loop over the box, in which one goes through the steps; without a box, only that."""
        states = te.ScanOp(op).states.value
        length, *sizes = self._extents(op)
        box = sizes[: len(sizes) - (states > 1)]
        if not box:
            self._steps(op, length, [])
            return
        loop, indices = self._loop(box)
        with ir.InsertionPoint(loop):
            self._steps(op, length, indices)
            b.end_parallel()

    def _steps(self, op: ir.Operation, length: ir.Value, indices: Sequence[ir.Value]) -> None:
        array = self.arrays[op.results[0]]
        first, step = (region.blocks[0] for region in op.regions)

        def keep(values: Sequence[ir.Value], at: ir.Value) -> None:
            for position, value in enumerate(values):
                last = [b.index(position)] if len(values) > 1 else []
                self._put(op, value, array, [at, *indices, *last])

        def copy_block(block: ir.Block, values: Sequence[ir.Value]) -> list[ir.Value]:
            for argument, value in zip(block.arguments, values):
                self.copier[argument] = value
            return self.copier.block(block)

        start = copy_block(first, indices)
        keep(start, b.index(0))
        unit = b.index(1)
        loop = b.for_loop(unit, length, unit, start)
        with ir.InsertionPoint(loop.body):
            before_it = b.sub(loop.induction, unit)
            values = copy_block(step, [before_it, *indices, *loop.carried])
            keep(values, loop.induction)
            b.yield_(values)

    def _read(self, op: ir.Operation, copier: Copier) -> Sequence[ir.Value] | None:
        """Return the replacements of reads and reductions."""
        if te.is_read(op):
            with op.location:
                tensor, *indices = op.operands
                return [field.load(self.arrays[tensor], copier.values(indices))]
        if te.is_reduce(op):
            with op.location:
                return self._reduction(op, copier)
        return None

    def _reduction(self, op: ir.Operation, copier: Copier) -> Sequence[ir.Value]:
        bounds = [tuple(copier.values(pair)) for pair in te.bounds_of(op)]
        if te.reduce_kind(op).is_position:
            return [_position(op, bounds, copier)]
        body, combiner = (region.blocks[0] for region in op.regions)

        def point(indices: Sequence[ir.Value], so_far: Sequence[ir.Value]) -> list[ir.Value]:
            for argument, index in zip(body.arguments, indices):
                copier[argument] = index
            return copier.combine(combiner, so_far, copier.block(body))

        axes = choices_of(op, len(bounds))
        return _nest(list(zip(bounds, axes)), copier.values(te.initial_of(op)), point)


def _axis_number(axis: ir.Value, op: ir.Operation) -> int:
    number = constant_integer(axis)
    if number is None:
        raise MLIRError("an axis that is not known", source_location(op.location))
    return number


def _nest(
    bounds: Sequence[tuple[tuple[ir.Value, ...], AxisChoice]],
    carried: Sequence[ir.Value],
    point: Callable[[Sequence[ir.Value], Sequence[ir.Value]], list[ir.Value]],
    outer: Sequence[ir.Value] = (),
) -> list[ir.Value]:
    """Loops over a box, the first axis outside, that carry values."""
    if not bounds:
        return point(list(outer), carried)
    ((low, high), choice), *inner = bounds
    if linear_form(high).plus(linear_form(low), -1) == number(1):
        return _nest(inner, carried, point, [*outer, low])
    first, last = constant_integer(low), constant_integer(high)
    if choice.is_written_out and first is not None and last is not None:
        values = list(carried)
        for at in range(first, last):
            values = _nest(inner, values, point, [*outer, b.index(at)])
        return values
    loop = b.for_loop(low, high, b.index(1), carried)
    set_choice(loop.op, choice)
    with ir.InsertionPoint(loop.body):
        b.yield_(_nest(inner, loop.carried, point, [*outer, loop.induction]))
    return list(loop.results)


def _position(op: ir.Operation, bounds: Sequence[tuple[ir.Value, ...]], copier: Copier) -> ir.Value:
    """Carried are the best number, where it was, and how many points there were."""
    body, is_max = te.body_of(op), te.reduce_kind(op) is te.ReduceKind.ARGMAX
    type_, i32 = block_operations(body)[-1].operands[0].type, b.integer_type(32)
    start = [b.number(0, type_), b.number(-1, i32), b.number(0, i32)]

    def point(indices: Sequence[ir.Value], so_far: Sequence[ir.Value]) -> list[ir.Value]:
        best, place, count = so_far
        for argument, index in zip(body.arguments, indices):
            copier[argument] = index
        (value,) = copier.block(body)
        is_better = _is_beyond(is_max, best, place, value)
        chosen = [b.select(is_better, new, old) for new, old in ((value, best), (count, place))]
        return [*chosen, b.add(count, b.number(1, i32))]

    return _nest([(pair, NO_CHOICE) for pair in bounds], start, point)[1]


def _is_beyond(is_max: bool, best: ir.Value, place: ir.Value, value: ir.Value) -> ir.Value:
    """Return whether a number takes the place of the best so far: where there is none, or where it
    is greater (or less); NaN is beyond numbers."""
    none = b.compare(b.SLT, place, b.number(0, place.type))
    if b.is_float(value.type):
        kind = b.UNORDERED_LT if is_max else b.UNORDERED_GT
        beyond = b.compare_floats(kind, best, value)
        beyond = b.andi(beyond, b.compare_floats(b.OEQ, best, best))
    else:
        beyond = b.compare(b.SLT if is_max else b.SGT, best, value)
    return b.ori(none, beyond)


def _is_combined(op: ir.Operation) -> bool:
    """Return whether an op is a reduction that updates of one element do, in any order. The
    greatest of floats is not: updates pass over NaN."""
    if not te.is_reduce(op) or te.reduce_kind(op) not in _ATOMIC:
        return False
    is_extreme = te.reduce_kind(op) in (te.ReduceKind.MAX, te.ReduceKind.MIN)
    return not (is_extreme and b.is_float(op.results[0].type))


def _atomic_kind(op: ir.Operation) -> str:
    """The kind of update that a reduction is."""
    kind = _ATOMIC[te.reduce_kind(op)]
    unsigned = any(inner.name.endswith("ui") for inner in block_operations(op.regions[1].blocks[0]))
    return f"{kind}u" if unsigned and kind in ("max", "min") else kind


def _is_sum(op: ir.Operation) -> bool:
    return te.reduce_kind(op) is te.ReduceKind.SUM


def _lowered_type(type_: ir.Type) -> ir.Type:
    if not isinstance(type_, ir.RankedTensorType):
        return type_
    tensor = ir.RankedTensorType(type_)
    extents = [
        -1 if tensor.is_dynamic_dim(axis) else tensor.get_dim_size(axis)
        for axis in range(tensor.rank)
    ]
    return field.array_type(tensor.element_type, extents)
