"""Operators: functions from tensors to a tensor, which may have a gradient of their own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from mlirad.errors import TaichiTypeError
from mlirad.te.definitions.arguments import Parameters, checked, refuse, shown
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
        given = self._parameters.check(args, keywords)
        made = self.function(*given.args, **given.kwargs)
        if self.gradient is not None:
            tensors = _tensors([*given.args, *given.kwargs.values()])
            graph().give_gradient(_result(made, self.function), tensors, self.gradient)
        return made

    def def_gradient(self, gradient: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """Give calls that come from now on a gradient `f(output, inputs, head)` of their own; None
        takes it away. Raises TaichiTypeError for what is no function."""
        if gradient is not None and not callable(gradient):
            what = f"{self.function.__name__}.def_gradient"
            refuse(what, "gradient", f"is {shown(gradient)}, expected a function")
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


def _result(made: Any, function: Callable[..., Any]) -> Tensor:
    if not isinstance(made, Tensor):
        raise TaichiTypeError(
            f"{function.__name__}: an operator with a gradient gave {shown(made)}, expected a "
            "tensor",
            place(),
        )
    return made


@checked
def operator(function: Callable[..., Tensor]) -> Operator:
    """Make an operator of a function from tensors to a tensor. Raises TaichiTypeError for what has
    no signature."""
    try:
        return Operator(function)
    except ValueError as error:
        raise TaichiTypeError(f"operator: function has no signature: {error}", place()) from None


def _tensors(given: Sequence[Any]) -> list[Tensor]:
    """The tensors among some arguments, also within lists."""
    each = [_tensors(one) if isinstance(one, tuple | list) else [one] for one in given]
    return [one for part in each for one in part if isinstance(one, Tensor)]


@checked
def stop_gradient(tensor: Tensor) -> Tensor:
    """The same numbers, of the same shape and type, through which no derivative passes."""
    made = compute(tensor.shape, lambda *indices: tensor[indices], f"{tensor.name}.stopped")
    stop(made)
    return made
