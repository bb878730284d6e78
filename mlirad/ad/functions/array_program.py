"""A program over fields as a function of arrays, for Python, torch and JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlirad.ad.functions.programs import ProgramFunction
from mlirad.ad.functions.vector_function import VectorFunction
from mlirad.errors import TaichiRuntimeError
from mlirad.foreign.jax_function import JaxFunction
from mlirad.foreign.torch_function import TorchFunction
from mlirad.lang.recorder import Target


class ArrayProgram:
    """A program as `ti.ad.program` gives it: takes an array for each input and gives one for each
    output, a tuple where it was given a list.

    Afterwards inputs, outputs and gradients hold what belongs to the call, all other fields what
    they held before. Raises TaichiTypeError for arrays of another shape or type,
    TaichiRuntimeError within a tape.
    """

    def __init__(self, program: ProgramFunction, name: str) -> None:
        self.__name__ = name
        self._program = program

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        values = self._program.values(arrays)
        return values if out is None else _fill(out, _as_list(values))

    @property
    def inputs(self) -> Sequence[Target]:
        """Return the fields and ndarrays that it takes arrays for."""
        return self._program.inputs

    @property
    def outputs(self) -> Sequence[Target]:
        """Return the fields and ndarrays that it gives arrays of."""
        return self._program.outputs

    def torch(self) -> TorchFunction:
        """Return the function for torch's autograd: `backward` runs the reverse of a tape.

        Second derivatives are refused. Raises TaichiRuntimeError where it is called in a tape.
        """
        return TorchFunction(self, self._pack)

    def jax(self) -> JaxFunction:
        """Return the function for JAX: under `jit`, `vmap`, `grad`, `vjp` and `jvp`, by a tape and
        by forward mode; see `JaxFunction`.

        Second derivatives are refused. Raises ImportError without JAX.
        """
        return JaxFunction(self, self._pack)

    def scipy(self) -> VectorFunction:
        """Return the program as functions of one vector, which SciPy's `minimize` and
        `least_squares` and other optimizers take; see `VectorFunction`. SciPy is not needed."""
        return VectorFunction(self._program)

    def _pack(self, values: Sequence[Any]) -> Any:
        return tuple(values) if self._program.several_outputs else values[0]

    def shapes(self, arrays: Sequence[Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs. Raises TaichiTypeError for arrays of another shape or
        type."""
        self._program.check(arrays)
        return [_shape(target) for target in self.outputs]

    def reverse(self, numbers: Sequence[int]) -> _Derivative:
        """The adjoints of the inputs of some numbers: a function of the inputs and of the adjoints
        of the outputs."""
        count = len(self.inputs)

        def adjoints(*arrays: Any) -> list[Any]:
            _, gradient = self._program.gradient(arrays[:count], arrays[count:], {})
            by_number = _as_list(gradient)
            return [by_number[k] for k in numbers]

        heads, results = self.outputs, [self.inputs[k] for k in numbers]
        return _Derivative(f"{self.__name__}.reverse", adjoints, [*self.inputs, *heads], results)

    def tangent(self, numbers: Sequence[int]) -> _Derivative:
        """The tangents of the outputs: a function of the inputs and of the tangents of those of
        some numbers."""
        count = len(self.inputs)

        def tangents(*arrays: Any) -> list[Any]:
            by_number = dict(zip(numbers, arrays[count:]))
            along = [
                by_number.get(k, np.zeros(_shape(target), target.dtype.numpy))
                for k, target in enumerate(self.inputs)
            ]
            return _as_list(self._program.tangents(arrays[:count], along)[1])

        moved = [self.inputs[k] for k in numbers]
        return _Derivative(
            f"{self.__name__}.tangent", tangents, [*self.inputs, *moved], self.outputs
        )


class _Derivative:
    """A derivative of a program, as an `ArrayFunction` without derivatives."""

    def __init__(
        self,
        name: str,
        run: Callable[..., list[Any]],
        inputs: Sequence[Target],
        outputs: Sequence[Target],
    ) -> None:
        self.__name__ = name
        self.inputs, self.outputs, self._run = inputs, outputs, run

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        values = self._run(*arrays)
        return values if out is None else _fill(out, values)

    def shapes(self, arrays: Sequence[Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the inputs or outputs that it belongs to."""
        return [_shape(target) for target in self.outputs]

    def reverse(self, numbers: Sequence[int]) -> _Derivative:
        """Raise TaichiRuntimeError."""
        raise TaichiRuntimeError(
            f"{self.__name__}: second derivatives of a program cannot pass through other "
            "libraries: use ti.ad.hvp"
        )

    tangent = reverse


def program(
    function: Callable[[], Any],
    *,
    inputs: Target | Sequence[Target],
    output: Target | Sequence[Target],
) -> ArrayProgram:
    """Return a program as a function of arrays, with derivatives: of NumPy arrays, of torch tensors
    (`.torch()`), of JAX arrays (`.jax()`), or of a single vector (`.scipy()`).

    Args:
        function: a kernel, or a Python function without arguments that launches kernels.
        inputs: the fields or ndarrays that the program reads, with gradients.
        output: the fields or ndarrays that the program computes, with gradients.

    Raises:
        TaichiTypeError: `function` is not a program, or a field has no gradient.
    """
    run = ProgramFunction("ti.ad.program", function, inputs, output)
    return ArrayProgram(run, getattr(function, "__name__", "program"))


def _as_list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, tuple) else [values]


def _shape(target: Target) -> tuple[int, ...]:
    return (*target.shape, *target.element_shape)


def _fill(out: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
    for array, values in zip(out, results, strict=True):
        array[...] = values
    return out
