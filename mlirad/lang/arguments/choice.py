"""The part of an argument that belongs to the compiled kernel."""

from __future__ import annotations

from collections.abc import Hashable

from mlirad.errors import TaichiRuntimeTypeError
from mlirad.kernel.arguments import Argument, ConstantArgument
from mlirad.lang.arguments.arrays import describe_array
from mlirad.lang.arguments.constants import constant_key
from mlirad.lang.arguments.parameters import NDARRAY, TEMPLATE, Parameter
from mlirad.lang.arguments.values import value_argument
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.config import Config


def frontend_argument(param: Parameter, value: object, config: Config) -> Argument:
    """Return an argument as the frontend sees it."""
    if param.kind == TEMPLATE:
        if isinstance(value, Ndarray):
            raise TaichiRuntimeTypeError(
                "Ndarray shouldn't be passed in via `ti.template()`, please annotate your "
                f"kernel using `ti.types.ndarray(...)` instead (argument {param.name})"
            )
        return ConstantArgument(value)
    if param.kind == NDARRAY:
        return describe_array(value, param)
    return value_argument(param.annotation, config)


def key_of(param: Parameter, value: object) -> Hashable:
    """Return the key of an argument, which decides which compiled kernel is used."""
    if param.kind == TEMPLATE:
        key = constant_key(value)
        return id(value) if key is None else key
    return describe_array(value, param) if param.kind == NDARRAY else None
