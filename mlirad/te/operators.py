"""Operators: functions from tensors to a tensor, which may have a gradient of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from mlirad.ir.walk import owner_operation
from mlirad.te.compute import compute
from mlirad.te.dependencies import STOP
from mlirad.te.graph import graph
from mlirad.te.tensor import Tensor

_gradients: dict[Tensor, tuple[Sequence[Tensor], Callable[..., Any]]] = {}


class Operator:
    """A function of tensors; `operator.def_gradient(f)` gives it a gradient.

    `f(output, inputs, head)` gives an adjoint for each tensor among the arguments, in their order.
    """

    def __init__(self, function: Callable[..., Tensor]) -> None:
        self.function = function
        self.gradient: Callable[..., Any] | None = None
        update_wrapper(self, function)

    def __call__(self, *args: Any, **keywords: Any) -> Tensor:
        made = self.function(*args, **keywords)
        if self.gradient is not None:
            given = [*args, *keywords.values()]
            _gradients[made] = ([one for one in given if isinstance(one, Tensor)], self.gradient)
        return made

    def def_gradient(self, gradient: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """Give calls that come from now on a gradient of their own; None takes it away."""
        self.gradient = gradient
        return gradient


def operator(function: Callable[..., Tensor]) -> Operator:
    """Make an operator of a function from tensors to a tensor."""
    return Operator(function)


def gradient_of(tensor: Tensor) -> tuple[Sequence[Tensor], Callable[..., Any]] | None:
    """The inputs and the gradient of the operator that made a tensor, where it has one."""
    return _gradients.get(tensor)


def stop_gradient(tensor: Tensor) -> Tensor:
    """The same numbers, through which no derivative passes."""
    from mlirad.bindings import ir

    made = compute(tensor.shape, lambda *indices: tensor[indices], f"{tensor.name}.stopped")
    with graph().defining(made.place):
        owner_operation(made.value).attributes[STOP] = ir.UnitAttr.get()
    return made
