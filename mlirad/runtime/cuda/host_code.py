"""The host's half of a kernel: its GPU code as a `gpu.binary` that holds PTX, and the launches by
upstream's `gpu-to-llvm`, over the shims."""

from __future__ import annotations

from math import prod
from typing import Any

from mlirad.bindings import ir
from mlirad.dialect.layout_rules import ELEMENT_SIZES
from mlirad.errors import SourceLocation
from mlirad.ir import build as b
from mlirad.ir.memory.descriptor import memref_at, pointer_of, pointer_type
from mlirad.ir.ops import Func, Gpu
from mlirad.ir.reports.location import nearest_location
from mlirad.ir.reports.loop_names import name_at
from mlirad.ir.requirements import symbol_of
from mlirad.ir.walk import (
    at_start,
    before,
    block_operations,
    entry_of,
    functions,
    operations,
)
from mlirad.pipeline.runner import run_pipeline
from mlirad.runtime.cuda.sequences.queue import masks
from mlirad.runtime.cuda.shims import ALLOCATE, ENTER, FREE, LEAVE, READ, STREAM

_PIPELINE = (
    "builtin.module(canonicalize,convert-scf-to-cf,expand-strided-metadata,convert-math-to-llvm,"
    "convert-math-to-libm,gpu-to-llvm,reconcile-unrealized-casts,canonicalize,cse)"
)

_OF_THE_DRIVER = (Gpu.ALLOC, Gpu.DEALLOC, Gpu.MEMCPY, Gpu.LAUNCH_FUNC)

Places = dict[str, SourceLocation | None]


def kernel_places(module: ir.Operation) -> Places:
    """The line of the loop of every GPU kernel of a module behind `cuda_stages`, by its name."""
    return {
        symbol_of(op): nearest_location(op)
        for holder in _gpu_modules(module)
        for op in operations(holder)
        if "nvvm.kernel" in op.attributes
    }


def kernel_masks(module: ir.Operation) -> dict[str, Any]:
    """The masks of the arguments of every GPU kernel of such a module, by its name."""
    return {
        symbol_of(op): masks([argument.type for argument in entry_of(op).arguments])
        for holder in _gpu_modules(module)
        for op in operations(holder)
        if "nvvm.kernel" in op.attributes
    }


def kernel_titles(module: ir.Operation) -> dict[str, str]:
    """Return the titles of the loops of GPU kernels in such a module, by the names of the kernels:
    from the program, otherwise from the line."""
    return {
        symbol_of(op): _title(op)
        for holder in _gpu_modules(module)
        for op in operations(holder)
        if "nvvm.kernel" in op.attributes
    }


def _title(op: ir.Operation) -> str:
    place = nearest_location(op)
    name = name_at(op.location)
    return name or ("" if place is None else f"line {place.line}")


def lower_host_code(module: ir.Operation, chip: str, ptx: str, shims: str) -> None:
    """Leave only LLVM's dialect and a binary with PTX for a chip, of a module behind
    `cuda_stages`."""
    body = module.regions[0].blocks[0]
    for holder in _gpu_modules(module):
        with holder.location:
            body.append(_binary(symbol_of(holder), chip, ptx))
        holder.erase()
    for function in functions(module):
        _call_shims(function)
    added = ir.Module.parse(shims)
    for op in block_operations(added.body):
        body.append(op)
    run_pipeline(module, _PIPELINE)


def _gpu_modules(module: ir.Operation) -> list[ir.Operation]:
    return [op for op in block_operations(module.regions[0].blocks[0]) if op.name == Gpu.MODULE]


def _binary(name: str, chip: str, text: str) -> ir.Operation:
    quoted = "".join(
        character if character.isalnum() or character in " .,;_" else f"\\{ord(character):02X}"
        for character in text + "\0"
    )
    target = f'#gpu.object<#nvvm.target<chip = "{chip}">, assembly = "{quoted}">'
    return ir.Operation.parse(f"gpu.binary @{name} [{target}]").operation


def _call_shims(function: ir.Operation) -> None:
    """Have the context around all of a function that uses the driver, and its memory in the order
    of its launches: one that names no stream goes to that of `mgpuStreamCreate`, which is always
    the same."""
    entry = entry_of(function)
    if not any(op.name in _OF_THE_DRIVER for op in operations(function)):
        return
    with at_start(entry, function.location):
        b.llvm_call(ENTER, [])
        stream = b.llvm_call(STREAM, [], [pointer_type()]).result
    for op in list(operations(function)):
        if op.name == Gpu.ALLOC:
            _allocate(stream, op)
        elif op.name == Gpu.DEALLOC:
            _free(stream, op)
        elif op.name == Gpu.MEMCPY:
            _read(stream, op)
        elif op.name == Func.RETURN:
            with before(op):
                b.llvm_call(LEAVE, [])


def _allocate(stream: ir.Value, op: ir.Operation) -> None:
    """Scratch of a launch: rows of a known type, of which some extents are operands."""
    type_ = ir.MemRefType(op.results[0].type)
    known = iter(op.operands)
    with before(op):
        extents = [next(known) if extent < 0 else b.index(extent) for extent in type_.shape]
        strides, size = list[ir.Value | int](), b.index(1)
        for extent in reversed(extents):
            strides.insert(0, size)
            size = b.mul(size, extent)
        size = b.mul(size, b.index(_size(type_.element_type)))
        i64 = b.integer_type(64)
        address = b.llvm_call(ALLOCATE, [b.index_cast(size, i64), stream], [pointer_type()])
        op.results[0].replace_all_uses_with(memref_at(address.result, type_, extents, strides))
    op.erase()


def _free(stream: ir.Value, op: ir.Operation) -> None:
    with before(op):
        b.llvm_call(FREE, [pointer_of(op.operands[0]), stream])
    op.erase()


def _read(stream: ir.Value, op: ir.Operation) -> None:
    """A copy of memory of known size, to the host."""
    target, source = op.operands
    type_ = ir.MemRefType(source.type)
    size = _size(type_.element_type) * prod(type_.shape)
    with before(op):
        bytes_ = b.number(size, b.integer_type(64))
        b.llvm_call(READ, [pointer_of(target), pointer_of(source), bytes_, stream])
    op.erase()


def _size(element: ir.Type) -> int:
    return 8 if isinstance(element, ir.IndexType) else ELEMENT_SIZES[str(element)]
