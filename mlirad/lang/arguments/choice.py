"""What of an argument is part of the compiled kernel."""

from __future__ import annotations

from collections.abc import Hashable
from math import prod

from mlirad.errors import TaichiRuntimeTypeError
from mlirad.kernel.arguments import Argument, ConstantArgument, ValueArgument
from mlirad.kernel.form import MatrixForm, ScalarForm
from mlirad.lang.arguments.arrays import describe_array
from mlirad.lang.arguments.constants import constant_key
from mlirad.lang.arguments.numbers import scalar_dtype
from mlirad.lang.arguments.parameters import MATRIX, NDARRAY, STRUCT, TEMPLATE, Parameter
from mlirad.lang.arguments.structs import struct_argument
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.config import Config


def frontend_argument(param: Parameter, value: object, config: Config) -> Argument:
    """How the frontend sees an argument."""
    if param.kind == TEMPLATE:
        if isinstance(value, Ndarray):
            raise TaichiRuntimeTypeError(
                "Ndarray shouldn't be passed in via `ti.template()`, please annotate your "
                f"kernel using `ti.types.ndarray(...)` instead (argument {param.name})"
            )
        return ConstantArgument(value)
    if param.kind == NDARRAY:
        return describe_array(value, param)
    if param.kind == MATRIX:
        shape = param.annotation.shape
        return ValueArgument(MatrixForm(shape), (scalar_dtype(param, config),) * prod(shape))
    if param.kind == STRUCT:
        return struct_argument(param.annotation, config)
    return ValueArgument(ScalarForm(), (scalar_dtype(param, config),))


def key_of(param: Parameter, value: object) -> Hashable:
    """What of an argument decides which compiled kernel is used."""
    if param.kind == TEMPLATE:
        key = constant_key(value)
        return id(value) if key is None else key
    return describe_array(value, param) if param.kind == NDARRAY else None
