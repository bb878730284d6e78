"""The definitions that stand for the values of a function, and what regions compute within them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mlirad.analysis.derivatives.differentiable import DECISIONS
from mlirad.analysis.rules.table import RULES
from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Linalg, Tensor
from mlirad.ir.structured import If, is_branch
from mlirad.ir.walk import (
    block_operations,
    captured_values,
    constant_float,
    copy_with,
    defining_op,
    entry_of,
    has_uses,
    owner_operation,
)

Fill = Callable[[list[ir.Value]], ir.Value]
_FLOATS = (ir.F16Type, ir.F32Type, ir.F64Type)


class Unraisable(Exception):
    """Something that is no definition of `te`."""


def is_number(type_: ir.Type) -> bool:
    """Return whether a type is one of the numbers that definitions compute with."""
    return isinstance(type_, (*_FLOATS, ir.IntegerType, ir.IndexType))


def tensor_type(type_: ir.Type) -> ir.RankedTensorType:
    """Return the type of the tensor that stands for a value. Raises Unraisable if there is none."""
    if isinstance(type_, ir.MemRefType) and _is_in_order(type_):
        return tensor_type(ir.RankedTensorType.get(type_.shape, type_.element_type))
    if isinstance(type_, ir.RankedTensorType):
        element = type_.element_type
        if type_.has_static_shape and is_number(element) and not isinstance(element, ir.IndexType):
            return type_
    elif isinstance(type_, _FLOATS):
        return ir.RankedTensorType.get([], type_)
    raise Unraisable


def _is_in_order(type_: ir.MemRefType) -> bool:
    """Return whether elements lie row by row, as those of an array."""
    return bool(type_.affine_map == ir.AffineMap.get_identity(type_.rank))


class Definitions:
    """The tensors that stand for values so far: for buffers, what they hold now. Of what holds
    anything, there is none."""

    def __init__(self, function: ir.Operation, arguments: Sequence[ir.Value]) -> None:
        self.entry = entry_of(function)
        self.constants: list[ir.Attribute] = []  # the values of those that are arguments
        self._contents: dict[ir.Value, ir.Attribute] = {}
        self._arguments: list[ir.Value] = list(arguments)
        self._initial: list[ir.Value] = list(self.entry.arguments)
        self._tensors: dict[ir.Value, ir.Value] = dict(zip(self._arguments, self._initial))

    def define(self, value: ir.Value, fill: Fill, origin: str) -> None:
        """Define a value, by the name of an operation: `fill` gives an element for its indices."""
        label = origin.rpartition(".")[2]
        self._tensors[value] = te.compute(label, tensor_type(value.type), [], fill)

    def written(self) -> dict[int, ir.Value]:
        """Return what arguments that are buffers hold at the end, by their numbers. Raises
        Unraisable if that is made of what one held."""
        pairs = zip(self._arguments, self._initial)
        tensors = [(self._tensors[argument], initial) for argument, initial in pairs]
        changed = {k: now for k, (now, initial) in enumerate(tensors) if now != initial}
        for number in changed:
            initial = self._initial[number]
            if has_uses(initial) or initial in changed.values():
                raise Unraisable
        return changed

    def let(self, value: ir.Value, tensor: ir.Value) -> None:
        """Have a tensor stand for a value."""
        self._tensors[value] = tensor

    def define_constant(self, value: ir.Value, content: ir.Attribute) -> None:
        """Have one more argument stand for a value that is known, if that is used."""
        self._contents[value] = content

    def tensor(self, value: ir.Value) -> ir.Value:
        """Return the tensor of a value. Raises Unraisable if it may hold anything."""
        if value in self._contents:
            self.constants.append(self._contents.pop(value))
            place = owner_operation(value).location
            self._tensors[value] = self.entry.add_argument(tensor_type(value.type), place)
        if value not in self._tensors:
            raise Unraisable
        return self._tensors[value]

    def result(self, value: ir.Value) -> ir.Value:
        """Return the tensor of a value that the function gives."""
        if is_number(value.type) and value not in self._tensors:
            self.define(value, lambda indices: self.number(value), "constant")
        return self.tensor(value)

    def number(self, value: ir.Value) -> ir.Value:
        """Return a number, within a region."""
        op = defining_op(value)
        if op is not None and op.name == Arith.CONSTANT and is_number(value.type):
            return copy_with(op, []).results[0]
        return te.read(self.tensor(value), [])

    def constant(self, value: ir.Value) -> float | None:
        """Return the number that all elements of a value are known to be, or None."""
        op = defining_op(self.tensor(value))
        if op is None or not te.ComputeOp.holds(op):
            return None
        return constant_float(block_operations(te.body_of(op))[-1].operands[0])


class Region:
    """Emits what a region computes: `values` stand for its arguments, `indices` are those of a
    `linalg` operation."""

    def __init__(
        self,
        definitions: Definitions,
        values: Mapping[ir.Value, ir.Value],
        indices: Sequence[ir.Value] = (),
    ) -> None:
        self.definitions, self.indices = definitions, indices
        self._values = dict(values)

    def value(self, value: ir.Value) -> ir.Value:
        """Return what stands for a value of the region, or of those around it."""
        if value not in self._values:
            self._values[value] = self.definitions.number(value)
        return self._values[value]

    def result(self, block: ir.Block, value: ir.Value) -> ir.Value:
        """Emit what a value of a block needs; what stands for it."""
        for op in needed_by(block, value):
            self._emit(op)
        return self.value(value)

    def _emit(self, op: ir.Operation) -> None:
        with op.location:
            if op.name == Linalg.INDEX:
                self._values[op.results[0]] = self.indices[
                    ir.IntegerAttr(op.attributes["dim"]).value
                ]
            elif op.name == Tensor.EXTRACT:
                tensor, *indices = op.operands
                at = [self.value(index) for index in indices]
                self._values[op.results[0]] = te.read(self.definitions.tensor(tensor), at)
            elif is_branch(op):
                self._branch(op)
            elif computes_number(op):
                copy = copy_with(op, [self.value(operand) for operand in op.operands])
                self._values[op.results[0]] = copy.results[0]
            else:
                raise Unraisable

    def _branch(self, op: ir.Operation) -> None:
        branch = b.if_else(self.value(op.operands[0]), [result.type for result in op.results])
        for target, source in ((branch.then, If(op).then), (branch.otherwise, If(op).otherwise)):
            inner = Region(self.definitions, self._values, self.indices)
            with ir.InsertionPoint(target):
                *ops, end = block_operations(source)
                for child in ops:
                    inner._emit(child)
                b.yield_([inner.value(value) for value in end.operands])
        self._values.update(zip(op.results, branch.results))


def needed_by(block: ir.Block, value: ir.Value) -> list[ir.Operation]:
    """Return the operations of a block that a value is made of, in their order."""
    needed, ops = {value}, list[ir.Operation]()
    for op in reversed(block_operations(block)[:-1]):
        if any(result in needed for result in op.results):
            ops.insert(0, op)
            needed |= {*op.operands, *(captured_values(op) if len(op.regions) else ())}
    return ops


def computes_number(op: ir.Operation) -> bool:
    """Return whether an operation computes a number from others, with a derivative if it has to
    have one."""
    if len(op.regions) or len(op.results) != 1 or op.name.split(".")[0] not in ("arith", "math"):
        return False
    result, *operands = [value.type for value in (*op.results, *op.operands)]
    if not all(map(is_number, (result, *operands))):
        return False
    if not any(isinstance(type_, _FLOATS) for type_ in operands):
        return True
    return op.name in (RULES if isinstance(result, _FLOATS) else DECISIONS)
