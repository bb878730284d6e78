"""Tell outlined kernels what the host's function knows of its arguments: pointers to fields do not
alias, and are aligned, as is the memory that blocks share."""

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.memory.origins import Origins, is_view
from mlirad.ir.ops import Gpu, Llvm, Memref, Vector
from mlirad.ir.requirements import launches_of_outlined_kernels, symbol_of
from mlirad.ir.signature import ALIGN, NOALIAS, Attributes, function_type, parameter_attributes
from mlirad.ir.walk import block_operations, entry_of, functions, operations, users_of

REQUIRES = (launches_of_outlined_kernels,)

_SHARED = "workgroup_attributions"  # how many, of a kernel
_WIDEST = 16  # bytes that an instruction loads or stores
_LOADS = (Llvm.LOAD, Memref.LOAD, Vector.LOAD)


def mark_kernel_arguments(module: ir.Operation) -> None:
    """Copy `llvm.noalias` and `llvm.align` from the arguments of functions to those of the kernels
    that they launch.

    A pointer is marked `llvm.noalias` only if the kernel has no other pointer to the same array,
    and, if threads wait for each other, only if the kernel does not write to the array: LLVM
    assumes that a barrier does not change the memory of such a pointer.
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
        {
            name: label
            for name, label in marks.get(value, {}).items()
            if name != NOALIAS or (is_alone and not _is_exchanged(argument, kernel))
        }
        for value, argument, is_alone in zip(
            passed, entry_of(kernel).arguments, Origins().are_alone(passed)
        )
    ]
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(list(map(ir.DictAttr.get, labels)))
    if _SHARED in kernel.attributes:
        shared = ir.IntegerAttr(kernel.attributes[_SHARED]).value
        aligned = ir.DictAttr.get({ALIGN: ir.IntegerAttr.get(b.integer_type(64), _WIDEST)})
        kernel.attributes["workgroup_attrib_attrs"] = ir.ArrayAttr.get([aligned] * shared)


def _is_exchanged(argument: ir.Value, kernel: ir.Operation) -> bool:
    """Return whether threads may pass values to each other in the memory of an argument: they wait
    for each other, and it is not only read."""
    if all(op.name != Gpu.BARRIER for op in operations(kernel)):
        return False
    pending = users_of(argument)
    while pending:
        op = pending.pop()
        if is_view(op):
            pending += [user for result in op.results for user in users_of(result)]
        elif op.name not in _LOADS:
            return True
    return False
