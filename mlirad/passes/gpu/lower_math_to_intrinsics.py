"""Math that a GPU has instructions for to LLVM's intrinsics; the rest is left for a library."""

from mlirad.bindings import ir
from mlirad.ir.walk import before, operations

INTRINSICS = {
    "math.absf": "fabs",
    "math.ceil": "ceil",
    "math.copysign": "copysign",
    "math.floor": "floor",
    "math.fma": "fma",
    "math.roundeven": "roundeven",
    "math.sqrt": "sqrt",
    "math.trunc": "trunc",
}


def lower_math_to_intrinsics(root: ir.Operation) -> None:
    """Replace math ops with an exact instruction by calls of LLVM's intrinsics."""
    for op in [op for op in operations(root) if op.name in INTRINSICS]:
        with before(op):
            call = ir.Operation.create(
                "llvm.call_intrinsic",
                [op.results[0].type],
                list(op.operands),
                {
                    "intrin": ir.StringAttr.get(f"llvm.{INTRINSICS[op.name]}"),
                    "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
                    "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(op.operands), 0]),
                },
            )
        op.results[0].replace_all_uses_with(call.results[0])
        op.erase()
