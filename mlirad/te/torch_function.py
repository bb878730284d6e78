"""A built function as one of torch's autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np

from mlirad.errors import TaichiRuntimeError
from mlirad.runtime.program import program
from mlirad.te.tensor import Tensor


class OfArrays(Protocol):
    """A built function."""

    __name__: str
    inputs: list[Tensor]
    outputs: list[Tensor]

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Call it."""

    def shapes(self, arrays: Sequence[Any]) -> list[tuple[int, ...]]:
        """Those of the outputs."""


class TorchFunction:
    """Takes torch's tensors and gives new ones; `backward` calls the reverse, which is such a
    function again, so that gradients have gradients.

    `reverse` builds the adjoints of some inputs, by their numbers: a function of the inputs and of
    the adjoints of the outputs of floats.
    """

    def __init__(
        self,
        function: OfArrays,
        reverse: Callable[[Sequence[int]], TorchFunction],
        *,
        gives_list: bool,
    ) -> None:
        self.function, self._reverse_of = function, reverse
        self._gives_list = gives_list
        self._reverses: dict[tuple[int, ...], TorchFunction] = {}
        self.floats = [k for k, one in enumerate(function.outputs) if one.dtype.is_float]

    def __call__(self, *tensors: Any) -> Any:
        if program().threads.recorder is not None:
            raise TaichiRuntimeError(
                f"{self.function.__name__}: a function of torch's autograd was called in a tape or "
                "a forward mode, which do not see tensors of torch's graph: call the built function"
            )
        found = _autograd_function().apply(self, *tensors)
        return list(found) if self._gives_list else found[0]

    def run(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs, without a record."""
        given = [one.detach().contiguous() for one in tensors]
        shapes, outputs = self.function.shapes(given), self.function.outputs
        like = given[0] if given else None
        made = [_empty(shape, one, like) for shape, one in zip(shapes, outputs)]
        self.function(*given, out=made)
        return tuple(made)

    def reverse(self, wanted: tuple[int, ...]) -> TorchFunction:
        """What gives the adjoints of some inputs."""
        if wanted not in self._reverses:
            self._reverses[wanted] = self._reverse_of(wanted)
        return self._reverses[wanted]


def _empty(shape: tuple[int, ...], one: Tensor, like: Any) -> Any:
    import torch

    dtype = torch.from_numpy(np.empty(0, one.dtype.numpy)).dtype
    return torch.empty(shape, dtype=dtype, device=None if like is None else like.device)


@cache
def _autograd_function() -> Any:
    """The `torch.autograd.Function` of all built functions; torch is imported when one is
    called."""
    import torch

    class Autograd(torch.autograd.Function):  # type: ignore[misc, name-defined, unused-ignore]
        """Torch keeps the inputs, and notices where they are changed before the reverse."""

        @staticmethod
        def forward(ctx: Any, function: TorchFunction, *tensors: Any) -> Any:
            ctx.function = function
            ctx.save_for_backward(*tensors)
            found = function.run(tensors)
            ctx.mark_non_differentiable(*(one for one in found if not one.is_floating_point()))
            return found

        @staticmethod
        def backward(ctx: Any, *heads: Any) -> Any:
            function, needs = ctx.function, ctx.needs_input_grad[1:]
            wanted = tuple(k for k, one in enumerate(needs) if one)
            own = [heads[k] for k in function.floats]
            found = function.reverse(wanted)(*ctx.saved_tensors, *own)
            adjoints = dict(zip(wanted, found))
            return None, *(adjoints.get(k) for k in range(len(needs)))

    return Autograd
