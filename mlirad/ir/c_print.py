"""Texts printed by functions of C."""

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.memory.descriptor import pointer_type
from mlirad.ir.ops import Llvm

_STANDARD, _ERRORS = "printf", "dprintf"
_ERROR_FILE = 2


def print_text(module: ir.Operation, name: str, text: str, arguments: Sequence[ir.Value]) -> None:
    """Print a text of `printf`, which becomes a constant of the given name."""
    pointer = _constant(module, name, text)
    _call(module, _STANDARD, "ptr", [pointer, *arguments])


def print_error(module: ir.Operation, name: str, text: str) -> None:
    """Print a text to the standard error output, at once."""
    i32 = b.integer_type(32)
    pointer = _constant(module, name, text.replace("%", "%%"))
    _call(module, _ERRORS, "i32, ptr", [b.number(_ERROR_FILE, i32), pointer])


def _call(
    module: ir.Operation, function: str, parameters: str, arguments: Sequence[ir.Value]
) -> None:
    """Call a function that takes more arguments than parameters, and declare it where it is not."""
    types = parameters.replace("ptr", "!llvm.ptr")
    body = module.regions[0].blocks[0]
    if ir.StringAttr.get(function) not in [
        op.attributes["sym_name"] for op in body if "sym_name" in op.attributes
    ]:
        body.append(ir.Operation.parse(f"llvm.func @{function}({types}, ...) -> i32"))
    ir.Operation.create(
        Llvm.CALL,
        [b.integer_type(32)],
        arguments,
        {
            "callee": ir.FlatSymbolRefAttr.get(function),
            "var_callee_type": ir.TypeAttr.get(
                ir.Type.parse(f"!llvm.func<i32 ({parameters}, ...)>")
            ),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(arguments), 0]),
        },
    )


def _constant(module: ir.Operation, name: str, text: str) -> ir.Value:
    """The address of a text."""
    data = text.encode() + b"\0"
    quoted = '"' + "".join(f"\\{byte:02X}" for byte in data) + '"'
    text = (
        f'llvm.mlir.global private constant @"{name}"({quoted}) {{addr_space = 0 : i32}} '
        f": !llvm.array<{len(data)} x i8>"
    )
    module.regions[0].blocks[0].append(ir.Operation.parse(text))
    symbol = ir.FlatSymbolRefAttr.get(name)
    return b.make(Llvm.MLIR_ADDRESSOF, pointer_type(), [], global_name=symbol)
