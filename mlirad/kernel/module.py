"""What a frontend makes of a kernel, and hands over."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.data_classes import data_class
from mlirad.kernel.arguments import NdarrayArgument
from mlirad.kernel.form import Form
from mlirad.types import DataType


@data_class
class KernelModule:
    """The field-level module of one kernel, and what a launch has to pass and gets back."""

    module: ir.Module
    name: str
    uses_seed: bool
    results: tuple[DataType, ...]
    result_form: Form | None
    arrays: tuple[NdarrayArgument, ...] = ()
    fields: tuple[str, ...] = ()
    gradients: tuple[str, ...] = ()  # parameters behind which the gradient is passed as an array
