"""Functions of tensors to functions of their adjoints.

A function says by `te.adjoints = {inputs = [0, 1], head = 2}` that what it gives, one tensor, is to
be derived in those of its arguments whose numbers are `inputs`, and that the argument `head` is the
adjoint of what it gives, whose axes stand last. Definitions are in the form that the frontend
makes: an expression, or one reduction of one. Afterwards the function gives the adjoints of the
inputs, each made of definitions, and the mark is gone.
"""

from __future__ import annotations

from typing import NamedTuple

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.requirements import TENSORS, refuse
from mlirad.ir.signature import set_signature
from mlirad.ir.walk import before, block_operations, captured_values, entry_of, functions
from mlirad.sweeps.tensors.definition import extents, type_with
from mlirad.sweeps.tensors.te_adjoints import add_tensors, adjoint

MARK = "te.adjoints"


def _require_marks(root: ir.Operation) -> None:
    """Require marks that name arguments of the function, and types that fit."""
    for function in functions(root):
        if MARK in function.attributes:
            mark, entry = _mark_of(function), entry_of(function)
            numbers = [*mark.inputs, mark.head]
            if any(not 0 <= number < len(entry.arguments) for number in numbers):
                refuse(function, f"'{MARK}' names an argument that the function has not")
            (*_, end) = block_operations(entry)
            if len(end.operands) != 1:
                refuse(function, f"'{MARK}' of a function that gives {len(end.operands)} tensors")
            types = [entry.arguments[number].type for number in numbers]
            for type_ in (*types, end.operands[0].type):
                if not isinstance(type_, ir.RankedTensorType) or not b.is_float(
                    ir.RankedTensorType(type_).element_type
                ):
                    refuse(function, f"'{MARK}' with {type_}, expected tensors of floats")
            shape, head = (ir.RankedTensorType(t) for t in (end.operands[0].type, types[-1]))
            if head.shape[head.rank - shape.rank :] != shape.shape:
                refuse(function, f"a head of type {head} for {shape}")


REQUIRES = (*TENSORS, _require_marks)


def differentiate_te(root: ir.Operation) -> None:
    """Replace functions that te.adjoints marks by functions that compute the adjoints of their
    inputs."""
    for function in functions(root):
        if MARK in function.attributes:
            _differentiate(function, _mark_of(function))


class _Mark(NamedTuple):
    inputs: list[int]
    head: int


def _mark_of(function: ir.Operation) -> _Mark:
    mark = function.attributes[MARK]
    if not isinstance(mark, ir.DictAttr) or any(name not in mark for name in ("inputs", "head")):
        refuse(function, f"'{MARK}' is {mark}, expected inputs and head")
    inputs, head = (ir.DictAttr(mark)[name] for name in ("inputs", "head"))
    listed = list(ir.ArrayAttr(inputs)) if isinstance(inputs, ir.ArrayAttr) else [inputs]
    if not all(isinstance(entry, ir.IntegerAttr) for entry in (*listed, head)):
        refuse(function, f"'{MARK}' is {mark}, expected numbers of arguments")
    return _Mark([ir.IntegerAttr(entry).value for entry in listed], ir.IntegerAttr(head).value)


def _differentiate(function: ir.Operation, mark: _Mark) -> None:
    entry = entry_of(function)
    *ops, end = block_operations(entry)
    inputs = [entry.arguments[number] for number in mark.inputs]
    head = entry.arguments[mark.head]
    with before(end):
        adjoints = _adjoints(ops, end.operands[0], head, set(inputs))
        results = [
            adjoints[tensor] if tensor in adjoints else _zeros(tensor, end.operands[0], head)
            for tensor in inputs
        ]
        b.return_(results)
    end.erase()
    set_signature(function, [value.type for value in results])
    del function.attributes[MARK]


def _adjoints(
    ops: list[ir.Operation], output: ir.Value, head: ir.Value, inputs: set[ir.Value]
) -> dict[ir.Value, ir.Value]:
    """The adjoints of all tensors between some inputs and an output."""
    adjoints, reaching = {output: head}, set(inputs)
    for op in ops:
        if te.defines_tensor(op) and any(value in reaching for value in captured_values(op)):
            reaching.add(op.results[0])
    for op in reversed(ops):
        if not te.defines_tensor(op) or op.results[0] not in adjoints:
            continue
        output_adjoint = adjoints[op.results[0]]
        for source in [value for value in captured_values(op) if value in reaching]:
            summand = adjoint(op.results[0], source, output_adjoint)
            if summand is not None:
                sum_ = adjoints.get(source)
                adjoints[source] = summand if sum_ is None else add_tensors(sum_, summand)
    return adjoints


def _zeros(tensor: ir.Value, output: ir.Value, head: ir.Value) -> ir.Value:
    """The adjoint of what the output does not depend on."""
    prefix = ir.RankedTensorType(head.type).rank - ir.RankedTensorType(output.type).rank
    element = ir.RankedTensorType(tensor.type).element_type
    type_, sizes = type_with([*extents(head)[:prefix], *extents(tensor)], element)
    return te.compute("zeros", type_, sizes, lambda indices: b.number(0.0, element))
