"""Functions that take or give values that are split, and their calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TypeAlias

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.roles import returned_results
from mlirad.ir.ops import Func
from mlirad.ir.requirements import is_private, refuse, symbol_of
from mlirad.ir.signature import parameter_attributes
from mlirad.ir.split_values.carrying import split_arguments
from mlirad.ir.split_values.scalars import Kind, Scalars, SplitValues
from mlirad.ir.walk import at_start, attributes_of, entry_of, operations

Types: TypeAlias = Sequence[ir.Type]


def function_types(function: ir.Operation) -> tuple[Types, Types]:
    """Return the types of the arguments and the results of a function."""
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    return type_.inputs, type_.results


def is_split(function: ir.Operation, kind: Kind) -> bool:
    """Return whether a function takes or gives values that are split."""
    return any(kind.is_split(type_) for types in function_types(function) for type_ in types)


def require_body(function: ir.Operation, kind: Kind) -> None:
    """Refuse a function that is defined elsewhere, for values of other types."""
    if not len(function.regions[0].blocks):
        refuse(function, f"a function without a body that takes or gives {kind.noun}")


def privatize_callees(functions: dict[str, ir.Operation], kind: Kind) -> None:
    """Copy public functions of such values that are called, so that calls pass scalars."""
    callees: dict[str, str] = {}
    for op in [op for function in functions.values() for op in operations(function)]:
        if op.name != Func.CALL:
            continue
        name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        function = functions.get(name)
        if function is None or is_private(function) or not is_split(function, kind):
            continue
        if name not in callees:
            callees[name] = _private_copy(function, functions)
    for op in [op for function in functions.values() for op in operations(function)]:
        if op.name == Func.CALL:
            name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
            op.attributes["callee"] = ir.FlatSymbolRefAttr.get(callees.get(name, name))


def _private_copy(function: ir.Operation, functions: dict[str, ir.Operation]) -> str:
    name = f"{symbol_of(function)}.scalars"
    while name in functions:
        name += "_"
    with ir.InsertionPoint.after(function):
        copy = function.clone()
    copy.attributes["sym_name"] = ir.StringAttr.get(name)
    copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
    functions[name] = copy
    return name


def split_signature(function: ir.Operation, split: SplitValues) -> Scalars:
    """Have a function take scalars, or memory if it is public; return the memory of its
    results."""
    kind, (inputs, results) = split.kind, function_types(function)
    entry = entry_of(function)
    if is_private(function):
        split_arguments(entry, split)
        _set_types(function, kind.flat_types(inputs), kind.flat_types(results))
        _repeat_attributes(function, inputs, results, kind)
        return []
    _read_arguments(entry, split)
    memory = [
        entry.add_argument(kind.memory(type_), function.location)
        for type_ in results
        if kind.is_split(type_)
    ]
    types = [_passed(type_, kind) for type_ in inputs]
    scalars = [type_ for type_ in results if not kind.is_split(type_)]
    _set_types(function, [*types, *[value.type for value in memory]], scalars)
    _mark_memory(function, inputs, results, kind)
    return list(memory)


def _passed(type_: ir.Type, kind: Kind) -> ir.Type:
    return kind.memory(type_) if kind.is_split(type_) else type_


def _set_types(function: ir.Operation, inputs: Types, results: Types) -> None:
    type_ = ir.FunctionType.get(list(inputs), list(results))
    function.attributes["function_type"] = ir.TypeAttr.get(type_)


def _read_arguments(entry: ir.Block, split: SplitValues) -> None:
    arguments = list(entry.arguments)
    copies = [entry.add_argument(_passed(a.type, split.kind), a.location) for a in arguments]
    for argument, copy in zip(arguments, copies):
        if split.kind.is_split(argument.type):
            with at_start(entry, argument.location):
                split.bind(argument, _read_all(copy))
        else:
            argument.replace_all_uses_with(copy)
    split.blocks.append((entry, len(arguments)))


def _read_all(memory: ir.Value) -> Scalars:
    shape = ir.MemRefType(memory.type).shape
    return [b.read(memory, list(map(b.index, position))) for position in _positions(shape)]


def _positions(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return product(*map(range, shape))


def _attributes(function: ir.Operation, name: str, number: int) -> list[ir.Attribute]:
    if name not in function.attributes:
        return [ir.DictAttr.get({})] * number
    return list(ir.ArrayAttr(function.attributes[name]))


def _repeat_attributes(function: ir.Operation, inputs: Types, results: Types, kind: Kind) -> None:
    for name, types in (("arg_attrs", inputs), ("res_attrs", results)):
        if name in function.attributes:
            attributes = zip(_attributes(function, name, len(types)), types, strict=True)
            repeated = [entry for entry, type_ in attributes for _ in kind.flat_types([type_])]
            function.attributes[name] = ir.ArrayAttr.get(repeated)


def _mark_memory(function: ir.Operation, inputs: Types, results: Types, kind: Kind) -> None:
    entries = [
        _with(entry, kind.argument, ir.UnitAttr.get()) if kind.is_split(type_) else entry
        for entry, type_ in zip(_attributes(function, "arg_attrs", len(inputs)), inputs)
    ]
    scalar_entries = []
    numbers = returned_results(parameter_attributes(function))
    for number, type_, entry in zip(
        numbers, results, _attributes(function, "res_attrs", len(results))
    ):
        if kind.is_split(type_):
            mark = ir.IntegerAttr.get(b.integer_type(64), number)
            entries.append(_with(ir.DictAttr.get({}), kind.result, mark))
        else:
            scalar_entries.append(entry)
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(entries)
    if "res_attrs" in function.attributes:
        function.attributes["res_attrs"] = ir.ArrayAttr.get(scalar_entries)


def _with(entry: ir.Attribute, name: str, value: ir.Attribute) -> ir.Attribute:
    entries = {named.name: named.attr for named in ir.DictAttr(entry)}
    return ir.DictAttr.get({**entries, name: value})


def return_scalars(op: ir.Operation, split: SplitValues, memory: Scalars) -> None:
    """Return scalars, or write them to memory if there is any."""
    if not memory:
        b.return_(split.flatten(list(op.operands)))
        return
    targets, is_split = iter(memory), split.kind.is_split
    for operand in op.operands:
        if is_split(operand.type):
            _write_all(split.of(operand), next(targets))
    b.return_([operand for operand in op.operands if not is_split(operand.type)])


def _write_all(values: Scalars, memory: ir.Value) -> None:
    shape = ir.MemRefType(memory.type).shape
    for value, position in zip(values, _positions(shape), strict=True):
        b.write(value, memory, list(map(b.index, position)))


def call_with_scalars(op: ir.Operation, split: SplitValues) -> Scalars:
    """Call a function with scalars; it is private by now."""
    types = split.kind.flat_types([result.type for result in op.results])
    operands = split.flatten(list(op.operands))
    return list(ir.Operation.create(op.name, types, operands, attributes_of(op)).results)
