"""Functions of GPU code as private functions of the host's module, under names of their own."""

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Gpu
from mlirad.ir.requirements import refuse, symbol_of
from mlirad.ir.signature import function_type
from mlirad.ir.walk import at_end, before, block_operations, entry_of, operations

SIZES = 6  # of the grid and of a block, along x, y, z: the first parameters of a kernel


def move_functions(module: ir.Operation, holder: ir.Operation) -> dict[str, ir.Operation]:
    """Move what a `gpu.module` holds to the end of the module; the kernels that it held, by name.

    A kernel's body is then that of a function which takes the sizes in front.
    """
    body = module.regions[0].blocks[0]
    symbols = {symbol_of(op) for op in block_operations(body) if "sym_name" in op.attributes}
    names: dict[str, str] = {}
    moved: list[ir.Operation] = []
    kernels: dict[str, ir.Operation] = {}
    for op in block_operations(holder.regions[0].blocks[0]):
        if "sym_name" not in op.attributes:
            refuse(op, f"'{op.name}' in GPU code, expected functions")
        name = symbol_of(op)
        if _is_declaration(op):
            if name not in symbols:
                op.move_before(holder)
            continue
        names[name] = f"{symbol_of(holder)}.{name}"
        if op.name == Gpu.FUNC:
            is_kernel = "kernel" in op.attributes
            op = _as_function(op, SIZES * is_kernel)
            if is_kernel:
                kernels[name] = op
        op.move_before(holder)
        op.attributes["sym_name"] = ir.StringAttr.get(names[name])
        op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        moved.append(op)
    for op in moved:
        _rename_symbols(op, names)
    return kernels


def _is_declaration(op: ir.Operation) -> bool:
    return all(not len(region.blocks) for region in op.regions) and len(op.regions) == 1


def _as_function(op: ir.Operation, sizes: int) -> ir.Operation:
    """The function of a `gpu.func`, with some indices as parameters in front."""
    if len(op.regions[0].blocks) != 1:
        refuse(op, "a kernel of several blocks, expected structured control flow")
    old = entry_of(op)
    inputs = list(function_type(op).inputs)
    types = [*[b.index_type()] * sizes, *inputs]
    with before(op):
        function = b.function(symbol_of(op), types, is_private=False)
    if "arg_attrs" in op.attributes:
        labels = [ir.DictAttr.get({})] * sizes + list(ir.ArrayAttr(op.attributes["arg_attrs"]))
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(labels)
    entry = entry_of(function)
    for argument, new in zip(old.arguments, list(entry.arguments)[sizes:]):
        argument.replace_all_uses_with(new)
    with at_end(entry, op.location):
        for argument in list(old.arguments)[len(inputs) :]:
            argument.replace_all_uses_with(b.alloca(argument.type))
        end = b.return_()
    for inner in block_operations(old)[:-1]:
        inner.move_before(end)
    op.erase()
    return function


def _rename_symbols(function: ir.Operation, names: dict[str, str]) -> None:
    for op in operations(function):
        for name, attribute in op.attributes.items():
            if isinstance(attribute, ir.FlatSymbolRefAttr) and attribute.value in names:
                op.attributes[name] = ir.FlatSymbolRefAttr.get(names[attribute.value])
