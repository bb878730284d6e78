"""LLVM IR of a module in the LLVM dialect."""

from mlirad.bindings import ir
from mlirad.ir.ops import Llvm
from mlirad.ir.walk import block_operations
from mlirad.pipeline.llvm_form import DIALECTS

_SIGNATURE = ("arg_attrs", "res_attrs")


def llvm_text(module: ir.Operation) -> str:
    """Return a module in the LLVM dialect as LLVM IR. Its functions lose what other dialects say of
    their parameters and results: upstream's translation warns of each."""
    from mlirad.bindings import translate_module_to_llvmir  # takes a while to load

    for op in block_operations(module.regions[0].blocks[0]):
        if op.name == Llvm.FUNC:
            for side in _SIGNATURE:
                _keep_llvm(op, side)
    return str(translate_module_to_llvmir(module))


def _keep_llvm(function: ir.Operation, side: str) -> None:
    """Remove attributes of dialects that LLVM does not have, from all parameters or results."""
    if side in function.attributes:
        entries = [
            {named.name: named.attr for named in ir.DictAttr(entry)}
            for entry in ir.ArrayAttr(function.attributes[side])
        ]
        llvm = [
            {name: value for name, value in entry.items() if name.startswith(DIALECTS)}
            for entry in entries
        ]
        if llvm != entries:
            function.attributes[side] = ir.ArrayAttr.get([*map(ir.DictAttr.get, llvm)])
