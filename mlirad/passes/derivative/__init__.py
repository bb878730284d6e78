"""Names of ops without which passes of this folder do nothing, and are not loaded."""

from mlirad.dialect.grad import AllocOp, CustomOp, DetachOp, DualOp, JvpOp, VjpOp
from mlirad.ir.ops import Func

LOOKS_FOR: dict[str, tuple[str, ...]] = {
    "expand-derivatives": (
        DualOp.OPERATION_NAME,
        VjpOp.OPERATION_NAME,
        JvpOp.OPERATION_NAME,
        Func.CALL,
    ),
    "inline-custom-gradients": (CustomOp.OPERATION_NAME, DetachOp.OPERATION_NAME),
    "track-choices": (AllocOp.OPERATION_NAME,),
}
