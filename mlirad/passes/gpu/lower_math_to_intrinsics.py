"""Math that a GPU has instructions for to LLVM's intrinsics; the rest is left for a library.

Where `afn` allows it, roots of f32, their reciprocals and quotients are the GPU's: within two units
in the last place, and right for 0 and for infinities. Other reciprocal roots are quotients by a
root, as on a CPU: the library's are its estimates. Of what is left, a library has exact and fast
functions; the fast ones lose digits, not units in the last place, so that it loses the flag.

A root of what certainly is a normal number takes one instruction: others make subnormal numbers
larger first. These estimates are NVIDIA's (AMD's: `lower-reciprocal-roots`). Of exponential
functions and logarithms of f32 LLVM has accurate code for AMD.
"""

from typing import Annotated

from mlirad.analysis.normal_numbers import is_normal
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.elementary.table import FUNCTIONS
from mlirad.ir.limits import OneOf
from mlirad.ir.marks.fast_math import allows, forbid
from mlirad.ir.ops import Arith, Math
from mlirad.ir.walk import before, defining_op, operations, replace

_ESTIMATES = {Math.SQRT: "nvvm.sqrt.approx.f", Math.RSQRT: "nvvm.rsqrt.approx.f"}
_QUOTIENT = "nvvm.div.full"
_OF_NORMAL = {
    "nvvm.sqrt.approx.f": "nvvm.sqrt.approx.ftz.f",
    "nvvm.rsqrt.approx.f": "nvvm.rsqrt.approx.ftz.f",
}
_EXPONENTIALS = (Math.EXP, Math.EXP2, Math.LOG, Math.LOG2, Math.LOG10)
_TARGETS = ("nvptx", "amdgpu")


def lower_math_to_intrinsics(
    root: ir.Operation, *, target: Annotated[str, OneOf(_TARGETS)] = "nvptx"
) -> None:
    """Replace math ops that a GPU has an instruction for by calls of LLVM's intrinsics."""
    if target == "amdgpu":
        for op in operations(root):
            if op.name in (Arith.DIVF, *_ESTIMATES):
                forbid(op, "afn")
                forbid(op, "arcp")
    quotients = [op for op in operations(root) if op.name == Arith.DIVF and _may_estimate(op)]
    shared = {op.operands[1] for op in quotients if sum(map(_divides, op.operands[1].uses)) > 1}
    for op in quotients:
        with before(op):
            replace(op, [_quotient(op, op.operands[1] in shared and allows(op, "arcp"))])
    math = [op for op in operations(root) if op.name.startswith("math.")]
    estimates = [_estimate(op.name, op.operands[0]) if _may_estimate(op) else None for op in math]
    for op, estimate in zip(math, estimates):
        function = FUNCTIONS.get(op.name)
        name = estimate or (function.intrinsic if function is not None else "")
        if target == "amdgpu" and op.name in _EXPONENTIALS and _is_short(op):
            name = op.name.partition(".")[2]
        if name:
            with before(op):
                replace(op, [b.call_intrinsic(name, list(op.operands), op.results[0].type)])
        elif op.name == Math.RSQRT:
            with before(op):
                replace(op, [_reciprocal_root(op.operands[0])])
        else:
            forbid(op, "afn")


def _quotient(op: ir.Operation, is_shared: bool) -> ir.Value:
    """A product with the reciprocal of a root, or of a divisor that is shared; else a quotient."""
    (dividend, divisor), type_ = op.operands, op.results[0].type
    root = defining_op(divisor)
    if root is not None and root.name == Math.SQRT and _may_estimate(root):
        name = _estimate(Math.RSQRT, root.operands[0])
        assert name is not None
        reciprocal = b.call_intrinsic(name, [root.operands[0]], type_)
    elif is_shared:
        reciprocal = b.call_intrinsic(_QUOTIENT, [b.number(1.0, type_), divisor], type_)
    else:
        return b.call_intrinsic(_QUOTIENT, [dividend, divisor], type_)
    return b.mulf(dividend, reciprocal, fastmath=op.attributes["fastmath"])


def _reciprocal_root(radicand: ir.Value) -> ir.Value:
    root = b.call_intrinsic(FUNCTIONS[Math.SQRT].intrinsic, [radicand], radicand.type)
    return b.divf(b.number(1.0, radicand.type), root)


def _estimate(name: str, argument: ir.Value) -> str | None:
    """The intrinsic that estimates an op of an argument, if there is one."""
    estimate = _ESTIMATES.get(name)
    return _OF_NORMAL.get(estimate or "", estimate) if is_normal(argument) else estimate


def _divides(use: ir.OpOperand) -> bool:
    op = use.owner.operation
    return op.name == Arith.DIVF and use.operand_number == 1 and allows(op, "arcp")


def _may_estimate(op: ir.Operation) -> bool:
    """Return whether the GPU has an approximation of an op, and the op may be approximated."""
    return isinstance(op.results[0].type, ir.F32Type) and allows(op, "afn")


def _is_short(op: ir.Operation) -> bool:
    return isinstance(op.results[0].type, ir.F16Type | ir.F32Type)
