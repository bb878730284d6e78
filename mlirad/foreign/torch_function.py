"""A function of arrays as one of torch's autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from mlirad.foreign.array_function import ArrayFunction, Port, floats, refuse_in_a_tape
from mlirad.runtime.program import program


class TorchFunction:
    """Takes torch's tensors and gives new ones, as `pack` puts them together; `backward` calls the
    reverse, which is such a function again, so that gradients have gradients."""

    def __init__(self, function: ArrayFunction, pack: Callable[[Sequence[Any]], Any]) -> None:
        self.function, self._pack = function, pack
        self._reverses: dict[tuple[int, ...], TorchFunction] = {}
        self.floats = floats(function.outputs)

    def __call__(self, *tensors: Any) -> Any:
        refuse_in_a_tape(program().threads.recorder, self.function.__name__, "torch's autograd")
        self._check(tensors)
        return self._pack(_autograd_function().apply(self, *tensors))

    def _check(self, tensors: Sequence[Any]) -> None:
        """Raise before torch is between the program's line and us."""
        import torch

        for one in tensors:
            if not isinstance(one, torch.Tensor):
                raise TypeError(
                    f"{self.function.__name__}: a {type(one).__name__} is no tensor of torch"
                )
        self.function.shapes(tensors)

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
            self._reverses[wanted] = TorchFunction(self.function.reverse(wanted), list)
        return self._reverses[wanted]


def _empty(shape: tuple[int, ...], one: Port, like: Any) -> Any:
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
