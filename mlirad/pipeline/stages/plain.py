"""The shortest way from a module of any stage to code: only what has to be lowered is, and nothing
is made faster."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.ops import Gpu
from mlirad.ir.requirements import is_private
from mlirad.ir.walk import functions, operations

_CELLS = "lower-activity,lower-field-assert"
_EXPAND = "func.func(mem2reg),expand-derivatives"
# a pass that an op needs, by the beginning of the op's name, in order
_NEEDED = {
    "te.": "lower-te-to-field",
    "grad.custom": "inline-custom-gradients",
    "grad.detach": "inline-custom-gradients",
    "grad.dual": _EXPAND,
    "grad.jvp": _EXPAND,
    "grad.vjp": _EXPAND,
    "snode.activate": _CELLS,
    "snode.deactivate": _CELLS,
    "snode.is_active": _CELLS,
    "snode.length": _CELLS,
    "snode.append": _CELLS,
    "field.random": "lower-field-random",
    "field.assert": "lower-field-assert",
    "field.print": "lower-field-print",
    "field.chunk": "split-parallel-loops",
    "grad.open": "func.func(mem2reg),lower-grad-logs",
    "grad.alloc": "func.func(mem2reg),lower-grad-to-memref",
}
_FIELDS = "lower-field-to-memref"
_BLOCKS = "lower-parallel-to-gpu"
_KERNELS = "gpu-kernel-outlining,mark-kernel-arguments"
_THREADS = "run-threads-in-loops"
_TARGET = (
    "arith-expand{include-bf16=true},math-expand-ops{ops=asin,acos},convert-math-to-funcs,convert-vector-to-scf,"
    "convert-scf-to-cf,expand-strided-metadata,lower-affine,finalize-memref-to-llvm,"
    "convert-math-to-llvm{approximate-log1p=false},convert-math-to-libm,convert-vector-to-llvm,"
    "convert-arith-to-llvm,convert-ub-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,"
    "finalize-memref-to-llvm,canonicalize,cse,reconcile-unrealized-casts,hoist-allocas,"
    "mark-internal-functions"
)
INTERFACE = "llvm.emit_c_interface"  # of kernels whose fields have addresses


def plain_passes(module: ir.Operation) -> str:
    """Return what lowers a module to LLVM's dialect, as the text of a pipeline."""
    names = {op.name for op in operations(module)}
    dialects = {name.partition(".")[0] for name in names}
    passes = [text for start, text in _NEEDED.items() if any(n.startswith(start) for n in names)]
    if "gpu" in dialects and not {Gpu.LAUNCH, Gpu.MODULE} & names:
        passes.append(_BLOCKS)
    if any(not is_private(f) and INTERFACE not in f.attributes for f in functions(module)):
        passes.append(_FIELDS)
    if Gpu.LAUNCH in names or _BLOCKS in passes:
        passes.append(_KERNELS)
    if "gpu" in dialects:
        passes.append(_THREADS)
    if not dialects <= {"llvm"}:
        passes.append(_TARGET)
    return f"builtin.module({','.join(dict.fromkeys(passes))})"
