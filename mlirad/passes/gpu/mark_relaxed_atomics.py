"""Let atomics of GPU code order nothing but themselves: kernels promise no order between
iterations."""

from typing import Annotated

from mlirad.bindings import ir
from mlirad.ir.build import integer_type
from mlirad.ir.limits import OneOf
from mlirad.ir.ops import Gpu, Llvm
from mlirad.ir.walk import operations

_MONOTONIC = 2  # LLVM::AtomicOrdering
_ORDERINGS = {Llvm.ATOMICRMW: ("ordering",), Llvm.CMPXCHG: ("success_ordering", "failure_ordering")}


_SCOPES = ("device", "agent")  # the names that LLVM's targets for NVIDIA and AMD have for it


def mark_relaxed_atomics(
    module: ir.Operation, *, scope: Annotated[str, OneOf(_SCOPES)] = "device"
) -> None:
    """Give atomics in `gpu.module` monotonic ordering and the scope of the device."""
    monotonic = ir.IntegerAttr.get(integer_type(64), _MONOTONIC)
    for holder in operations(module):
        if holder.name != Gpu.MODULE:
            continue
        for op in operations(holder):
            for name in _ORDERINGS.get(op.name, ()):
                op.attributes[name] = monotonic
                op.attributes["syncscope"] = ir.StringAttr.get(scope)
