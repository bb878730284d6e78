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
        given = [np.ascontiguousarray(a, one.dtype.numpy) for a, one in zip(arrays, ports)]
        shaped = [one.reshape(np.shape(a)) for one, a in zip(given, arrays)]
        shapes = self.function.shapes(shaped)
        made = [np.empty(shape, one.dtype.numpy) for shape, one in zip(shapes, outputs)]
        self.function(*shaped, out=made)
        return tuple(one.astype(canonical(one.dtype), copy=False) for one in made)

    def shapes(self, avals: Sequence[Any]) -> list[tuple[int, ...]]:
        """Those of the outputs."""
        ports = self.function.inputs
        like = [np.broadcast_to(np.zeros((), p.dtype.numpy), a.shape) for a, p in zip(avals, ports)]
        return self.function.shapes(like)

    def tangent(self, wanted: tuple[int, ...]) -> Node:
        """What gives the tangents of the outputs of floats, from those of some inputs."""
        if wanted not in self._tangents:
            made = self.function.tangent(wanted)
            behind = len(self.function.inputs)
            linear = range(behind, behind + len(wanted))
            self._tangents[wanted] = Node(made, linear, lambda: self.reverse(wanted))
        return self._tangents[wanted]

    def reverse(self, wanted: tuple[int, ...]) -> Node:
        """What gives the adjoints of some inputs, from those of the outputs of floats."""
        if wanted not in self._reverses:
            made = self.function.reverse(wanted)
            behind = len(self.function.inputs)
            linear = range(behind, behind + len(self.floats))
            self._reverses[wanted] = Node(made, linear, lambda: self.tangent(wanted))
        return self._reverses[wanted]

    def transposed(self) -> Node:
        """See above."""
        assert self._transposed is not None, "a function that is not linear"
        return self._transposed()


def canonical(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that JAX has for one of NumPy's."""
    from jax import dtypes

    found: np.dtype[Any] = dtypes.canonicalize_dtype(dtype)
    return found
