"""Ops in the region of a definition: they read elements of tensors, and combine many."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from mlirad.bindings import ext, ir
from mlirad.dialect.te.definitions import Te, YieldOp, problem_of_region, yield_
from mlirad.dialect.view import NamedOp, View

Combine = Callable[[Sequence[ir.Value], Sequence[ir.Value]], Sequence[ir.Value]]


class ReduceKind(StrEnum):
    """The way in which a `te.reduce` combines values."""

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"
    ARGMAX = "argmax"
    ARGMIN = "argmin"
    CUSTOM = "custom"

    @property
    def is_position(self) -> bool:
        """Return whether the result is where a value is."""
        return self in (ReduceKind.ARGMAX, ReduceKind.ARGMIN)


class ReadOp(View, dialect=Te, name="read", traits=[ext.Pure]):
    """An element of a tensor. `%v = te.read %x[%i, %j] : tensor<4x3xf32>`"""

    tensor: ext.Operand[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]
    value: ext.Result[Any]

    def problem(self) -> str | None:
        return _problem_of_read(self.operation)


class ReduceOp(View, dialect=Te, name="reduce", traits=[ext.Pure]):
    """Values combined over a box of indices, first to last, starting with the initial values.

    Operands are the first index and the index after the last, axis by axis, then the initial
    values, all of the same type. The first region yields the values for given indices. The second
    combines two groups: the values so far, and the next. `kind` names what the second region
    computes; a `custom` one is associative. `argmax` and `argmin` have no initial values and no
    second region: the first region yields a number, and the result is the position of the first
    maximum or minimum among the points of the box, as an i32, or -1 if the box is empty.

    `%s = te.reduce sum [%low, %high] init(%zero) : f32 {^bb0(%k: index): ...},
    {^bb0(%a: f32, %b: f32): ...}`
    """

    bounds: Sequence[ext.Operand[ir.IndexType]]
    initial: Sequence[ext.Operand[Any]]
    values: Sequence[ext.Result[Any]]
    kind: ir.StringAttr
    body: ext.Region
    combiner: ext.Region

    def problem(self) -> str | None:
        return _problem_of_reduce(self.operation)


_DERIVATIVE = "te.derivative"
_READ, _REDUCE = ReadOp.OPERATION_NAME, ReduceOp.OPERATION_NAME


def is_read(op: NamedOp) -> bool:
    """Return whether an op reads an element of a tensor."""
    return op.name == _READ


def reduce_kind(op: ir.Operation) -> ReduceKind:
    """Return how an op combines values."""
    return ReduceKind(ReduceOp(op).kind.value)


def is_reduce(op: NamedOp) -> bool:
    """Return whether an op combines values over a range of an index."""
    return op.name == _REDUCE


def read(tensor: ir.Value, indices: Sequence[ir.Value]) -> ir.Value:
    """`te.read`."""
    type_ = ir.RankedTensorType(tensor.type).element_type
    return ir.Operation.create(_READ, [type_], [tensor, *indices]).result


def mark_derivative(op: ir.Operation) -> None:
    """Say of a sum or a product that it is one of derivatives: 0 times anything is 0 there."""
    op.attributes[_DERIVATIVE] = ir.UnitAttr.get()


def is_derivative(op: ir.Operation) -> bool:
    """Return whether that was said."""
    return _DERIVATIVE in op.attributes


def unmark_derivative(op: ir.Operation) -> None:
    """Say it no longer."""
    if is_derivative(op):
        del op.attributes[_DERIVATIVE]


def reduction_axes(op: ir.Operation) -> int:
    """Over how many indices a reduction goes."""
    return len(op.regions[0].blocks[0].arguments)


def bounds_of(op: ir.Operation) -> list[tuple[ir.Value, ir.Value]]:
    """The first index of each axis of a reduction, and the one behind the last."""
    bounds = list(op.operands)[: 2 * reduction_axes(op)]
    return list(zip(bounds[::2], bounds[1::2]))


def initial_of(op: ir.Operation) -> list[ir.Value]:
    """Return the initial values of a reduction."""
    return list(op.operands)[2 * reduction_axes(op) :]


def reduce(
    kind: str,
    bounds: Sequence[tuple[ir.Value, ir.Value]],
    initial: Sequence[ir.Value],
    fill: Callable[[list[ir.Value]], Sequence[ir.Value]],
    combine: Combine | None,
) -> list[ir.Value]:
    """`te.reduce`; `fill` makes the values for some indices, `combine` those of two groups of them.

    Of `argmax` and `argmin` there are no initial values, and nothing to `combine`.
    """
    types = [value.type for value in initial] or [ir.IntegerType.get_signless(32)]
    operands = [*(end for pair in bounds for end in pair), *initial]
    attributes = {
        "kind": ir.StringAttr.get(kind),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([2 * len(bounds), len(initial)]),
    }
    op = ir.Operation.create(_REDUCE, types, operands, attributes, regions=2)
    indices, places = [ir.IndexType.get()] * len(bounds), [op.location] * len(bounds)
    body = ir.Block.create_at_start(op.regions[0], indices, places)
    with ir.InsertionPoint(body):
        yield_(fill(list(body.arguments)))
    if combine is not None:
        count = len(types)
        block = ir.Block.create_at_start(op.regions[1], types * 2, [op.location] * (2 * count))
        with ir.InsertionPoint(block):
            values = list(block.arguments)
            yield_(combine(values[:count], values[count:]))
    return list(op.results)


def _problem_of_read(op: ir.Operation) -> str | None:
    if not isinstance(op.operands[0].type, ir.RankedTensorType):
        return f"reads {op.operands[0].type}, expected a ranked tensor"
    type_ = ir.RankedTensorType(op.operands[0].type)
    if len(op.operands) - 1 != type_.rank:
        return f"{len(op.operands) - 1} indices for a tensor of rank {type_.rank}"
    if any(not isinstance(value.type, ir.IndexType) for value in list(op.operands)[1:]):
        return "indices are of type index"
    if op.results[0].type != type_.element_type:
        return f"a value of type {op.results[0].type} from {type_}"
    return None


def _problem_of_reduce(op: ir.Operation) -> str | None:
    kind, types = ReduceOp(op).kind.value, [value.type for value in op.results]
    if kind not in list(ReduceKind):
        return f"unknown kind '{kind}', expected one of {', '.join(ReduceKind)}"
    bounds, initial = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    index = ir.IndexType.get(op.context)
    if ReduceKind(kind).is_position:
        return _problem_of_position(op, bounds, initial)
    initial_values = [value.type for value in list(op.operands)[bounds:]]
    if initial_values != types or not types:
        return f"{initial} initial values for {len(types)} results, expected as many of a type"
    problem = problem_of_region(op, [index] * (bounds // 2), types)
    if problem is not None or len(op.regions[1].blocks) != 1:
        return problem or "'te.reduce' has no combiner"
    block = op.regions[1].blocks[0]
    ops = list(block.operations)
    inputs = [value.type for value in block.arguments]
    if inputs != types * 2 or not ops or not YieldOp.holds(ops[-1].operation):
        return f"the combiner takes ({', '.join(map(str, inputs))}), expected two of each result"
    if [value.type for value in ops[-1].operation.operands] != types:
        return "the combiner gives other types than the results'"
    return None


def _problem_of_position(op: ir.Operation, bounds: int, initial: int) -> str | None:
    kind, types = ReduceOp(op).kind.value, [str(value.type) for value in op.results]
    if initial or len(op.regions[1].blocks):
        return f"'{kind}' has neither initial values nor a combiner"
    if types != ["i32"]:
        return f"'{kind}' gives ({', '.join(types)}), expected (i32)"
    block = op.regions[0].blocks[0] if len(op.regions[0].blocks) else None
    outputs = (
        [] if block is None else [v.type for v in list(block.operations)[-1].operation.operands]
    )
    if len(outputs) != 1:
        return f"the region of '{kind}' gives {len(outputs)} values, expected one"
    return problem_of_region(op, [ir.IndexType.get(op.context)] * (bounds // 2), outputs)
