"""Definitions of tensors: a region computes each element, or what is added to some elements.

Tensors are values of upstream's `tensor` types. Every op is pure: a tensor is determined by its
definition, and no op changes it. Regions read other tensors with `te.read`, and use sizes
(`te.size`) and indices, both of type `index`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from mlirad.bindings import I1, ext, ir
from mlirad.dialect.view import NamedOp, View


class Te(ext.Dialect, name="te"):
    """Tensor expressions."""


class SizeOp(View, dialect=Te, name="size", traits=[ext.Pure]):
    """A size that is known when the program is called. `%n = te.size "n"`"""

    label: ir.StringAttr
    extent: ext.Result[ir.IndexType]


class PlaceholderOp(View, dialect=Te, name="placeholder", traits=[ext.Pure]):
    """A tensor that the caller passes; `sizes` are the extents that its type leaves open.

    `%x = te.placeholder "x"(%n) : tensor<?x3xf32>`
    """

    sizes: Sequence[ext.Operand[ir.IndexType]]
    label: ir.StringAttr
    tensor: ext.Result[Any]

    def problem(self) -> str | None:
        return _problem_of_sizes(self.operation)


class PutOp(View, dialect=Te, name="put", traits=[ir.IsTerminatorTrait], effects=[]):
    """The terminator of the region of a `te.scatter`: the value to add, its place, and a condition.

    `te.put %v at [%k] if %holds : f32`
    """

    holds_here: ext.Operand[I1]
    value: ext.Operand[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]

    def problem(self) -> str | None:
        parent = self.operation.parent
        if parent is None or parent.name != "te.scatter":
            return "'te.put' stands outside of a 'te.scatter'"
        return None


class YieldOp(View, dialect=Te, name="yield", traits=[ir.IsTerminatorTrait], effects=[]):
    """The results of a region, all of the same type. `te.yield %v : f32`"""

    values: Sequence[ext.Operand[Any]]

    def problem(self) -> str | None:
        parent = self.operation.parent
        if parent is None or not parent.name.startswith("te."):
            return "'te.yield' stands outside a region of its dialect"
        return None


class ComputeOp(View, dialect=Te, name="compute", traits=[ext.Pure]):
    """A tensor; its region yields the element at given indices.

    `%y = te.compute "y"(%n) : tensor<?x3xf32> {^bb0(%i: index, %j: index): ... te.yield %v : f32 }`
    """

    sizes: Sequence[ext.Operand[ir.IndexType]]
    label: ir.StringAttr
    tensor: ext.Result[Any]
    body: ext.Region

    def problem(self) -> str | None:
        return _problem_of_sizes(self.operation) or _problem_of_compute(self.operation)


class ScatterOp(View, dialect=Te, name="scatter", traits=[ext.Pure]):
    """A tensor of sums: for each point of a box, the region yields a value and the place to which
    it is added. Elements to which nothing is added are zero.

    The operands are the sizes that the type leaves open, then the extents of the box.
    `%y = te.scatter "y"(%m) : tensor<8xf32> {^bb0(%i: index):
    ... te.put %v at [%k] if %holds : f32 }`
    """

    extents: Sequence[ext.Operand[ir.IndexType]]
    label: ir.StringAttr
    tensor: ext.Result[Any]
    body: ext.Region

    def problem(self) -> str | None:
        return _problem_of_scatter(self.operation)


class ScanOp(View, dialect=Te, name="scan", traits=[ext.Pure]):
    """All states of recurrences, one per point of a box. The first axis of the tensor counts the
    steps, and has one more element than there are steps. The axes of the box follow, and, if there
    are several `states`, their number.

    The first region yields the initial states for given indices of the box. The second
    yields the states after a step; its arguments are the number of the step, the indices, and the
    states before the step.
    `%h = te.scan "h" states 1 : tensor<11x4xf32> {^bb0(%i: index): ...},
    {^bb0(%t: index, %i: index, %s: f32): ...}`
    """

    sizes: Sequence[ext.Operand[ir.IndexType]]
    label: ir.StringAttr
    states: ir.IntegerAttr
    tensor: ext.Result[Any]
    first: ext.Region
    step: ext.Region

    def problem(self) -> str | None:
        return _problem_of_scan(self.operation)


LABEL = "label"
STOP = "te.stop"  # on a definition through which no derivative passes
KEPT, INLINED = "kept", "inlined"  # of a definition: it has an array, or none
MOST_NESTED = 100  # branches within branches of a definition: passes recurse into them
_COMPUTE, _SCATTER = ComputeOp.OPERATION_NAME, ScatterOp.OPERATION_NAME
_PLACEHOLDER, _SCAN = PlaceholderOp.OPERATION_NAME, ScanOp.OPERATION_NAME
_ADDED = "te.added"  # of a function: the numbers of results


def defines_tensor(op: NamedOp) -> bool:
    """Return whether an op gives a tensor."""
    return op.name in (_COMPUTE, _SCATTER, _SCAN, _PLACEHOLDER)


def label_of(op: ir.Operation) -> str:
    """The name of the tensor that an op defines."""
    return ir.StringAttr(op.attributes[LABEL]).value


def mark_added(function: ir.Operation, numbers: Sequence[int]) -> None:
    """Have some results of a function added to what their arrays hold, once it is lowered."""
    i64 = ir.IntegerType.get_signless(64)
    function.attributes[_ADDED] = ir.ArrayAttr.get([ir.IntegerAttr.get(i64, k) for k in numbers])


def added_by(function: ir.Operation) -> set[ir.Value]:
    """The tensors that a function is marked to add to what arrays hold."""
    if _ADDED not in function.attributes:
        return set()
    *_, end = function.regions[0].blocks[0].operations
    numbers = [ir.IntegerAttr(k).value for k in ir.ArrayAttr(function.attributes[_ADDED])]
    return {end.operands[number] for number in numbers}


def body_of(op: ir.Operation) -> ir.Block:
    """The block of an op's first region."""
    return op.regions[0].blocks[0]


