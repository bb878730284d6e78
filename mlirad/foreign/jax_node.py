"""A function of arrays, or a derivative of one, as JAX calls it on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlirad.foreign.array_function import ArrayFunction, floats


class Node:
    """A function, or a derivative of one: `linear` numbers the inputs in which that is linear, and
    `transposed` is what takes the cotangents of its outputs to theirs."""

    def __init__(
        self,
        function: ArrayFunction,
        linear: Sequence[int] = (),
        transposed: Callable[[], Node] | None = None,
    ) -> None:
        self.function, self.linear, self._transposed = function, tuple(linear), transposed
        self.floats = floats(function.outputs)
        self._tangents: dict[tuple[int, ...], Node] = {}
        self._reverses: dict[tuple[int, ...], Node] = {}

    def on_host(self, *arrays: Any) -> tuple[Any, ...]:
        """The outputs, as NumPy has them."""
        ports, outputs = self.function.inputs, self.function.outputs
        host_arrays = [np.ascontiguousarray(a, port.dtype.numpy) for a, port in zip(arrays, ports)]
        shaped = [host_array.reshape(np.shape(a)) for host_array, a in zip(host_arrays, arrays)]
        shapes = self.function.shapes(shaped)
        results = [np.empty(shape, port.dtype.numpy) for shape, port in zip(shapes, outputs)]
        self.function(*shaped, out=results)
        return tuple(result.astype(canonical(result.dtype), copy=False) for result in results)

    def shapes(self, avals: Sequence[Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs."""
        ports = self.function.inputs
        like = [np.broadcast_to(np.zeros((), p.dtype.numpy), a.shape) for a, p in zip(avals, ports)]
        return self.function.shapes(like)

    def tangent(self, numbers: tuple[int, ...]) -> Node:
        """Return the function from the tangents of some inputs to those of the outputs of
        floats."""
        if numbers not in self._tangents:
            function = self.function.tangent(numbers)
            behind = len(self.function.inputs)
            linear = range(behind, behind + len(numbers))
            self._tangents[numbers] = Node(function, linear, lambda: self.reverse(numbers))
        return self._tangents[numbers]

    def reverse(self, numbers: tuple[int, ...]) -> Node:
        """Return the function from the adjoints of the outputs of floats to those of some
        inputs."""
        if numbers not in self._reverses:
            function = self.function.reverse(numbers)
            behind = len(self.function.inputs)
            linear = range(behind, behind + len(self.floats))
            self._reverses[numbers] = Node(function, linear, lambda: self.tangent(numbers))
        return self._reverses[numbers]

    def transpose(self) -> Node:
        """Return the transpose of a linear function."""
        assert self._transposed is not None, "a function that is not linear"
        return self._transposed()


def canonical(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that JAX has for one of NumPy's."""
    from jax import dtypes

    jax_type: np.dtype[Any] = dtypes.canonicalize_dtype(dtype)
    return jax_type
