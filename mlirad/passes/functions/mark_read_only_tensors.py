"""Have buffers of tensors that a function takes be read only: who calls it keeps his tensors.

Nothing is assumed. The mark is upstream's, `bufferization.writable`.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.requirements import is_private
from mlirad.ir.signature import label_parameters, parameter_attributes
from mlirad.ir.walk import entry_of, functions


def mark_read_only_tensors(module: ir.Operation) -> None:
    """Mark the tensor arguments of public functions as read-only."""
    for function in functions(module):
        if is_private(function):
            continue
        labels = [
            label | _mark(argument.type)
            for argument, label in zip(
                entry_of(function).arguments, parameter_attributes(function), strict=True
            )
        ]
        if any(labels):
            for name, attribute in label_parameters(labels).items():
                function.attributes[name] = attribute


def _mark(type_: ir.Type) -> dict[str, ir.Attribute]:
    if not isinstance(type_, ir.RankedTensorType):
        return {}
    return {"bufferization.writable": ir.BoolAttr.get(False)}
