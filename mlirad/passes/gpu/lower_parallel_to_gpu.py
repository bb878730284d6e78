"""Parallel loops to GPU launches: one thread an iteration, the box counted through by a grid of one
axis.

Assumes `split-serial-code`. The launches of a function `f` are to be outlined
(`gpu-kernel-outlining`) as `f_0`, `f_1`, ... in the order of its loops, into the `gpu.module` named
`f_kernels`.
"""

import re
from typing import Annotated

from mlirad.bindings import ir
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.box import box_indices, box_size
from mlirad.ir.limits import Range
from mlirad.ir.location import source_location
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import YIELD, is_parallel
from mlirad.ir.walk import at_end, before, block_operations, constant_integer, entry_of, functions

MAX_BLOCK = 1024

REQUIRES = KERNELS


def lower_parallel_to_gpu(
    module: ir.Operation, *, block_dim: Annotated[int, Range(1, MAX_BLOCK)] = 128
) -> None:
    """Turn the outermost parallel loops of every public function into launches."""
    for function in functions(module):
        if "sym_visibility" in function.attributes:
            continue
        loops = [op for op in block_operations(entry_of(function)) if is_parallel(op)]
        name = re.sub(
            r"\W", "_", ir.StringAttr(function.attributes["sym_name"]).value, flags=re.ASCII
        )
        if loops:
            module.attributes["gpu.container_module"] = ir.UnitAttr.get()
            with ir.InsertionPoint(module.regions[0].blocks[0]), function.location:
                holder = ir.Operation.create(
                    "gpu.module",
                    [],
                    [],
                    {"sym_name": ir.StringAttr.get(f"{name}_kernels")},
                    regions=1,
                )
                b.block(holder, 0)
        for number, loop in enumerate(loops):
            with before(loop):
                _launch(loop, name, number, block_dim)
            loop.erase()


def _launch(loop: ir.Operation, name: str, number: int, block_dim: int) -> None:
    extents, total = box_size(loop)
    trips = constant_integer(total)
    if trips == 0:
        return
    size = 1 if trips == 1 else _block_size(loop, block_dim)
    launch = _gpu_launch(_blocks(total, size), size, f"{name}_kernels", f"{name}_{number}")
    body = launch.regions[0].blocks[0]
    with at_end(body, loop.location):
        block_id, thread_id = body.arguments[0], body.arguments[3]
        here = b.add(b.mul(block_id, b.index(size)), thread_id)
        inner = body
        if trips is None or trips % size:
            inside = b.if_else(
                b.make("arith.cmpi", b.integer_type(1), [here, total], predicate=b.predicate(_ULT)),
                [],
                with_else=False,
            )
            inner = inside.then
    with at_end(inner, loop.location):
        indices = box_indices(loop, extents, here)
        end = b.effect("gpu.terminator" if inner == body else YIELD, [])
    if inner != body:
        with at_end(body, loop.location):
            b.effect("gpu.terminator", [])
    for op in block_operations(loop.regions[0].blocks[0])[:-1]:
        op.move_before(end)
    for old, new in zip(loop.regions[0].blocks[0].arguments, indices):
        old.replace_all_uses_with(new)


_ULT = 6  # arith::CmpIPredicate


def _block_size(loop: ir.Operation, default: int) -> int:
    if "block_dim" not in loop.attributes:
        return default
    size = ir.IntegerAttr(loop.attributes["block_dim"]).value
    if not 1 <= size <= MAX_BLOCK:
        raise TaichiCompilationError(
            f"block_dim is 1 to {MAX_BLOCK} threads, not {size}", source_location(loop.location)
        )
    return size


def _blocks(total: ir.Value, size: int) -> ir.Value:
    """Blocks that hold as many threads; at least one, for a launch of none is an error."""
    trips = constant_integer(total)
    if trips is not None:
        return b.index(-(-trips // size))
    blocks = b.div(b.add(total, b.index(size - 1)), b.index(size))
    return b.make("arith.maxsi", b.index_type(), [blocks, b.index(1)])


def _gpu_launch(blocks: ir.Value, size: int, module: str, name: str) -> ir.Operation:
    one = b.index(1)
    launch = ir.Operation.create(
        "gpu.launch",
        [],
        [blocks, one, one, b.index(size), one, one],
        {
            "module": ir.FlatSymbolRefAttr.get(module),
            "function": ir.FlatSymbolRefAttr.get(name),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0]),
        },
        regions=1,
    )
    b.block(launch, 0, [b.index_type()] * 12)
    return launch
