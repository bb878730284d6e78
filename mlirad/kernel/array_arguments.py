"""The array arguments of a kernel's module, and the same kernel with other derivatives."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.field import array_of, is_array, is_store
from mlirad.ir.signature import is_shared, parameter_attributes
from mlirad.ir.walk import accesses, functions
from mlirad.kernel.arguments import NdarrayArgument
from mlirad.kernel.module import KernelModule
from mlirad.types import from_mlir


def array_positions(kernel: KernelModule) -> dict[int, int]:
    """The position among array arguments by the number among all arguments of the kernel's
    function."""
    numbers = _array_numbers(kernel)
    passed = numbers[: len(numbers) - len(kernel.own_arrays)]
    return {number: position for position, number in enumerate(passed)}


def own_numbers(kernel: KernelModule) -> list[int]:
    """The numbers of the arguments that are arrays of a launch's own."""
    numbers = _array_numbers(kernel) if kernel.own_arrays else []
    return numbers[len(numbers) - len(kernel.own_arrays) :]


def shared_arrays(function: ir.Operation) -> list[NdarrayArgument]:
    """The arguments by which the parts of a kernel share locals."""
    types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs
    arguments = []
    for type_, marks in zip(types, parameter_attributes(function)):
        if is_shared(marks):
            element, extents = array_of(type_)
            needs_grad = "field.needs_grad" in marks
            arguments.append(NdarrayArgument(from_mlir(element), 0, extents, needs_grad))
    return arguments


def _array_numbers(kernel: KernelModule) -> list[int]:
    function = functions(kernel.module.operation)[0]
    types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs
    return [number for number, type_ in enumerate(types) if is_array(type_)]


def with_gradients(kernel: KernelModule, positions: frozenset[int]) -> KernelModule:
    """Return a kernel for arrays of which those at some positions have gradients too."""
    arrays = [
        replace(array, needs_grad=array.needs_grad or k in positions)
        for k, array in enumerate(kernel.arrays)
    ]
    with context(), kernel.module.operation.location:
        module = copy_of(kernel.module)
        function = functions(module.operation)[0]
        marks = parameter_attributes(function)
        for number, position in array_positions(kernel).items():
            if arrays[position].needs_grad:
                marks[number]["field.needs_grad"] = ir.UnitAttr.get()
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(list(map(ir.DictAttr.get, marks)))
    return replace(kernel, module=module, arrays=tuple(arrays))


def without_derivative(kernel: KernelModule) -> KernelModule:
    """Return a kernel whose inputs carry no derivative, as by `ti.stop_grad`."""
    if kernel.derivatives is not None:
        return replace(kernel, derivatives=kernel.derivatives.stop())
    with context(), kernel.module.operation.location:
        module = copy_of(kernel.module)
        for op, _, _ in accesses(functions(module.operation)[0]):
            if not is_store(op):
                op.attributes["grad.stop"] = ir.UnitAttr.get()
    return replace(kernel, module=module)


def with_adjoints_apart(
    kernel: KernelModule, symbols: frozenset[str], emptied: Sequence[str]
) -> KernelModule:
    """Return a kernel of whose fields some have adjoints apart from their gradients, once its
    trees are declared anew; of these gradients, which are memory, some are `emptied`."""
    fields = tuple(dict.fromkeys([*kernel.fields, *emptied]))
    with context(), kernel.module.operation.location:
        return replace(kernel, module=copy_of(kernel.module), apart=symbols, fields=fields)


def copy_of(module: ir.Module) -> ir.Module:
    """A copy of a module."""
    copy = ir.Module.create(module.operation.location)
    for op in module.body.operations:
        copy.body.append(op.operation.clone(ip=False))
    return copy