def box_of(op: ir.Operation) -> list[ir.Value]:
    """The extents of the box that a `te.scatter` goes through."""
    operands = list(op.operands)
    return operands[len(operands) - len(body_of(op).arguments) :]


def extents_of(op: ir.Operation, constant: Callable[[int], ir.Value]) -> list[ir.Value]:
    """The extents of the tensor that an op defines; `constant` makes those that the type says."""
    type_, sizes = ir.RankedTensorType(op.results[0].type), iter(op.operands)
    return [
        next(sizes) if type_.is_dynamic_dim(axis) else constant(type_.get_dim_size(axis))
        for axis in range(type_.rank)
    ]


def size(name: str) -> ir.Value:
    """`te.size`."""
    attributes = {LABEL: ir.StringAttr.get(name)}
    return ir.Operation.create("te.size", [ir.IndexType.get()], [], attributes).result


def placeholder(name: str, type_: ir.Type, sizes: Sequence[ir.Value] = ()) -> ir.Value:
    """`te.placeholder`."""
    attributes = {LABEL: ir.StringAttr.get(name)}
    return ir.Operation.create(_PLACEHOLDER, [type_], list(sizes), attributes).result


def compute(
    name: str, type_: ir.Type, sizes: Sequence[ir.Value], fill: Callable[[list[ir.Value]], ir.Value]
) -> ir.Value:
    """`te.compute`; `fill` makes an element for its indices."""
    attributes = {LABEL: ir.StringAttr.get(name)}
    op = ir.Operation.create(_COMPUTE, [type_], list(sizes), attributes, regions=1)
    index = ir.IndexType.get()
    rank = ir.RankedTensorType(type_).rank
    block = ir.Block.create_at_start(op.regions[0], [index] * rank, [op.location] * rank)
    with ir.InsertionPoint(block):
        yield_([fill(list(block.arguments))])
    return op.result


def scatter(
    name: str,
    type_: ir.Type,
    sizes: Sequence[ir.Value],
    box: Sequence[ir.Value],
    fill: Callable[[list[ir.Value]], list[ir.Value]],
) -> ir.Value:
    """`te.scatter`; `fill` gives, for a point of the box, whether to add, what and where."""
    attributes = {LABEL: ir.StringAttr.get(name)}
    op = ir.Operation.create(_SCATTER, [type_], [*sizes, *box], attributes, regions=1)
    index = ir.IndexType.get()
    block = ir.Block.create_at_start(op.regions[0], [index] * len(box), [op.location] * len(box))
    with ir.InsertionPoint(block):
        ir.Operation.create(PutOp.OPERATION_NAME, [], fill(list(block.arguments)))
    return op.result


Fill = Callable[[list[ir.Value]], Sequence[ir.Value]]


