"""Names of ops without which passes of this folder do nothing, and are not loaded."""

from mlirad.dialect import grad
from mlirad.dialect.activity import ON_ACTIVITY, ActivateOp
from mlirad.dialect.field import AssertOp, LoadOp, PrintOp, RandomOp, StoreOp
from mlirad.ir.ops import Llvm, Memref

LOOKS_FOR: dict[str, tuple[str, ...]] = {
    "defer-zeros": (StoreOp.OPERATION_NAME,),
    "hoist-allocas": (Llvm.ALLOCA,),
    "hoist-buffers": (Memref.ALLOC, Memref.ALLOCA),
    "lower-activity": ON_ACTIVITY,
    "lower-field-assert": (AssertOp.OPERATION_NAME,),
    "lower-field-print": (PrintOp.OPERATION_NAME,),
    "lower-field-random": (RandomOp.OPERATION_NAME,),
    "lower-grad-logs": tuple(
        op.OPERATION_NAME
        for op in (grad.OpenOp, grad.RecordOp, grad.MarkOp, grad.UndoOp, grad.CloseOp)
    ),
    "lower-grad-to-memref": tuple(
        op.OPERATION_NAME for op in (grad.AllocOp, grad.PushOp, grad.PopOp, grad.FreeOp)
    ),
    "remove-activations": (ActivateOp.OPERATION_NAME,),
    "reuse-loads": (LoadOp.OPERATION_NAME,),
}
