"""Make kernels of a GPU find what lies at addresses of paged memory (`ir/memory/pages.py`).

Assumes outlined kernels, and arguments of the host's functions that are marked as addresses of
paged memory. Behind it every function that has such arguments takes the header of all pages as its
last one, and every access to paged memory goes to a page: a read of what was never written to finds
zeros, a write takes a page where there is none.
"""

from mlirad.bindings import ir
from mlirad.ir.memory.descriptor import pointer_type
from mlirad.ir.ops import Gpu
from mlirad.ir.requirements import launches_of_outlined_kernels, refuse, symbol_of
from mlirad.ir.signature import (
    PAGED,
    Attributes,
    function_type,
    pages_label,
    parameter_attributes,
    set_signature,
)
from mlirad.ir.walk import before, block_operations, enclosing, entry_of, functions, operations
from mlirad.passes.memory.lower_paged_fields.page_accesses import Access, accesses_of, lower_access
from mlirad.passes.memory.lower_paged_fields.page_functions import add_page_functions

REQUIRES = (launches_of_outlined_kernels,)
_OPERANDS = 11  # the segment of a launch that has the kernel's arguments


def lower_paged_fields(module: ir.Operation) -> None:
    """Let accesses to paged memory find their page."""
    for function in functions(module):
        paged = _paged_arguments(function)
        by_launch = _accesses_by_launch(module, function, paged) if paged else {}
        accesses = [access for listed in by_launch.values() for access in listed]
        if not accesses:
            continue
        may_take = any(access.writes for access in accesses)
        header = _add_header(function, pages_label(may_take=may_take))
        kernels = {launch: _kernel_of(module, launch) for launch in by_launch}
        for holder in {enclosing(kernel) for kernel in kernels.values()}:
            add_page_functions(holder, may_take=may_take)
        for launch, kernel in kernels.items():
            inner, listed = _add_header(kernel, {}), by_launch[launch]
            takes = any(access.writes for access in listed)
            for access in listed:
                lower_access(access, inner, may_take=takes)
            _pass_header(launch, header)


def _paged_arguments(function: ir.Operation) -> list[ir.Value]:
    """The arguments of a function that are addresses of paged memory: launches alone use them."""
    labels = parameter_attributes(function)
    arguments: list[ir.Value] = [
        argument for argument, label in zip(entry_of(function).arguments, labels) if PAGED in label
    ]
    for argument in arguments:
        for use in argument.uses:
            if use.owner.name != Gpu.LAUNCH_FUNC:
                refuse(use.owner.operation, f"'{use.owner.name}' of memory in pages")
    return arguments


def _accesses_by_launch(
    module: ir.Operation, function: ir.Operation, paged: list[ir.Value]
) -> dict[ir.Operation, list[Access]]:
    """The accesses to paged memory of the kernels that a function launches, where there are any."""
    by_launch: dict[ir.Operation, list[Access]] = {}
    for launch in operations(function):
        if launch.name != Gpu.LAUNCH_FUNC or not any(value in paged for value in launch.operands):
            continue
        arguments = list(entry_of(_kernel_of(module, launch)).arguments)
        count = len(function_type(_kernel_of(module, launch)).inputs)
        passed = list(launch.operands)[len(launch.operands) - count :]
        pointers = [argument for argument, value in zip(arguments, passed) if value in paged]
        if accesses := [access for pointer in pointers for access in accesses_of(pointer)]:
            by_launch[launch] = accesses
    return by_launch


def _kernel_of(module: ir.Operation, launch: ir.Operation) -> ir.Operation:
    names = ir.SymbolRefAttr(launch.attributes["kernel"]).value
    block = module.regions[0].blocks[0]
    for name in names:
        inside = [op for op in block_operations(block) if "sym_name" in op.attributes]
        (op,) = [op for op in inside if symbol_of(op) == name]
        block = op.regions[0].blocks[0]
    return op


def _add_header(function: ir.Operation, label: Attributes) -> ir.Value:
    """A new last argument."""
    labels = [*parameter_attributes(function), label]
    header = entry_of(function).add_argument(pointer_type(), function.location)
    set_signature(function, [], labels)
    return header


def _pass_header(launch: ir.Operation, header: ir.Value) -> None:
    """Pass the header to a kernel."""
    sizes = list(ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"]))
    if sizes[0] or any(sizes[_OPERANDS + 1 :]) or len(launch.results):
        refuse(launch, "a launch with a stream")
    sizes[_OPERANDS] += 1
    attributes = {name: launch.attributes[name] for name in launch.attributes}
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(sizes)
    with before(launch):
        ir.Operation.create(launch.name, [], [*launch.operands, header], attributes)
    launch.erase()
