"""The module in which tensors are defined: one a process, from which `te.build` takes what it
needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any
from weakref import ref

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.te import SizeOp, size
from mlirad.dialect.turn import compiling, in_turn
from mlirad.errors import SourceLocation
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.walk import block_operations, captured_values, constant_integer, owner_operation
from mlirad.te.emission import dtype_of_type, integer_value
from mlirad.te.expressions import Expr, Extent, Size, arithmetic
from mlirad.te.places import location, place
from mlirad.te.tensor import Tensor

NUMBERS = {
    Arith.ADDI: "add",
    Arith.SUBI: "sub",
    Arith.MULI: "mul",
    Arith.FLOORDIVSI: "floordiv",
    Arith.MAXSI: "max",
    Arith.MINSI: "min",
}


_LEAST = 256  # tensors: so many more than are needed are kept

# the tensors that an operator was given, and its gradient
OwnGradient = tuple[Sequence[ir.Value], Callable[..., Any]]


class Graph:
    """Definitions in the order in which they were made, as long as the program holds a tensor that
    is made of them."""

    def __init__(self) -> None:
        with context(), ir.Location.unknown():
            self.module = ir.Module.create()
        self._described: dict[ir.Value, Tensor] = {}  # what a definition is
        self._held: dict[ir.Value, ref[Tensor]] = {}  # by the program, if it still is
        self._gradients: dict[ir.Value, OwnGradient] = {}
        self.needs: dict[ir.Value, tuple[Any, ...]] = {}  # the `SizeNeed`s of a definition
        self._sizes: dict[Size, ir.Value] = {}
        self._constants: dict[int, ir.Value] = {}
        self._most = _LEAST

    @property
    def count(self) -> int:
        """The number of tensors."""
        return len(self._described)

    @in_turn
    def collect(self) -> None:
        """Erase what no tensor needs that the program holds.

        What is being made has to be held, too: the value of a definition does not count.
        """
        roots = [value for value, tensor in self._held.items() if tensor() is not None]
        more = {value: inputs for value, (inputs, _) in self._gradients.items()}
        needed = _reachable_ops([*roots, *self._constants.values()], more)
        for table in (self._described, self._held, self._gradients, self.needs):
            for value in [key for key in table if owner_operation(key) not in needed]:
                del table[value]
        self._sizes = {k: v for k, v in self._sizes.items() if owner_operation(v) in needed}
        for op in reversed(block_operations(self.module.body)):
            if op not in needed:
                op.erase()
        self._most = max(_LEAST, 2 * self.count)

    def begin(self) -> None:
        """Prepare for a definition: now and then, erase what is not needed."""
        if self.count > self._most:
            self.collect()

    @contextmanager
    def defining(self, at: SourceLocation) -> Iterator[None]:
        """Add definitions, which a place of the program makes."""
        with compiling, context(), location(at), ir.InsertionPoint(self.module.body):
            yield

    def add_tensor(self, tensor: Tensor) -> Tensor:
        """A tensor that is found by its definition from now on."""
        self._described[tensor.value] = replace(tensor)
        self._held[tensor.value] = ref(tensor)
        return tensor

    def find_tensor(self, value: ir.Value) -> Tensor | None:
        """The tensor of a definition, if it is one's: that which the program holds, or another."""
        reference = self._held.get(value)
        tensor = None if reference is None else reference()
        if tensor is None and value in self._described:
            tensor = replace(self._described[value])
            self._held[value] = ref(tensor)
        return tensor

    def tensor(self, value: ir.Value) -> Tensor:
        """The tensor of a definition: one that passes have made gets a name here."""
        return self.find_tensor(value) or self._made_by_passes(value)

    def _made_by_passes(self, value: ir.Value) -> Tensor:
        type_ = ir.RankedTensorType(value.type)
        sizes = iter(owner_operation(value).operands)
        shape = tuple(
            self._extent_of(next(sizes)) if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
            for axis in range(type_.rank)
        )
        label = ir.StringAttr(owner_operation(value).attributes["label"]).value
        dtype = dtype_of_type(type_.element_type)
        return self.add_tensor(Tensor(value, shape, dtype, label, place()))

    def give_gradient(
        self, tensor: Tensor, inputs: Sequence[Tensor], f: Callable[..., Any]
    ) -> None:
        """Let the adjoint of a tensor go to some others by a function."""
        self._gradients[tensor.value] = [tensor.value for tensor in inputs], f

    def gradient(self, tensor: Tensor) -> tuple[list[Tensor], Callable[..., Any]] | None:
        """Return the inputs and the function of a tensor's own gradient, if it has one."""
        if tensor.value not in self._gradients:
            return None
        inputs, function = self._gradients[tensor.value]
        return [self.tensor(value) for value in inputs], function

    def _extent_of(self, value: ir.Value) -> Extent:
        """A size in IR as an expression."""
        constant = constant_integer(value)
        if constant is not None:
            return constant
        op = owner_operation(value)
        if SizeOp.holds(op):
            return next(size for size, definition in self._sizes.items() if definition == value)
        if op.name == Arith.SELECT:  # of a divisor that may be 0
            return self._extent_of(op.operands[2])
        operands = [self._extent_of(operand) for operand in op.operands]
        return arithmetic(NUMBERS[op.name], *operands)

    def extent(self, extent: Extent) -> ir.Value:
        """An extent, at the insertion point."""
        if isinstance(extent, int):
            return self._constant(extent)
        return integer_value(extent, self._size, self._constant)

    def sizes(self, shape: tuple[Extent, ...]) -> list[ir.Value]:
        """The extents of a shape that a tensor's type does not say."""
        return [self.extent(extent) for extent in shape if isinstance(extent, Expr)]

    def _constant(self, value: int) -> ir.Value:
        if value not in self._constants:
            with ir.InsertionPoint.at_block_begin(self.module.body):
                self._constants[value] = b.index(value)
        return self._constants[value]

    def _size(self, size_: Size) -> ir.Value:
        if size_ not in self._sizes:
            with ir.InsertionPoint.at_block_begin(self.module.body):
                self._sizes[size_] = size(size_.name)
        return self._sizes[size_]


@in_turn
@cache
def graph() -> Graph:
    """The process' one."""
    return Graph()


def _reachable_ops(
    roots: Sequence[ir.Value], more: Mapping[ir.Value, Sequence[ir.Value]]
) -> set[ir.Operation]:
    """The ops that some values are made of; `more` are those that one needs besides."""
    reached_ops: set[ir.Operation] = set()
    pending = list(roots)
    while pending:
        op = owner_operation(pending.pop())
        if op not in reached_ops:
            reached_ops.add(op)
            pending += [*op.operands, *(captured_values(op) if len(op.regions) else [])]
            pending += [source for result in op.results for source in more.get(result, ())]
    return reached_ops
