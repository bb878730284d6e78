"""The result of `te.build`: a function of arrays, compiled for the program that calls it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError, located
from mlirad.foreign.jax_function import JaxFunction
from mlirad.foreign.torch_function import TorchFunction
from mlirad.ir.reports.module_text import TextForm, module_text
from mlirad.lang.arguments.array_buffer import ArrayBuffer, allocations
from mlirad.lang.kernels.launch import Launch, gradient_positions
from mlirad.lang.kernels.read_only import check_writeable
from mlirad.pipeline.mode import PRIMAL
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.program import Program, program
from mlirad.te.definitions.integers import with_integers
from mlirad.te.definitions.sizes import Sizes, array_error, known_shape
from mlirad.te.derivation.differentiate import adjoints_of, zeros
from mlirad.te.derivation.forward import jvp
from mlirad.te.expressions import number
from mlirad.te.places import place
from mlirad.te.programs.bound_kernels import BoundKernel, BoundKernels
from mlirad.te.programs.derivatives import cuts_at, like
from mlirad.te.programs.programs import TensorModule, module_of
from mlirad.te.programs.tensor_kernel import definitions
from mlirad.te.tensor import Tensor


class TensorFunction:
    """A function that takes an array for each input and gives one for each output.

    `function(*arrays, out=None)`: arrays of NumPy or torch, `ti.ndarray`s, or dense fields, with
    the shapes and types of the inputs; the components of vectors and matrices are their last axes.
    Integers of NumPy and torch may be of another type, if the input's has the numbers: a copy is.
    It gives NumPy arrays, a list where `te.build` was given one, or writes to what `out` names,
    which lies apart from all others in memory. Tapes, forward mode and checkpointed loops record
    it, with the derivatives of `te.differentiate` and `te.jvp`. Raises TaichiRuntimeTypeError if
    an array does not fit, TaichiTypeError for a number that a type has not, TaichiRuntimeError for
    a field that is gone.
    """

    def __init__(self, source: TensorModule, *, gives_list: bool) -> None:
        self.__name__, self.module, self.at = source.name, source.module, source.at
        self.outputs, self.inputs = list(source.outputs), list(source.inputs)
        self._source, self._gives_list = source, gives_list
        self._sizes = Sizes(self.inputs, source.sizes)
        self._shapes = [known_shape(tensor.shape) for tensor in self.outputs]
        self._integers = [k for k, tensor in enumerate(self.inputs) if tensor.dtype.is_integer]
        self._launches: BoundKernels | None = None
        self._last: BoundKernel | None = None

    @property
    def place(self) -> str:
        """The line where it is built."""
        return str(self.at)

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        current = program()
        launches, is_recorded = self._launches_of(current), current.threads.recorder is not None
        arrays = (*map(_as_array, arrays, self.inputs), *arrays[len(self.inputs) :])
        sizes = self._sizes.of_arrays(self.__name__, arrays)
        if self._source.needs:
            values = dict(zip(self._sizes.order, sizes))
            for need in self._source.needs:
                need.check(self.__name__, values)
        if self._integers:
            arrays = with_integers(arrays, self._integers, self.__name__, self.inputs)
        results = self._results(sizes, out)
        try:
            launched, buffers = launches.prepare([*arrays, *results], with_gradients=is_recorded)
        except TaichiRuntimeError as error:
            raise type(error)(located(str(error), place())) from None
        self._last = launched
        check_writeable(launched.variant, buffers, reverse=is_recorded)
        variant = _with_gradients(launched.variant, buffers) if is_recorded else launched.variant
        Launch(self, variant, launched.values(sizes), buffers).execute()
        if current.config.debug:
            current.check_ends(f"'{self.__name__}'", allocations(buffers))
        if out is not None:
            return out
        return results if self._gives_list else results[0]

    def shapes(self, arrays: Sequence[Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs for arrays. Raises TaichiRuntimeTypeError if these do
        not fit."""
        sizes = self._sizes.of_arrays(self.__name__, arrays)
        return [self._sizes.shape(tensor.shape, sizes) for tensor in self.outputs]

    def torch(self) -> TorchFunction:
        """Return the function for torch's autograd: of tensors, with gradients of any order by
        `te.differentiate`.

        It gives new tensors, a list where `te.build` was given one. Raises TaichiRuntimeError if
        it is called in a tape or a forward mode of this library.
        """
        return TorchFunction(self, self._pack)

    def jax(self) -> JaxFunction:
        """Return the function for JAX: of arrays, under `jit`, `vmap`, and `grad` and `jvp` of any
        order by `te.differentiate` and `te.jvp`; see `JaxFunction`.

        It gives JAX's arrays, a list where `te.build` was given one. Raises ImportError without
        JAX, and, where it is called, as `torch` does.
        """
        return JaxFunction(self, self._pack)

    def _pack(self, results: Sequence[Any]) -> Any:
        return list(results) if self._gives_list else results[0]

    def reverse(self, numbers: Sequence[int]) -> TensorFunction:
        """The adjoints of the inputs of some numbers: a function of the inputs and of the adjoints
        of the outputs of floats."""
        outputs = [tensor for tensor in self.outputs if tensor.dtype.is_float]
        heads = [like(tensor, "head") for tensor in outputs]
        inputs, cuts = [self.inputs[k] for k in numbers], cuts_at(self.inputs)
        adjoints = list(adjoints_of(outputs, inputs, heads, cuts))
        return self._derivative("reverse", adjoints, heads)

    def tangent(self, numbers: Sequence[int]) -> TensorFunction:
        """The tangents of the outputs of floats: a function of the inputs and of the tangents of
        those of some numbers."""
        tangents = {k: like(self.inputs[k], "tangent") for k in numbers}
        moved = {
            tensor: tangents.get(k, zeros(tensor.shape, tensor))
            for k, tensor in enumerate(self.inputs)
            if tensor.dtype.is_float
        }
        outputs = [tensor for tensor in self.outputs if tensor.dtype.is_float]
        results = jvp(outputs, list(moved), list(moved.values()))
        return self._derivative("tangent", results, list(tangents.values()))

    def _derivative(
        self, kind: str, outputs: Sequence[Tensor], seeds: Sequence[Tensor]
    ) -> TensorFunction:
        inputs, name = [*self.inputs, *seeds], f"{self.__name__}.{kind}"
        return TensorFunction(module_of(outputs, inputs, name, self.at), gives_list=True)

    def explain(self) -> list[str]:
        """Return what is asked of the definitions that are left, and what the compiler chose, with
        their lines: tiles, lanes. It is what the last call was compiled for, else a call on
        arrays."""
        return definitions(self.module) + self._last_launched().variant.stages.remarks(PRIMAL)

    def ir(self, stage: str = "te", *, locations: bool = False, generic: bool = False) -> str:
        """Return the function as text that `mlirad-opt` reads: its definitions, or the loops over
        arrays at a stage of kernels; with `locations`, each op says its line; a `generic` text has
        all ops in MLIR's generic form. Raises ValueError for an unknown stage."""
        form = TextForm(locations=locations, generic=generic)
        if stage == "te":
            return module_text(self.module.operation, form)
        return self._last_launched().variant.stages.dump(stage, PRIMAL, form)

    def ptx(self, chip: str = "sm_90") -> str:
        """The function as PTX for an NVIDIA GPU."""
        return self._last_launched().variant.stages.ptx(PRIMAL, chip)

    def _last_launched(self) -> BoundKernel:
        launched, current = self._last, program()
        if launched is None or launched.variant.program is not current:
            places = range(len(self.inputs) + len(self.outputs))
            launched = self._launches_of(current).on(tuple(places))
        return launched

    def _results(self, sizes: Sequence[int], out: Any) -> list[Any]:
        arrays = [None] * len(self.outputs) if out is None else out
        listed = list(arrays) if isinstance(arrays, tuple | list) else [arrays]
        if len(listed) != len(self.outputs):
            raise array_error(
                f"{self.__name__}: out= has {len(listed)} arrays for {len(self.outputs)} outputs"
            )
        results = []
        for tensor, fixed, array in zip(self.outputs, self._shapes, listed):
            shape = self._sizes.shape(tensor.shape, sizes) if fixed is None else fixed
            if fixed is None and any(extent < 0 for extent in shape):
                raise array_error(f"{self.__name__}: '{tensor.name}' would have the shape {shape}")
            if array is None:
                array = np.empty(shape, tensor.dtype.numpy)
            self._sizes.check(self.__name__, tensor, array, shape)
            results.append(array)
        return results

    def _launches_of(self, current: Program) -> BoundKernels:
        if current.trees.pending:
            current.trees.materialize()
        launches = self._launches
        if launches is None or launches.program is not current:
            launches = self._begin(current)
        return launches

    @in_turn
    def _begin(self, current: Program) -> BoundKernels:
        if self._launches is None or self._launches.program is not current:
            self._last = None
            self._launches = BoundKernels(self._source, current)
        return self._launches


def _with_gradients(variant: Variant, buffers: Sequence[ArrayBuffer]) -> Variant:
    """The variant for the array arguments that have gradients."""
    positions = gradient_positions(variant, buffers)
    return variant.with_gradients(frozenset(positions)) if positions else variant


def _as_array(value: Any, tensor: Tensor) -> Any:
    """A number of Python's or NumPy's as an array without axes."""
    if type(value) is np.ndarray:
        return value
    if isinstance(value, np.generic) or (isinstance(value, float) and not tensor.dtype.is_float):
        return np.asarray(value)
    if isinstance(value, int | float):
        return np.asarray(number(tensor.dtype, value).value, tensor.dtype.numpy)
    return value
