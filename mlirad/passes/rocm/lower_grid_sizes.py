"""The numbers of blocks of a grid as AMD's runtimes pass them to every kernel: behind its own
arguments (code object version 5).

Upstream's conversion to ROCDL calls a function of ROCm's library for them.
"""

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.gpu.thread_loops import axis_of
from mlirad.ir.ops import Gpu, Llvm
from mlirad.ir.walk import before, operations, replace

_BYTES = 4  # of each of the three numbers, which come first


def lower_grid_sizes(module: ir.Operation) -> None:
    """Read the number of blocks of a grid from the hidden arguments of a kernel on an AMD GPU."""
    for op in [op for op in operations(module) if op.name == Gpu.GRID_DIM]:
        with before(op):
            value = b.index_castui(_hidden_argument(_BYTES * axis_of(op)), b.index_type())
        replace(op, [value])


def _hidden_argument(offset: int) -> ir.Value:
    """The i32 at an offset behind a kernel's own arguments."""
    constant_memory = ir.Type.parse("!llvm.ptr<4>")
    pointer = b.call_intrinsic("amdgcn.implicitarg.ptr", [], constant_memory)
    place = b.make(
        Llvm.GETELEMENTPTR,
        constant_memory,
        [pointer],
        elem_type=ir.TypeAttr.get(b.integer_type(8)),
        rawConstantIndices=ir.DenseI32ArrayAttr.get([offset]),
    )
    alignment = ir.IntegerAttr.get(b.integer_type(64), _BYTES)
    invariant = ir.UnitAttr.get()
    return b.make(Llvm.LOAD, b.integer_type(32), [place], alignment=alignment, invariant=invariant)
