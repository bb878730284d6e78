"""Operators: functions from tensors to a tensor, which may have a gradient of their own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from mlirad.errors import TaichiTypeError
from mlirad.te.definitions.arguments import Parameters, check_arguments, refuse, shown_value
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.dependencies import stop
from mlirad.te.graph import graph
from mlirad.te.places import place
from mlirad.te.tensor import Tensor


class Operator:
    """A function of tensors; `operator.def_gradient(f)` gives it a gradient.

    `f(output, inputs, head)` is given the tensor that the operator gave, the list of tensors among
    its arguments, in their order, and the adjoint of the output. It gives an adjoint for each of
    them. Parameters of these names may be in any order.
    """

    def __init__(self, function: Callable[..., Tensor]) -> None:
        self.function = function
        self.gradient: Callable[..., Any] | None = None
        self._parameters = Parameters(function)
        update_wrapper(self, function)

    def __call__(self, *args: Any, **keywords: Any) -> Tensor:
        bound = self._parameters.check(args, keywords)
        result = self.function(*bound.args, **bound.kwargs)
        if self.gradient is not None:
            tensors = _tensors([*bound.args, *bound.kwargs.values()])
            graph().give_gradient(_result(result, self.function), tensors, self.gradient)
        return result

    def def_gradient(self, gradient: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """Give calls that come from now on a gradient `f(output, inputs, head)` of their own; None
        takes it away. Raises TaichiTypeError for what is no function."""
        if gradient is not None and not callable(gradient):
            caller = f"{self.function.__name__}.def_gradient"
            refuse(caller, "gradient", f"is {shown_value(gradient)}, expected a function")
        self.gradient = None if gradient is None else _by_names(gradient)
        return gradient


def _by_names(gradient: Callable[..., Any]) -> Callable[..., Any]:
    """A gradient that is called by the names of its parameters, if it has those of `Operator`."""
    try:
        names = set(inspect.signature(gradient).parameters)
    except ValueError:
        return gradient
    if names != {"output", "inputs", "head"}:
        return gradient
    return lambda output, inputs, head: gradient(output=output, inputs=inputs, head=head)


def _result(result: Any, function: Callable[..., Any]) -> Tensor:
    if not isinstance(result, Tensor):
        raise TaichiTypeError(
            f"{function.__name__}: an operator with a gradient returned {shown_value(result)}, "
            "expected a tensor",
            place(),
        )
    return result


@check_arguments
def operator(function: Callable[..., Tensor]) -> Operator:
    """Make an operator of a function that takes tensors and returns a tensor. Raises
    TaichiTypeError if the function has no signature."""
    try:
        return Operator(function)
    except ValueError as error:
        raise TaichiTypeError(f"operator: function has no signature: {error}", place()) from None


def named_operator(function: Callable[..., Tensor], name: str, doc: str) -> Operator:
    """Make an operator of a function that another one returns, with a name and a docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return operator(function)


def _tensors(arguments: Sequence[Any]) -> list[Tensor]:
    """The tensors among some arguments, also within lists."""
    tensors: list[Tensor] = []
    for argument in arguments:
        if isinstance(argument, tuple | list):
            tensors += _tensors(argument)
        elif isinstance(argument, Tensor):
            tensors.append(argument)
    return tensors


@check_arguments
def stop_gradient(tensor: Tensor) -> Tensor:
    """Return a copy of a tensor through which no derivative passes."""
    copy = compute(tensor.shape, lambda *indices: tensor[indices], f"{tensor.name}.stopped")
    stop(copy)
    return copy
