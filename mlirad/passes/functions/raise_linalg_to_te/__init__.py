"""Make functions over tensors definitions of `te`, whose adjoints are gathered and have tiles.

A function is raised if all that it does is a definition: `linalg.generic`, on tensors or on buffers
that are arguments or allocations, whose body computes numbers, and combines them by a sum, a
product, a maximum or a minimum if it reduces; `tensor` operations that give elements by their
indices; `linalg.softmax`; numbers. All others stay as they are: so named operations are to be
generalized first, calls inlined and arithmetic on tensors made `linalg.generic`. Extents are those
of types.

A raised function takes a tensor for each argument, one of no axes for a number, then one for each
constant with several values, and gives a tensor for each result, then for each buffer that it
writes to: which holds nothing that it reads. Arguments and results say what they stand for as in
`raise-memrefs-to-arrays`; a constant has its value beside it:

    field.role = ["argument", 0]
    field.role = ["constant"], field.value = dense<[1.0, 2.0]> : tensor<2xf64>
"""

from __future__ import annotations

from collections.abc import Sequence

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
    """Turn functions that only define tensors into functions of `te`."""
    for function in functions(module):
        if not is_private(function) and len(function.regions[0].blocks) == 1:
            with function.location:
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
    is_memory = any(isinstance(value.type, ir.MemRefType) for value in end.operands)
    if end.name != Func.RETURN or is_memory or not any(t.rank for t in (*inputs, *results)):
        return
    raised = b.function_like(function, inputs, results, {"arg_attrs": ir.ArrayAttr.get([])})
    definitions = Definitions(raised, old.arguments)
    try:
        with ir.InsertionPoint(entry_of(raised)):
            for op in ops:
                with op.location:
                    define(op, definitions)
            with end.location:
                tensors = [definitions.result(value) for value in end.operands]
                written = definitions.written()
                b.return_([*tensors, *written.values()])
    except Unraisable:
        raised.erase()
        return
    _sign(raised, definitions, len(inputs), list(written))
    function.erase()


def _sign(
    function: ir.Operation, definitions: Definitions, count: int, written: Sequence[int]
) -> None:
    """Say what the arguments and results are, of which the first are the old function's; buffers
    that are `written` are no longer arguments."""
    entry = entry_of(function)
    results = block_operations(entry)[-1].operands
    roles = [_role(Role.ARGUMENT, number) for number in range(count) if number not in written]
    labels = [{ROLE: role} for role in roles]
    labels += [{ROLE: _role(Role.CONSTANT), VALUE: value} for value in definitions.constants]
    for number in sorted(written, reverse=True):
        entry.erase_argument(number)
    types = ir.FunctionType.get([v.type for v in entry.arguments], [v.type for v in results])
    function.attributes["function_type"] = ir.TypeAttr.get(types)
    for name, attribute in label_parameters(labels).items():
        function.attributes[name] = attribute
    first = len(results) - len(written)
    sources = [(Role.RESULT, number) for number in range(first)]
    sources += [(Role.ARGUMENT, number) for number in written]
    function.attributes["res_attrs"] = ir.ArrayAttr.get(
        [ir.DictAttr.get({ROLE: _role(*source)}) for source in sources]
    )


def _role(role: Role, source: int | None = None) -> ir.Attribute:
    number = [] if source is None else [ir.IntegerAttr.get(b.integer_type(64), source)]
    return ir.ArrayAttr.get([ir.StringAttr.get(role), *number])
