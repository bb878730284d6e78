"""Tell outlined kernels what the host's function knows of its arguments: pointers to fields do not
alias, and are aligned, as is the memory that blocks share."""

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.memory.origins import Origins
from mlirad.ir.ops import Gpu
from mlirad.ir.requirements import launches_of_outlined_kernels, symbol_of
from mlirad.ir.signature import ALIGN, NOALIAS, Attributes, function_type, parameter_attributes
from mlirad.ir.walk import block_operations, entry_of, functions, operations

REQUIRES = (launches_of_outlined_kernels,)

_SHARED = "workgroup_attributions"  # how many, of a kernel
_WIDEST = 16  # bytes that an instruction loads or stores


def mark_kernel_arguments(module: ir.Operation) -> None:
    """Copy `llvm.noalias` and `llvm.align` from the arguments of functions to those of the kernels
    that they launch.

    That a pointer does not alias is said only where the kernel has no other to the same array.
    """
    kernels = _kernels(module)
    for function in functions(module):
        marks = _argument_marks(function)
        for op in operations(function):
            if op.name == Gpu.LAUNCH_FUNC:
                _mark(op, kernels, marks)


def _kernels(module: ir.Operation) -> dict[tuple[str, str], ir.Operation]:
    kernels = {}
    for holder in block_operations(module.regions[0].blocks[0]):
        if holder.name == Gpu.MODULE:
            for op in block_operations(holder.regions[0].blocks[0]):
                if op.name == Gpu.FUNC:
                    kernels[symbol_of(holder), symbol_of(op)] = op
    return kernels


def _argument_marks(function: ir.Operation) -> dict[ir.Value, Attributes]:
    """Return what LLVM may know of the arguments of a function."""
    return {
        argument: {name: labels[name] for name in (NOALIAS, ALIGN) if name in labels}
        for argument, labels in zip(entry_of(function).arguments, parameter_attributes(function))
    }


def _mark(
    launch: ir.Operation,
    kernels: dict[tuple[str, str], ir.Operation],
    marks: dict[ir.Value, Attributes],
) -> None:
    holder, name = ir.SymbolRefAttr(launch.attributes["kernel"]).value
    kernel = kernels[holder, name]
    count = len(function_type(kernel).inputs)  # behind them is what blocks share
    passed = list(launch.operands)[len(launch.operands) - count :]
    labels = [
        {name: label for name, label in marks.get(value, {}).items() if is_alone or name != NOALIAS}
        for value, is_alone in zip(passed, Origins().are_alone(passed))
    ]
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(list(map(ir.DictAttr.get, labels)))
    if _SHARED in kernel.attributes:
        shared = ir.IntegerAttr(kernel.attributes[_SHARED]).value
        aligned = ir.DictAttr.get({ALIGN: ir.IntegerAttr.get(b.integer_type(64), _WIDEST)})
        kernel.attributes["workgroup_attrib_attrs"] = ir.ArrayAttr.get([aligned] * shared)
