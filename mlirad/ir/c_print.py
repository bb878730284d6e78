"""Calls of C's `printf`."""

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.descriptor import pointer_type
from mlirad.ir.walk import block_operations

_PRINTF = "printf"


def declare_printf(module: ir.Operation) -> None:
    """Declare the function, where a module has no declaration yet."""
    body = module.regions[0].blocks[0]
    symbols = [
        op.attributes["sym_name"] for op in block_operations(body) if "sym_name" in op.attributes
    ]
    if ir.StringAttr.get(_PRINTF) in symbols:
        return
    with module.location:
        body.append(ir.Operation.parse("llvm.func @printf(!llvm.ptr, ...) -> i32"))


def print_text(
    module: ir.Operation, name: str, text: str, arguments: Sequence[ir.Value], location: ir.Location
) -> None:
    """Print, at the insertion point, a text of C, which becomes a constant of the given name."""
    data = text.encode() + b"\0"
    array = ir.Type.parse(f"!llvm.array<{len(data)} x i8>")
    body = module.regions[0].blocks[0]
    with location:
        body.append(
            ir.Operation.parse(
                f'llvm.mlir.global private constant @"{name}"({_quoted(data)}) '
                f"{{addr_space = 0 : i32}} : {array}"
            )
        )
    symbol = ir.FlatSymbolRefAttr.get(name)
    pointer = b.make("llvm.mlir.addressof", pointer_type(), [], global_name=symbol)
    ir.Operation.create(
        "llvm.call",
        [b.integer_type(32)],
        [pointer, *arguments],
        {
            "callee": ir.FlatSymbolRefAttr.get(_PRINTF),
            "var_callee_type": ir.TypeAttr.get(ir.Type.parse("!llvm.func<i32 (ptr, ...)>")),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1 + len(arguments), 0]),
        },
    )


def _quoted(data: bytes) -> str:
    return '"' + "".join(f"\\{byte:02X}" for byte in data) + '"'