def scan(
    name: str, type_: ir.Type, sizes: Sequence[ir.Value], states: int, first: Fill, step: Fill
) -> ir.Value:
    """`te.scan`; `first` gives the states for some indices of the box, `step` the next ones for a
    number, indices and states."""
    attributes = {
        LABEL: ir.StringAttr.get(name),
        "states": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), states),
    }
    op = ir.Operation.create(_SCAN, [type_], list(sizes), attributes, regions=2)
    tensor, index = ir.RankedTensorType(type_), ir.IndexType.get()
    box = tensor.rank - 1 - (states > 1)
    inputs: list[list[ir.Type]] = [[index] * box, [index] * (box + 1)]
    inputs[1] += [tensor.element_type] * states
    for region, types, fill in zip(op.regions, inputs, (first, step)):
        block = ir.Block.create_at_start(region, types, [op.location] * len(types))
        with ir.InsertionPoint(block):
            yield_(fill(list(block.arguments)))
    return op.result


def yield_(values: Sequence[ir.Value]) -> None:
    """`te.yield`."""
    ir.Operation.create(YieldOp.OPERATION_NAME, [], list(values))


def _problem_of_sizes(op: ir.Operation, more: int = 0) -> str | None:
    if not isinstance(op.results[0].type, ir.RankedTensorType):
        return f"a result of type {op.results[0].type}, expected a ranked tensor"
    type_ = ir.RankedTensorType(op.results[0].type)
    unknown = sum(type_.is_dynamic_dim(axis) for axis in range(type_.rank))
    if len(op.operands) != unknown + more:
        return f"{len(op.operands)} sizes, expected {unknown + more}"
    if any(not isinstance(value.type, ir.IndexType) for value in op.operands):
        return "sizes are of type index"
    return None


def problem_of_region(
    op: ir.Operation, inputs: Sequence[ir.Type], outputs: Sequence[ir.Type], number: int = 0
) -> str | None:
    """Return what is wrong with a region of an op, which takes and returns values of some types."""
    if len(op.regions[number].blocks) != 1:
        return f"'{op.name}' holds {len(op.regions[number].blocks)} blocks, expected one"
    block = op.regions[number].blocks[0]
    ops = list(block.operations)
    end = PutOp if op.name == _SCATTER else YieldOp
    if not ops or not end.holds(ops[-1].operation):
        return f"the region of '{op.name}' ends in no '{end.OPERATION_NAME}'"
    for what, types, expected in (
        ("takes", [value.type for value in block.arguments], inputs),
        ("gives", [value.type for value in ops[-1].operation.operands], outputs),
    ):
        if list(types) != list(expected):
            actual, demanded = (", ".join(map(str, listed)) for listed in (types, expected))
            return f"the region of '{op.name}' {what} ({actual}), expected ({demanded})"
    return None


def _problem_of_compute(op: ir.Operation) -> str | None:
    type_ = ir.RankedTensorType(op.results[0].type)
    return problem_of_region(op, [ir.IndexType.get(op.context)] * type_.rank, [type_.element_type])


def _problem_of_scatter(op: ir.Operation) -> str | None:
    if len(op.regions[0].blocks) != 1:
        return f"'{op.name}' holds {len(op.regions[0].blocks)} blocks, expected one"
    index, box = ir.IndexType.get(op.context), len(op.regions[0].blocks[0].arguments)
    problem = _problem_of_sizes(op, box)
    if problem is not None:
        return problem
    type_ = ir.RankedTensorType(op.results[0].type)
    outputs = [
        ir.IntegerType.get_signless(1, op.context),
        type_.element_type,
        *[index] * type_.rank,
    ]
    return problem_of_region(op, [index] * box, outputs)


def _problem_of_scan(op: ir.Operation) -> str | None:
    states, problem = ScanOp(op).states.value, _problem_of_sizes(op)
    if problem is not None:
        return problem
    type_ = ir.RankedTensorType(op.results[0].type)
    box = type_.rank - 1 - (states > 1)
    if states < 1 or box < 0:
        return f"{states} states in {type_}"
    arguments = sum(len(block.arguments) for block in op.regions[1].blocks)
    if states > max(arguments, 1):  # maybe more than there is memory for
        return f"'{op.name}' has {states} states, and a step that takes {arguments} values"
    index, values = ir.IndexType.get(op.context), [type_.element_type] * states
    step = [index] * (box + 1) + values
    return problem_of_region(op, [index] * box, values) or problem_of_region(op, step, values, 1)
