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
from mlirad.ir.walk import before, block_operations, captured, entry_of, functions
from mlirad.sweeps.tensors.definition import extents, type_with
from mlirad.sweeps.tensors.te_adjoints import add_tensors, adjoint

MARK = "te.adjoints"


def _marked(root: ir.Operation) -> None:
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
            shape, own = (ir.RankedTensorType(t) for t in (end.operands[0].type, types[-1]))
            if own.shape[own.rank - shape.rank :] != shape.shape:
                refuse(function, f"a head of type {own} for {shape}")


REQUIRES = (*TENSORS, _marked)


def differentiate_te(root: ir.Operation) -> None:
    """Replace functions marked by te.adjoints by the adjoints of what they take."""
    for function in functions(root):
        if MARK in function.attributes:
            _differentiate(function, _mark_of(function))


class _Mark(NamedTuple):
    inputs: list[int]
    head: int


def _mark_of(function: ir.Operation) -> _Mark:
    found = function.attributes[MARK]
    if not isinstance(found, ir.DictAttr) or any(name not in found for name in ("inputs", "head")):
        refuse(function, f"'{MARK}' is {found}, expected inputs and head")
    inputs, head = (ir.DictAttr(found)[name] for name in ("inputs", "head"))
    listed = list(ir.ArrayAttr(inputs)) if isinstance(inputs, ir.ArrayAttr) else [inputs]
    if not all(isinstance(one, ir.IntegerAttr) for one in (*listed, head)):
        refuse(function, f"'{MARK}' is {found}, expected numbers of arguments")
    return _Mark([ir.IntegerAttr(one).value for one in listed], ir.IntegerAttr(head).value)


def _differentiate(function: ir.Operation, mark: _Mark) -> None:
    entry = entry_of(function)
    *ops, end = block_operations(entry)
    inputs = [entry.arguments[number] for number in mark.inputs]
    head = entry.arguments[mark.head]
    with before(end):
        found = _adjoints(ops, end.operands[0], head, set(inputs))
        given = [
            found[one] if one in found else _zeros(one, end.operands[0], head) for one in inputs
        ]
        b.return_(given)
    end.erase()
    taken = [argument.type for argument in entry.arguments]
    type_ = ir.FunctionType.get(taken, [value.type for value in given])
    function.attributes["function_type"] = ir.TypeAttr.get(type_)
    del function.attributes[MARK]


def _adjoints(
    ops: list[ir.Operation], output: ir.Value, head: ir.Value, inputs: set[ir.Value]
) -> dict[ir.Value, ir.Value]:
    """The adjoints of all tensors between some inputs and an output."""
    found, reaching = {output: head}, set(inputs)
    for op in ops:
        if te.defines_tensor(op) and any(value in reaching for value in captured(op)):
            reaching.add(op.results[0])
    for op in reversed(ops):
        if not te.defines_tensor(op) or op.results[0] not in found:
            continue
        own = found[op.results[0]]
        for source in [value for value in captured(op) if value in reaching]:
            summand = adjoint(op.results[0], source, own)
            if summand is not None:
                known = found.get(source)
                found[source] = summand if known is None else add_tensors(known, summand)
    return found


def _zeros(tensor: ir.Value, output: ir.Value, head: ir.Value) -> ir.Value:
    """The adjoint of what the output does not depend on."""
    prefix = ir.RankedTensorType(head.type).rank - ir.RankedTensorType(output.type).rank
    element = ir.RankedTensorType(tensor.type).element_type
    type_, sizes = type_with([*extents(head)[:prefix], *extents(tensor)], element)
    return te.compute("zeros", type_, sizes, lambda indices: b.number(0.0, element))
