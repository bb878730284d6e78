"""Address spaces of AMD GPUs: what kernels are passed is global memory, what threads allocate is
private.

Runs on kernels in LLVM's dialect. Pointers get their space where they come from, and are cast to
what the code expects; LLVM finds out how far the space goes. Without it, loads and stores would ask
at run time which memory they go to, and LLVM would not take the allocations.
"""

from mlirad.bindings import ir
from mlirad.ir.ops import Llvm
from mlirad.ir.walk import entry_of, has_uses, llvm_functions, operations, users_of

_GLOBAL, _PRIVATE = 1, 5
_KERNEL = "rocdl.kernel"
_LIFETIMES = (Llvm.INTR_LIFETIME_START, Llvm.INTR_LIFETIME_END)


def insert_address_spaces(module: ir.Operation) -> None:
    """Give the arguments of kernels, and the memory that their threads allocate, their address
    spaces on AMD GPUs."""
    generic = ir.Type.parse("!llvm.ptr")
    for function in llvm_functions(module):
        if _KERNEL in function.attributes:
            _mark_parameters(function, generic)
        for op in list(operations(function)):
            if op.name == Llvm.ALLOCA and op.results[0].type == generic:
                with ir.InsertionPoint.after(op), op.location:
                    _cast(op.results[0], _PRIVATE)


def _mark_parameters(kernel: ir.Operation, generic: ir.Type) -> None:
    entry = entry_of(kernel)
    with ir.InsertionPoint.at_block_begin(entry), kernel.location:
        for argument in entry.arguments:
            if argument.type == generic:
                _cast(argument, _GLOBAL)
    inputs = ", ".join(str(argument.type) for argument in entry.arguments)
    type_ = ir.Type.parse(f"!llvm.func<void ({inputs})>")
    kernel.attributes["function_type"] = ir.TypeAttr.get(type_)


def _cast(pointer: ir.Value, space: int) -> None:
    """Have a pointer be of a space, and its users take a generic one."""
    generic = pointer.type
    pointer.set_type(ir.Type.parse(f"!llvm.ptr<{space}>"))
    if has_uses(pointer):
        cast = ir.Operation.create(Llvm.ADDRSPACECAST, [generic], [pointer])
        pointer.replace_all_uses_except(cast.results[0], _direct_users(pointer, cast))


def _direct_users(pointer: ir.Value, cast: ir.Operation) -> list[ir.Operation]:
    """Return the ops that use the memory itself, as marks of its lifetime must."""
    users = users_of(pointer)
    return [cast, *(op for op in users if op.name in _LIFETIMES)]
