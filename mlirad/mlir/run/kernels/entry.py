"""The function of a module that is run, made one that a launch can pass its arguments to."""

from __future__ import annotations

from collections.abc import Iterator

from mlirad.bindings import ir
from mlirad.dialect.field import array_type, is_array
from mlirad.dialect.layout_rules import ELEMENT_SIZES
from mlirad.dialect.noted_trees import TREES
from mlirad.dialect.snode import roots
from mlirad.errors import TaichiNameError
from mlirad.ir import build as b
from mlirad.ir.memory.descriptor import memref_at, pointer_type
from mlirad.ir.ops import Func, Llvm
from mlirad.ir.requirements import is_private, refuse, symbol_of
from mlirad.ir.signature import (
    Attributes,
    argument_label,
    array_label,
    extent_label,
    label_parameters,
    parameter_attributes,
    set_signature,
)
from mlirad.ir.walk import at_start, block_operations, entry_of, operations
from mlirad.kernel.array_arguments import copy_of
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.plain import INTERFACE

_WRAPPER = "_mlir_ciface_"
_LABELS = ("field.", "grad.")


def is_kernel(module: ir.Operation) -> bool:
    """Return whether a module holds kernels: on fields or arrays, or lowered from those."""
    if TREES in module.attributes or roots(module) or any(map(_is_of_te, operations(module))):
        return True
    return any(
        op.name == Llvm.FUNC
        or INTERFACE in op.attributes
        or any(is_array(argument.type) for argument in entry_of(op).arguments)
        or any(name.startswith(_LABELS) for label in parameter_attributes(op) for name in label)
        for op in _functions(module)
    )


def entry_function(module: ir.Operation, name: str | None, file: str) -> ir.Operation:
    """Return the function of a name, or the only one. Raises TaichiNameError if there is none."""
    entries = {symbol_of(op): op for op in _functions(module) if _is_entry(op)}
    if name is None and len(entries) == 1:
        return next(iter(entries.values()))
    if name not in entries:
        problem = "no entry is given" if name is None else f"there is no public function '{name}'"
        raise TaichiNameError(f"{file}: {problem}, expected one of: {', '.join(entries) or 'none'}")
    return entries[name]


def copied(module: ir.Module) -> ir.Module:
    """Return a copy of a module, with what is noted on it."""
    with module.context:
        copy = copy_of(module)
        for name in module.operation.attributes:
            copy.operation.attributes[name] = module.operation.attributes[name]
    return copy


def make_launchable(module: ir.Operation, entry: ir.Operation) -> None:
    """Have a function be the only public one, its arguments labeled, its memrefs addresses."""
    for op in _functions(module):
        if op != entry and op.name == Func.FUNC and not is_private(op):
            op.attributes["sym_visibility"] = ir.StringAttr.get("private")
    if entry.name != Func.FUNC or INTERFACE in entry.attributes:
        return
    for operand in [*entry_of(entry).arguments]:
        if isinstance(operand.type, ir.VectorType | ir.ComplexType):
            refuse(entry, f"an argument of type {operand.type}, which a launch cannot pass")
    label_arguments(module)
    run_pipeline(module, "builtin.module(symbol-dce)")
    _pass_addresses(entry, parameter_attributes(entry))


def label_arguments(module: ir.Operation) -> None:
    """Number the arguments of public functions that have no labels yet, for what lowers them."""
    for function in _functions(module):
        labels = parameter_attributes(function)
        if function.name != Func.FUNC or is_private(function) or INTERFACE in function.attributes:
            continue
        if labels and not any("field.argument" in label for label in labels):
            with module.context:
                numbered = [label | argument_label(n) for n, label in enumerate(labels)]
                function.attributes["arg_attrs"] = label_parameters(numbered)["arg_attrs"]


def _functions(module: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the functions of `func` and of LLVM's dialect that have a body."""
    for op in block_operations(module.regions[0].blocks[0]):
        if op.name in (Func.FUNC, Llvm.FUNC) and len(op.regions[0].blocks):
            yield op


def _is_of_te(op: ir.Operation) -> bool:
    return op.name.startswith("te.")


def _is_entry(op: ir.Operation) -> bool:
    if op.name == Llvm.FUNC:
        return INTERFACE in op.attributes and not symbol_of(op).startswith(_WRAPPER)
    return not is_private(op)


def _pass_addresses(entry: ir.Operation, labels: list[Attributes]) -> None:
    """Replace each argument that is a memref by its address and its extents."""
    block = entry_of(entry)
    results = ir.FunctionType(ir.TypeAttr(entry.attributes["function_type"]).value).results
    new_labels: list[Attributes] = []
    arguments = list(block.arguments)
    with at_start(block, entry.location):
        for argument, label in zip(arguments, labels):
            value = _argument(entry, argument.type, label, new_labels)
            argument.replace_all_uses_with(value)
    for _ in arguments:
        block.erase_argument(0)
    set_signature(entry, results, new_labels)


def _argument(
    entry: ir.Operation, type_: ir.Type, label: Attributes, labels: list[Attributes]
) -> ir.Value:
    """Add what stands for an argument of a type."""
    block = entry_of(entry)

    def add(added: ir.Type, its_label: Attributes) -> ir.Value:
        labels.append(its_label)
        return block.add_argument(added, entry.location)

    if not isinstance(type_, ir.MemRefType):
        return add(type_, label)
    memref = ir.MemRefType(type_)
    if str(memref.element_type) not in ELEMENT_SIZES:
        refuse(entry, f"an argument of type {type_}, whose elements no array has")
    if memref.affine_map != ir.AffineMap.get_identity(memref.rank):
        refuse(entry, f"an argument of type {type_}, expected one that lies row by row")
    extents = [-1 if extent < 0 else extent for extent in memref.shape]
    array = array_label(label, array_type(memref.element_type, extents))
    pointer = add(pointer_type(), label | array)
    sizes: list[ir.Value | int] = [
        add(b.index_type(), extent_label(label, axis)) if extent < 0 else extent
        for axis, extent in enumerate(extents)
    ]
    strides: list[ir.Value | int] = [1] * len(sizes)
    for axis in reversed(range(len(sizes) - 1)):
        strides[axis] = _product(strides[axis + 1], sizes[axis + 1])
    return memref_at(pointer, type_, sizes, strides)


def _product(left: ir.Value | int, right: ir.Value | int) -> ir.Value | int:
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    return b.mul(*(b.index(side) if isinstance(side, int) else side for side in (left, right)))
