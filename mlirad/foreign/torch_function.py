"""A function of arrays as one of torch's autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from mlirad.foreign.array_function import ArrayFunction, Port, floats, refuse_in_a_tape
from mlirad.runtime.program import program


class TorchFunction:
    """Takes torch's tensors and gives new ones, as `pack` puts them together. Its reverse and its
    tangent are such functions again, so that derivatives have derivatives; `torch.func.vmap` calls
    it for one row after the other."""

    def __init__(self, function: ArrayFunction, pack: Callable[[Sequence[Any]], Any]) -> None:
        self.function, self._pack = function, pack
        self._reverses: dict[tuple[int, ...], TorchFunction] = {}
        self._tangents: dict[tuple[int, ...], TorchFunction] = {}
        self.floats = floats(function.outputs)

    def __call__(self, *tensors: Any) -> Any:
        refuse_in_a_tape(program().threads.recorder, self.function.__name__, "torch's autograd")
        self._check(tensors)
        return self._pack(_autograd_function().apply(self, *tensors))

    def _check(self, tensors: Sequence[Any]) -> None:
        """Raise before torch is between the program's line and us."""
        import torch

        for number, tensor in enumerate(tensors):
            if not isinstance(tensor, torch.Tensor):
                raise TypeError(
                    f"{self.function.__name__}: argument {number}: expected a torch.Tensor, got "
                    f"{type(tensor).__name__}"
                )
        self.function.shapes(list(map(_without_data, tensors)))

    def run(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs, without a record."""
        arguments = [tensor.detach().contiguous() for tensor in tensors]
        shapes, outputs = self.function.shapes(arguments), self.function.outputs
        like = arguments[0] if arguments else None
        results = [_empty(shape, port, like) for shape, port in zip(shapes, outputs)]
        self.function(*arguments, out=results)
        return tuple(results)

    def reverse(self, numbers: tuple[int, ...]) -> TorchFunction:
        """Return the function to the adjoints of some inputs."""
        if numbers not in self._reverses:
            self._reverses[numbers] = TorchFunction(self.function.reverse(numbers), list)
        return self._reverses[numbers]

    def tangent(self, numbers: tuple[int, ...]) -> TorchFunction:
        """Return the function from the tangents of some inputs to those of the outputs of
        floats."""
        if numbers not in self._tangents:
            self._tangents[numbers] = TorchFunction(self.function.tangent(numbers), list)
        return self._tangents[numbers]

    def adjoints(self, needs: Sequence[bool], tensors: Sequence[Any], heads: Sequence[Any]) -> Any:
        """Return the adjoints of the inputs that need them, None for others."""
        numbers = tuple(k for k, is_needed in enumerate(needs) if is_needed)
        seeds = [heads[k] for k in self.floats]
        adjoint_of = dict(zip(numbers, self.reverse(numbers)(*tensors, *seeds)))
        return tuple(adjoint_of.get(k) for k in range(len(needs)))

    def tangents(self, tensors: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """Return the tangents of the outputs for those of some inputs, None for others."""
        moving = [k for k, tangent in enumerate(tangents) if tangent is not None]
        numbers = tuple(k for k in moving if self.function.inputs[k].dtype.is_float)
        seeds = [tangents[k] for k in numbers]
        tangent_of = dict(zip(self.floats, self.tangent(numbers)(*tensors, *seeds)))
        return tuple(tangent_of.get(k) for k in range(len(self.function.outputs)))

    def rows(
        self, count: int, axes: Sequence[int | None], tensors: Sequence[Any]
    ) -> tuple[Any, ...]:
        """The outputs for so many rows of those tensors that have an axis of them, one after the
        other."""
        import torch

        def row(k: int) -> Any:
            pairs = zip(tensors, axes)
            arguments = [t if axis is None else t.select(axis, k) for t, axis in pairs]
            return _autograd_function().apply(self, *arguments)

        if count:
            return tuple(map(torch.stack, zip(*map(row, range(count)))))
        like = [
            tensor
            if axis is None
            else tensor.new_empty([*tensor.shape[:axis], *tensor.shape[axis + 1 :]])
            for tensor, axis in zip(tensors, axes)
        ]
        shapes, outputs = self.function.shapes(like), self.function.outputs
        return tuple(_empty((0, *shape), port, like[0]) for shape, port in zip(shapes, outputs))


def _without_data(tensor: Any) -> Any:
    """An array of the shape and type of a tensor, which may be one of torch's transforms: it has no
    data. Types that NumPy has not are looked at as they are."""
    try:
        dtype = np.dtype(str(tensor.dtype).rpartition(".")[2])
    except TypeError:
        return tensor
    return np.broadcast_to(np.zeros((), dtype), tuple(tensor.shape))


def _empty(shape: tuple[int, ...], port: Port, like: Any) -> Any:
    import torch

    dtype = torch.from_numpy(np.empty(0, port.dtype.numpy)).dtype
    return torch.empty(shape, dtype=dtype, device=None if like is None else like.device)


@cache
def _autograd_function() -> Any:
    """The `torch.autograd.Function` of all built functions; torch is imported when one is
    called."""
    import torch

    class Autograd(torch.autograd.Function):  # type: ignore[misc, name-defined, unused-ignore]
        """Torch keeps the inputs, and notices where they are changed before the reverse."""

        @staticmethod
        def forward(function: TorchFunction, *tensors: Any) -> Any:
            return function.run(tensors)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.function, *tensors = inputs
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)
            ctx.mark_non_differentiable(*(t for t in output if not t.is_floating_point()))

        @staticmethod
        def backward(ctx: Any, *heads: Any) -> Any:
            needs = ctx.needs_input_grad[1:]
            return None, *ctx.function.adjoints(needs, ctx.saved_tensors, heads)

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
            return ctx.function.tangents(ctx.saved_tensors, tangents)

        @staticmethod
        def vmap(info: Any, axes: Any, function: TorchFunction, *tensors: Any) -> Any:
            results = function.rows(info.batch_size, axes[1:], tensors)
            return results, (0,) * len(results)

    return Autograd
