"""Operators: functions from tensors to a tensor, which may have a gradient of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from inspect import signature
from typing import Any

from mlirad.errors import TaichiTypeError
from mlirad.te.compute import compute
from mlirad.te.dependencies import stop
from mlirad.te.graph import graph
from mlirad.te.places import place
from mlirad.te.tensor import Tensor


class Operator:
    """A function of tensors; `operator.def_gradient(f)` gives it a gradient.

    `f(output, inputs, head)` gives an adjoint for each tensor among the arguments, in their order.
    """

    def __init__(self, function: Callable[..., Tensor]) -> None:
        self.function = function
        self.gradient: Callable[..., Any] | None = None
        self._parameters = signature(function).parameters
        update_wrapper(self, function)

    def __call__(self, *args: Any, **keywords: Any) -> Tensor:
        for name, one in [*zip(self._parameters, args), *keywords.items()]:
            self._check(name, one)
        made = self.function(*args, **keywords)
        if self.gradient is not None:
            graph().give_gradient(made, _tensors([*args, *keywords.values()]), self.gradient)
        return made

    def _check(self, name: str, given: Any) -> None:
        """Raise TaichiTypeError for what is no tensor where the function says that it takes one."""
        known = self._parameters.get(name)
        says = "" if known is None else getattr(known.annotation, "__name__", known.annotation)
        is_right = isinstance(given, Tensor) or (given is None and says == "Tensor | None")
        if says in ("Tensor", "Tensor | None") and not is_right:
            raise TaichiTypeError(
                f"{self.function.__name__}: {name} is a {type(given).__name__}, expected a tensor",
                place(),
            )

    def def_gradient(self, gradient: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """Give calls that come from now on a gradient of their own; None takes it away."""
        self.gradient = gradient
        return gradient


def operator(function: Callable[..., Tensor]) -> Operator:
    """Make an operator of a function from tensors to a tensor."""
    return Operator(function)


def _tensors(given: Sequence[Any]) -> list[Tensor]:
    """The tensors among some arguments, also within lists."""
    each = [_tensors(one) if isinstance(one, tuple | list) else [one] for one in given]
    return [one for part in each for one in part if isinstance(one, Tensor)]


def stop_gradient(tensor: Tensor) -> Tensor:
    """The same numbers, through which no derivative passes."""
    made = compute(tensor.shape, lambda *indices: tensor[indices], f"{tensor.name}.stopped")
    stop(made)
    return made
