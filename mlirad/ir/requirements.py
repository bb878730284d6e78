"""Requirements of passes: checked by `mlirad-opt`, whose programs need not come from the frontend.

A pass lists what it needs as `REQUIRES`; each is called with what the pass is about to run on, and
raises TaichiCompilationError, with the place, where it does not hold. A pass that cannot go on
before a pipeline has run yields a request for it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import NoReturn

import msgspec

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.dialect.field import element_type, is_array, makes_array
from mlirad.dialect.grad import CustomOp, DualOp
from mlirad.errors import TaichiCompilationError
from mlirad.ir.ops import Builtin, Func, Gpu, Scf
from mlirad.ir.reports.location import nearest_location
from mlirad.ir.signature import NEEDS_GRAD, function_type, parameter_attributes
from mlirad.ir.structured import STRUCTURED, is_branch, is_for, is_parallel
from mlirad.ir.walk import ancestors, block_operations, constant_integer, functions, operations

Requirement = Callable[[ir.Operation], None]

# the stages from a function that anyone wrote to a kernel on arrays, which `pipeline` knows: those
# that let tensors share buffers, and those that give each a buffer of its own
KERNEL_STAGES, COPYING_STAGES = "kernel", "kernel with copies"


class Request(msgspec.Struct, frozen=True):
    """A pipeline, as text, that runs on an operation before the pass goes on that asks for it: what
    it refuses is raised where the request is made."""

    op: ir.Operation
    pipeline: str


Requests = Generator[Request, None, None]

_LARGEST_INDEX = (1 << 63) - 1
DEEPEST = 100  # loops and branches: what an analysis asks of each grows with those around it
_HOLDERS = (*STRUCTURED, Scf.REDUCE, CustomOp.OPERATION_NAME, DualOp.OPERATION_NAME)


def structured_functions(root: ir.Operation) -> None:
    """Require functions of one block, side by side, in which only loops and branches of `scf` hold
    other operations."""
    _require_side_by_side(root)
    for function in functions(root):
        _require_one_block(function)
        if block_operations(function.regions[0].blocks[0])[-1].name != Func.RETURN:
            refuse(function, "a function that does not end in 'func.return'")
        for op, depth in _with_depth(function):
            if any(len(r.blocks) for r in op.regions) and op.name not in _HOLDERS:
                refuse(
                    op, f"'{op.name}' within a function, expected loops and branches of 'scf' only"
                )
            if depth > DEEPEST:
                refuse(op, f"loops and branches nest deeper than {DEEPEST}")
            if is_for(op) and str(op.operands[0].type) != "index":
                refuse(op, f"a loop that counts in '{op.operands[0].type}', expected 'index'")
            if is_for(op) and "unsignedCmp" in op.attributes:
                refuse(op, "a loop whose bounds are compared without signs")
            if is_parallel(op) and any(map(is_parallel, ancestors(op))):
                refuse(op, "a parallel loop within another")
            _require_one_block(op)


def _require_side_by_side(root: ir.Operation) -> None:
    """Require that no module within the module holds functions, which passes would leave out."""
    if root.name == Builtin.MODULE:
        for op in block_operations(root.regions[0].blocks[0]):
            if op.name == Builtin.MODULE and any(o.name == Func.FUNC for o in operations(op)):
                refuse(op, "a module within a module, expected functions side by side")


def _with_depth(function: ir.Operation) -> Iterator[tuple[ir.Operation, int]]:
    """Every operation in a function, with how many are around it there."""
    pending = [(function, 0)]
    while pending:
        op, depth = pending.pop()
        for region in op.regions:
            for block in region.blocks:
                inner = [(child, depth + 1) for child in block_operations(block)]
                yield from inner
                pending += [item for item in inner if len(item[0].regions)]


def known_arrays(root: ir.Operation) -> None:
    """Require arrays to be fields, locals and arguments of functions: others have no name to tell
    them apart by."""
    for function in functions(root):
        for op in operations(function):
            inner = [
                argument
                for region in op.regions
                for block in region.blocks
                for argument in block.arguments
            ]
            results = [] if makes_array(op) else op.results
            if any(is_array(value.type) for value in (*results, *inner)):
                refuse(
                    op,
                    f"an array that '{op.name}' makes, expected fields, locals and arguments of "
                    f"functions",
                )


def well_marked(root: ir.Operation) -> None:
    """Require what earlier passes note on loops and functions to be what they note."""
    for function in functions(root):
        _require_gradients_of_floats(function)
        arguments = len(function.regions[0].blocks[0].arguments)
        for mark in _list_attribute(function, "grad.redone"):
            if not isinstance(mark, ir.FlatSymbolRefAttr) and not _is_below(mark, arguments):
                refuse(
                    function,
                    f"'grad.redone' names {mark}, expected fields and numbers of arguments",
                )
        for loop in [op for op in operations(function) if is_parallel(op)]:
            rank = len(loop.regions[0].blocks[0].arguments)
            if "field.axis" in loop.attributes and not _is_below(
                loop.attributes["field.axis"], rank
            ):
                refuse(
                    loop,
                    f"'field.axis' is {loop.attributes['field.axis']}, expected an axis of the "
                    f"loop, 0 to {rank - 1}",
                )
            if "block_dim" in loop.attributes and not _is_below(
                loop.attributes["block_dim"], 1 << 31
            ):
                refuse(
                    loop,
                    f"'block_dim' is {loop.attributes['block_dim']}, expected a number of threads",
                )


def _require_gradients_of_floats(function: ir.Operation) -> None:
    types = function_type(function).inputs
    for number, (type_, label) in enumerate(zip(types, parameter_attributes(function))):
        element = element_type(type_) if is_array(type_) else type_
        if NEEDS_GRAD in label and isinstance(element, ir.IntegerType | ir.IndexType):
            refuse(
                function,
                f"argument {number} is a '{type_}' marked '{NEEDS_GRAD}', expected an array of "
                "floats",
            )


def rising(root: ir.Operation) -> None:
    """Require the steps of loops, where they are known, to lead from the first index to the end,
    and past it without an overflow."""
    for function in functions(root):
        for loop in [op for op in operations(function) if is_for(op)]:
            step = constant_integer(loop.operands[2])
            if step is not None and step <= 0:
                refuse(loop, f"a loop with steps of {step}, expected at least 1")
            low, high, _ = map(constant_integer, list(loop.operands)[:3])
            if step is not None and low is not None and high is not None and low < high:
                behind = low + -(-(high - low) // step) * step
                if behind > _LARGEST_INDEX:
                    refuse(loop, f"a loop whose index overflows: its last step leads to {behind}")


def _list_attribute(op: ir.Operation, name: str) -> list[ir.Attribute]:
    if name not in op.attributes:
        return []
    if not isinstance(op.attributes[name], ir.ArrayAttr):
        refuse(op, f"'{name}' is {op.attributes[name]}, expected a list")
    return list(ir.ArrayAttr(op.attributes[name]))


def _is_below(mark: ir.Attribute, end: int) -> bool:
    return isinstance(mark, ir.IntegerAttr) and 0 <= ir.IntegerAttr(mark).value < end


def calls_of_private_functions(root: ir.Operation) -> None:
    """Require calls to be of private functions with a body, and to be made by public functions
    unless they pass numbers alone."""
    by_name = {symbol_of(function): function for function in functions(root)}
    for function in by_name.values():
        for op in operations(function):
            if op.name != Func.CALL:
                continue
            callee = by_name.get(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
            takes_arrays = any(is_array(value.type) for value in op.operands)
            is_inner = is_private(function) and takes_arrays
            if callee is None or not is_private(callee) or is_inner:
                refuse(
                    op,
                    "a call, expected only those of private functions with a body by public "
                    "ones: run inline first",
                )


def launches_of_outlined_kernels(root: ir.Operation) -> None:
    """Require every launch to be of a `gpu.func` in a `gpu.module` of this module."""
    holders = [op for op in operations(root) if op.name == Gpu.MODULE]
    kernels = {
        (symbol_of(holder), symbol_of(op))
        for holder in holders
        for op in operations(holder)
        if op.name == Gpu.FUNC
    }
    for op in operations(root):
        if (
            op.name == Gpu.LAUNCH_FUNC
            and tuple(ir.SymbolRefAttr(op.attributes["kernel"]).value) not in kernels
        ):
            refuse(
                op,
                "a launch of something that is not a 'gpu.func' here: run gpu-kernel-outlining "
                "first, and nothing after it",
            )


def definitions(root: ir.Operation) -> None:
    """Require functions that define tensors to do nothing else; definitions hold operations that
    read, combine, choose, and compute with numbers."""
    for function in functions(root):
        _require_one_block(function)
        ops = block_operations(function.regions[0].blocks[0])
        if not any(map(te.defines_tensor, ops)):
            continue
        for op in ops:
            if len(op.regions) and not te.defines_tensor(op):
                refuse(op, f"'{op.name}' next to definitions of tensors")
            for inner in _inside(op):
                if len(inner.regions) and not (te.is_reduce(inner) or is_branch(inner)):
                    refuse(inner, f"'{inner.name}' within the definition of a tensor")


def _inside(op: ir.Operation) -> list[ir.Operation]:
    return list(operations(op)) if len(op.regions) else []


def symbol_of(op: ir.Operation) -> str:
    """The name of a symbol."""
    return ir.StringAttr(op.attributes["sym_name"]).value


def symbols_in(module: ir.Operation) -> dict[str, ir.Operation]:
    """Return the symbols that a module defines, by name."""
    ops = block_operations(module.regions[0].blocks[0])
    return {symbol_of(op): op for op in ops if "sym_name" in op.attributes}


def is_private(op: ir.Operation) -> bool:
    """Return whether a symbol can be seen in its module only."""
    return "sym_visibility" in op.attributes


def _require_one_block(op: ir.Operation) -> None:
    for region in op.regions:
        if len(region.blocks) > 1:
            refuse(
                op,
                f"'{op.name}' holds {len(region.blocks)} blocks, expected structured control flow: "
                "run lift-cf-to-scf first",
            )


def refuse(op: ir.Operation, message: str) -> NoReturn:
    """Raise the error for an operation that a pass cannot take."""
    raise TaichiCompilationError(message, nearest_location(op))


TENSORS: tuple[Requirement, ...] = (definitions,)
KERNELS: tuple[Requirement, ...] = (structured_functions, rising, known_arrays, well_marked)
