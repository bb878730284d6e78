"""Tell outlined kernels what the host's function knows of its arguments: pointers to fields do not
alias."""

from mlirad.bindings import ir
from mlirad.ir.requirements import launches_of_outlined_kernels
from mlirad.ir.walk import block_operations, entry_of, functions, operations

REQUIRES = (launches_of_outlined_kernels,)


def mark_kernel_arguments(module: ir.Operation) -> None:
    """Copy `llvm.noalias` from the arguments of functions to those of the kernels they launch."""
    kernels = _kernels(module)
    for function in functions(module):
        private = _private_pointers(function)
        for op in operations(function):
            if op.name == "gpu.launch_func":
                _mark(op, kernels, private)


def _kernels(module: ir.Operation) -> dict[tuple[str, str], ir.Operation]:
    found = {}
    for holder in block_operations(module.regions[0].blocks[0]):
        if holder.name == "gpu.module":
            for op in block_operations(holder.regions[0].blocks[0]):
                if op.name == "gpu.func":
                    found[_name(holder), _name(op)] = op
    return found


def _name(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value


def _private_pointers(function: ir.Operation) -> set[ir.Value]:
    if "arg_attrs" not in function.attributes:
        return set()
    given = ir.ArrayAttr(function.attributes["arg_attrs"])
    return {
        argument
        for argument, attributes in zip(entry_of(function).arguments, given)
        if "llvm.noalias" in ir.DictAttr(attributes)
    }


def _mark(
    launch: ir.Operation, kernels: dict[tuple[str, str], ir.Operation], private: set[ir.Value]
) -> None:
    holder, name = ir.SymbolRefAttr(launch.attributes["kernel"]).value
    kernel = kernels[holder, name]
    passed = (
        list(launch.operands)[-len(entry_of(kernel).arguments) :]
        if len(entry_of(kernel).arguments)
        else []
    )
    noalias = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [noalias if value in private else ir.DictAttr.get({}) for value in passed]
    )
