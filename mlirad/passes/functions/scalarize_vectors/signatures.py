"""Functions that take or give vectors, and their calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Func
from mlirad.ir.requirements import is_private, refuse, symbol_of
from mlirad.ir.walk import at_start, attributes_of, entry_of, operations
from mlirad.passes.functions.scalarize_vectors.carrying import split_arguments
from mlirad.passes.functions.scalarize_vectors.elements import (
    Scalars,
    Vectors,
    flat_types,
    is_vector,
    positions,
    shape_of,
)

ARGUMENT, RESULT = "field.vector_argument", "field.vector_result"
Functions: TypeAlias = Mapping[str, ir.Operation]
Types: TypeAlias = Sequence[ir.Type]


def function_types(function: ir.Operation) -> tuple[Types, Types]:
    """Return the types of the arguments and the results of a function."""
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    return type_.inputs, type_.results


def has_vectors(function: ir.Operation) -> bool:
    """Whether a function takes or gives vectors."""
    return any(map(is_vector, [type_ for types in function_types(function) for type_ in types]))


def privatize_callees(functions: dict[str, ir.Operation]) -> None:
    """Copy public functions of vectors that are called, so that calls pass elements."""
    callees: dict[str, str] = {}
    for op in [op for function in functions.values() for op in operations(function)]:
        if op.name != Func.CALL:
            continue
        name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        function = functions.get(name)
        if function is None or is_private(function) or not has_vectors(function):
            continue
        if name not in callees:
            callees[name] = _private_copy(function, functions)
    for op in [op for function in functions.values() for op in operations(function)]:
        if op.name == Func.CALL:
            name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
            op.attributes["callee"] = ir.FlatSymbolRefAttr.get(callees.get(name, name))


def _private_copy(function: ir.Operation, functions: dict[str, ir.Operation]) -> str:
    name = f"{symbol_of(function)}.elements"
    while name in functions:
        name += "_"
    with ir.InsertionPoint.after(function):
        copy = function.clone()
    copy.attributes["sym_name"] = ir.StringAttr.get(name)
    copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
    functions[name] = copy
    return name


def split_signature(function: ir.Operation, vectors: Vectors) -> Scalars:
    """Have a function take elements, or memory if it is public; return the memory of its
    results."""
    inputs, results = function_types(function)
    if not len(function.regions[0].blocks):
        refuse(function, "a function without a body that takes or gives vectors")
    entry = entry_of(function)
    if is_private(function):
        split_arguments(entry, vectors)
        _set_types(function, flat_types(inputs), flat_types(results))
        _repeat_attributes(function, inputs, results)
        return []
    _read_arguments(entry, vectors)
    memory = [
        entry.add_argument(memory_of(type_), function.location)
        for type_ in results
        if is_vector(type_)
    ]
    types = [memory_of(type_) for type_ in inputs]
    scalars = [type_ for type_ in results if not is_vector(type_)]
    _set_types(function, [*types, *[value.type for value in memory]], scalars)
    _mark_memory(function, inputs, results)
    return list(memory)


def memory_of(type_: ir.Type) -> ir.Type:
    """Return the type of the memory that a vector is in; other types stay."""
    if not isinstance(type_, ir.VectorType):
        return type_
    return ir.MemRefType.get(type_.shape, type_.element_type)


def _set_types(function: ir.Operation, inputs: Types, results: Types) -> None:
    type_ = ir.FunctionType.get(list(inputs), list(results))
    function.attributes["function_type"] = ir.TypeAttr.get(type_)


def _read_arguments(entry: ir.Block, vectors: Vectors) -> None:
    arguments = list(entry.arguments)
    copies = [entry.add_argument(memory_of(a.type), a.location) for a in arguments]
    for argument, copy in zip(arguments, copies):
        if is_vector(argument.type):
            with at_start(entry, argument.location):
                vectors.bind(argument, _read_all(copy))
        else:
            argument.replace_all_uses_with(copy)
    vectors.blocks.append((entry, len(arguments)))


def _read_all(memory: ir.Value) -> Scalars:
    shape = ir.MemRefType(memory.type).shape
    return [b.read(memory, list(map(b.index, position))) for position in positions(shape)]


def _attributes(function: ir.Operation, name: str, number: int) -> list[ir.Attribute]:
    if name not in function.attributes:
        return [ir.DictAttr.get({})] * number
    return list(ir.ArrayAttr(function.attributes[name]))


def _repeat_attributes(function: ir.Operation, inputs: Types, results: Types) -> None:
    for name, types in (("arg_attrs", inputs), ("res_attrs", results)):
        if name in function.attributes:
            attributes = zip(_attributes(function, name, len(types)), types, strict=True)
            repeated = [entry for entry, type_ in attributes for _ in flat_types([type_])]
            function.attributes[name] = ir.ArrayAttr.get(repeated)


def _mark_memory(function: ir.Operation, inputs: Types, results: Types) -> None:
    entries = [
        _with(entry, ARGUMENT, ir.UnitAttr.get()) if is_vector(type_) else entry
        for entry, type_ in zip(_attributes(function, "arg_attrs", len(inputs)), inputs)
    ]
    scalar_entries = []
    for number, entry in enumerate(_attributes(function, "res_attrs", len(results))):
        if is_vector(results[number]):
            mark = ir.IntegerAttr.get(b.integer_type(64), number)
            entries.append(_with(ir.DictAttr.get({}), RESULT, mark))
        else:
            scalar_entries.append(entry)
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(entries)
    if "res_attrs" in function.attributes:
        function.attributes["res_attrs"] = ir.ArrayAttr.get(scalar_entries)


def _with(entry: ir.Attribute, name: str, value: ir.Attribute) -> ir.Attribute:
    entries = {named.name: named.attr for named in ir.DictAttr(entry)}
    return ir.DictAttr.get({**entries, name: value})


def return_elements(op: ir.Operation, vectors: Vectors, memory: Scalars) -> None:
    """Return elements, or write them to memory if there is any."""
    if not memory:
        b.return_(vectors.flatten(list(op.operands)))
        return
    targets = iter(memory)
    for operand in op.operands:
        if is_vector(operand.type):
            _write_all(vectors.of(operand), next(targets), shape_of(operand.type))
    b.return_([operand for operand in op.operands if not is_vector(operand.type)])


def _write_all(values: Scalars, memory: ir.Value, shape: Sequence[int]) -> None:
    for value, position in zip(values, positions(shape), strict=True):
        b.write(value, memory, list(map(b.index, position)))


def call_with_elements(op: ir.Operation, vectors: Vectors) -> Scalars:
    """Call a function with elements; it is private by now."""
    types = flat_types([result.type for result in op.results])
    operands = vectors.flatten(list(op.operands))
    return list(ir.Operation.create(op.name, types, operands, attributes_of(op)).results)
