"""Make functions over tensors definitions of `te`, whose adjoints are gathered and have tiles.

A function is raised if all that it does is a definition: `linalg.generic` whose body computes
numbers, and combines them by a sum, a product, a maximum or a minimum if it reduces; `tensor`
operations that give elements by their indices; `linalg.softmax`; numbers. All others stay as they
are: so named operations are to be generalized first, calls inlined and arithmetic on tensors made
`linalg.generic`. Extents are those of types.

A raised function takes a tensor for each argument, one of no axes for a number, then one for each
constant with several values, and gives a tensor for each result. Arguments say what they stand for
as in `raise-memrefs-to-arrays`; a constant has its value beside it:

    field.role = ["argument", 0]
    field.role = ["constant"], field.value = dense<[1.0, 2.0]> : tensor<2xf64>
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.roles import ROLE, VALUE, Role
from mlirad.ir.ops import Func
from mlirad.ir.requirements import is_private
from mlirad.ir.signature import label_parameters
from mlirad.ir.walk import block_operations, entry_of, functions
from mlirad.passes.functions.raise_linalg_to_te.definitions import (
    Definitions,
    Unraisable,
    tensor_type,
)
from mlirad.passes.functions.raise_linalg_to_te.op_definitions import define


def raise_linalg_to_te(module: ir.Operation) -> None:
    """Make functions that are nothing but definitions of tensors such of `te`."""
    for function in functions(module):
        if not is_private(function) and len(function.regions[0].blocks) == 1:
            _raise(function)


def _raise(function: ir.Operation) -> None:
    """Put a function of definitions in the place of one, if there is such."""
    old = entry_of(function)
    *ops, end = block_operations(old)
    try:
        inputs = [tensor_type(argument.type) for argument in old.arguments]
        results = [tensor_type(value.type) for value in end.operands]
    except Unraisable:
        return
    if end.name != Func.RETURN or not any(type_.rank for type_ in (*inputs, *results)):
        return
    raised = b.function_like(function, inputs, results, {"arg_attrs": ir.ArrayAttr.get([])})
    definitions = Definitions(raised, old.arguments)
    try:
        with ir.InsertionPoint(entry_of(raised)):
            for op in ops:
                with op.location:
                    define(op, definitions)
            with end.location:
                b.return_([definitions.result(value) for value in end.operands])
    except Unraisable:
        raised.erase()
        return
    _sign(raised, definitions, len(inputs))
    function.erase()


def _sign(function: ir.Operation, definitions: Definitions, count: int) -> None:
    """Say what the arguments are, behind so many of the old function's."""
    arguments = entry_of(function).arguments
    results = block_operations(entry_of(function))[-1].operands
    types = ir.FunctionType.get([v.type for v in arguments], [v.type for v in results])
    function.attributes["function_type"] = ir.TypeAttr.get(types)
    i64 = b.integer_type(64)
    labels: list[dict[str, ir.Attribute]] = [
        {ROLE: _role(Role.ARGUMENT, ir.IntegerAttr.get(i64, number))} for number in range(count)
    ]
    labels += [{ROLE: _role(Role.CONSTANT), VALUE: value} for value in definitions.constants]
    for name, attribute in label_parameters(labels).items():
        function.attributes[name] = attribute


def _role(role: Role, *source: ir.Attribute) -> ir.Attribute:
    return ir.ArrayAttr.get([ir.StringAttr.get(role), *source])
