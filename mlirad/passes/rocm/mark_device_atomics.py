"""Tell LLVM that atomic updates may be instructions of AMD's memory.

Runs on kernels in LLVM's dialect. LLVM makes loops of compare-and-swap of updates, unless it is
told that the memory is the device's own and coarse-grained, as what `hipMalloc` gives is; and for
sums of f32, that numbers below the least normal one may be taken for 0 (`atom.add.f32` of NVIDIA's
does so too). In memory of the host kernels only store, and count failed checks by integer sums,
which a bus has as well.
"""

from mlirad.bindings import ir
from mlirad.ir.build import is_float
from mlirad.ir.ops import Llvm
from mlirad.ir.walk import llvm_functions, operations

_MEMORY = ("rocdl.no_fine_grained_memory", "rocdl.no_remote_memory")
_ROUNDING = "rocdl.ignore_denormal_mode"


def mark_device_atomics(module: ir.Operation) -> None:
    """Mark atomic updates of device memory, which AMD GPUs have instructions for."""
    for function in llvm_functions(module):
        for op in [op for op in operations(function) if op.name == Llvm.ATOMICRMW]:
            names = (*_MEMORY, _ROUNDING) if is_float(op.results[0].type) else _MEMORY
            for name in names:
                op.attributes[name] = ir.UnitAttr.get()
