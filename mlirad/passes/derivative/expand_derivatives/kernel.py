"""The kernel that a function is: its parameters, and which of them have derivatives."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import is_write, split_access
from mlirad.ir.marks.roles import EXTENTS, ROLE, Role
from mlirad.ir.signature import NEEDS_GRAD, Attributes, label_parameters, parameter_attributes
from mlirad.ir.walk import entry_of, operations
from mlirad.passes.derivative.expand_derivatives.storage import Parameter
from mlirad.passes.derivative.expand_derivatives.target import Target


class Kernel:
    """A function on arrays, in a module of its own."""

    def __init__(self, module: ir.Operation, function: ir.Operation, target: Target) -> None:
        self.module, self.function, self.target = module, function, target
        labels = parameter_attributes(function)
        arguments = entry_of(function).arguments
        self.parameters = [_parameter(*item) for item in enumerate(zip(arguments, labels))]
        positions = {argument: position for position, argument in enumerate(arguments)}
        arrays = [split_access(op)[0] for op in operations(function) if is_write(op)]
        self.written = {positions[array] for array in arrays if array in positions}
        target.written.update(
            p.source
            for p in self.parameters
            if p.role is Role.ARGUMENT and p.position in self.written and isinstance(p.source, int)
        )
        self.carriers = [p for p in self.parameters if self._carries(p)]

    def mark(self) -> None:
        """Mark the parameters that have derivatives, and no others."""
        labels = parameter_attributes(self.function)
        for label in labels:
            label.pop(NEEDS_GRAD, None)
        for parameter in self.carriers:
            labels[parameter.position][NEEDS_GRAD] = ir.UnitAttr.get()
        self.function.attributes["arg_attrs"] = label_parameters(labels)["arg_attrs"]

    def argument(self, number: int) -> Parameter:
        """Return the parameter that an argument of the function is."""
        return self._of(Role.ARGUMENT, number)

    def result(self, number: int) -> Parameter:
        """Return the parameter that a result of the function is."""
        return self._of(Role.RESULT, number)

    def _of(self, role: Role, number: int) -> Parameter:
        return next(p for p in self.parameters if p.role is role and p.source == number)

    def _carries(self, parameter: Parameter) -> bool:
        """Return whether a parameter has a derivative: an active argument, a result, an allocation;
        and a constant argument that is written to, through which a derivative may pass."""
        if not parameter.holds_floats or parameter.role is Role.CONSTANT:
            return False
        if parameter.role is not Role.ARGUMENT:
            return True
        return parameter.source in self.target.active or parameter.position in self.written


def _parameter(position: int, labelled: tuple[ir.Value, Attributes]) -> Parameter:
    value, label = labelled
    name, *source = ir.ArrayAttr(label[ROLE])
    return Parameter(
        position,
        value.type,
        Role(ir.StringAttr(name).value),
        _source(source[0]) if source else None,
        label.get(EXTENTS),
    )


def _source(attribute: ir.Attribute) -> int | str:
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        return attribute.value
    return ir.IntegerAttr(attribute).value
