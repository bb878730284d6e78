"""Derivatives of programs over fields, as functions of arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from mlirad.ad.forward.forward_mode import FwdMode
from mlirad.ad.forward.overwritten import arrays_put_back
from mlirad.ad.recorder.lost import warn_of_program
from mlirad.ad.tape.overrides import place_overrides
from mlirad.ad.tape.seeds import as_list, check_seeds, has_twice, name_of
from mlirad.ad.tape.snapshot import Snapshot
from mlirad.ad.tape.tape import Tape
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.lang.arguments.foreign_array import is_torch
from mlirad.lang.field.field import Field
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.derivative_kind import ADJOINT
from mlirad.runtime.program import program

Array = np.ndarray[Any, Any]


class ProgramFunction:
    """A program as a function of arrays: `run` launches kernels that compute `outputs` from
    `inputs`.

    A call sets the inputs to its arguments and the outputs to 0, and runs the program. Afterwards
    inputs, outputs and gradients hold what belongs to this call, all other fields and arrays what
    they held before. Results are of the kind of the arguments: NumPy arrays of the fields' types,
    torch tensors, or numbers.
    """

    def __init__(self, name: str, run: Callable[[], Any], inputs: object, output: object) -> None:
        if not callable(run):
            cure = ": pass the function, run, and not its result, run()" if run is None else ""
            raise TaichiTypeError(
                f"{name} expected a function that launches kernels, got {type(run).__name__}{cure}"
            )
        if inputs is None or output is None:
            raise TaichiTypeError(
                f"{name} of a program takes inputs= and output=, fields with gradients"
            )
        self.name, self.run = name, run
        self.inputs, self.several_inputs = as_list(inputs)
        self.outputs, self.several_outputs = as_list(output)
        for target, role in [
            *((i, "input") for i in self.inputs),
            *((o, "output") for o in self.outputs),
        ]:
            _check(name, target, role)
        for targets, role in ((self.inputs, "inputs"), (self.outputs, "outputs")):
            if has_twice(targets):
                raise TaichiTypeError(f"{name}: a field is among the {role} twice")

    def values(self, arrays: Sequence[Any]) -> Any:
        values, kind = self.fitting(arrays, "argument")
        with program().threads.alone, self.at(values):
            self.run()
            results = [target.to_numpy() for target in self.outputs]
        return self._pack(results, kind, several=self.several_outputs)

    def check(self, arrays: Sequence[Any]) -> None:
        """Raise TaichiTypeError where arrays have other shapes or types than the inputs."""
        self.fitting(arrays, "argument")

    def gradient(
        self, arrays: Sequence[Any], heads: Sequence[Any], overrides: Mapping[Any, Any]
    ) -> tuple[Any, Any]:
        """The outputs, and the adjoints of the inputs from those of the outputs."""
        values, kind = self.fitting(arrays, "argument")
        current = program()
        seeds = dict(zip(self.outputs, [head for head, _ in map(as_array, heads)]))
        check_seeds(seeds, current)
        with current.threads.alone:
            with self.at(values):
                written = current.threads.written
                before = [written.get(target.key) for target in self.inputs]
                with Tape() as tape:
                    self.run()
                changed = [
                    i for i, count in zip(self.inputs, before) if written.get(i.key) != count
                ]
                place_overrides(tape, overrides)
                tape.grad(seeds)
                results = [target.to_numpy() for target in self.outputs]
                warn_of_program(tape.ledger, changed, self.outputs, self.name)
            adjoints = [target.grad.to_numpy() for target in self.inputs]
        outputs = self._pack(results, kind, several=self.several_outputs)
        return outputs, self._pack(adjoints, kind, several=self.several_inputs)

    def tangents(self, arrays: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """The outputs, and their tangents from those of the inputs."""
        values, kind = self.fitting(arrays, "argument")
        directions = self.fitting(tangents, "tangent")[0]
        with program().threads.alone:
            with self.at(values):
                with FwdMode(self.outputs, self.inputs, directions) as mode:
                    self.run()
                results = [target.to_numpy() for target in self.outputs]
            along = [mode.tangents(target)[0] for target in self.outputs]
        outputs = self._pack(results, kind, several=self.several_outputs)
        return outputs, self._pack(along, kind, several=self.several_outputs)

    @contextmanager
    def at(self, values: Sequence[Array]) -> Iterator[None]:
        """Run with some inputs; other fields and arrays are afterwards what they were before, and
        all are if an error is raised."""
        current = program()
        if current.threads.recorder is not None:
            raise TaichiRuntimeError(
                f"{self.name} of a program is called within a tape or a forward mode"
            )
        current.trees.materialize()
        before = Snapshot(current)
        results = [(target, target.to_numpy()) for target in [*self.inputs, *self.outputs]]
        try:
            for target in self.outputs:
                target.fill(0)
            for target, value in zip(self.inputs, values):
                target.from_numpy(value)
                target.grad.fill(0)
            with arrays_put_back(current):
                yield
                left = [(target, target.to_numpy()) for target in self.outputs]
            results = [*zip(self.inputs, values), *left]
        finally:
            launches = current.random.launches  # random numbers go on
            before.restore()
            current.random.rewind(launches)
            for target, value in results:
                target.from_numpy(value)

    def fitting(self, arrays: Sequence[Any], role: str) -> tuple[list[Array], str]:
        """Arrays of the shapes and types of the inputs, and what they were."""
        if len(arrays) != len(self.inputs):
            raise TaichiTypeError(
                f"{self.name}: {len(arrays)} {role}s for {len(self.inputs)} inputs"
            )
        values, kinds = [], set()
        for target, array in zip(self.inputs, arrays):
            source, kind = as_array(array)
            value = source.to_numpy() if isinstance(source, Field | Ndarray) else np.asarray(source)
            shape = (*target.shape, *target.element_shape)
            if value.shape != shape or value.dtype.kind not in "fiu":
                raise TaichiTypeError(
                    f"{self.name}: the {role} of {name_of(target)} is an array of shape "
                    f"{value.shape} of {value.dtype}, expected numbers of shape {shape}"
                )
            values.append(value.astype(target.dtype.numpy))
            kinds.add(kind)
        return values, "torch" if "torch" in kinds else "numpy" if "numpy" in kinds else "number"

    def _pack(self, arrays: Sequence[Array], kind: str, *, several: bool) -> Any:
        results = [of_kind(array, kind) for array in arrays]
        return tuple(results) if several else results[0]

    def heads(self, head: object) -> list[Any]:
        """The adjoint of each output."""
        several, count = self.several_outputs, len(self.outputs)
        return _values(head, count, f"{self.name}: head", several=several)

    def directions(self, tangent: object) -> list[Any]:
        """The tangent of each input."""
        several, count = self.several_inputs, len(self.inputs)
        return _values(tangent, count, f"{self.name}: tangent", several=several)


def _values(value: object, count: int, role: str, *, several: bool) -> list[Any]:
    if not several:
        return [value]
    if value is None:
        return [None] * count
    if not isinstance(value, list | tuple) or len(value) != count:
        raise TaichiTypeError(f"{role} is a list of {count} arrays")
    return list(value)


def _check(name: str, target: object, role: str) -> None:
    if not isinstance(target, Field | Ndarray):
        raise TaichiTypeError(
            f"{name}: expected a field or an ndarray as {role}, got {type(target).__name__}"
        )
    if target.grad is None or (isinstance(target, Field) and not target.has(ADJOINT)):
        raise TaichiTypeError(
            f"{name}: {role} {name_of(target)} has no gradient: give it needs_grad=True"
        )


def as_array(value: Any) -> tuple[Any, str]:
    """An array and what it was: of torch, of NumPy, or a number."""
    if is_torch(value):
        return value.detach().cpu().numpy(), "torch"
    if value is None or isinstance(value, Field | Ndarray):
        return value, "numpy"
    kind = "number" if isinstance(value, int | float) else "numpy"
    return np.asarray(value.rows_list() if isinstance(value, Matrix) else value), kind


def of_kind(array: Array, kind: str) -> Any:
    if kind == "torch":
        return sys.modules["torch"].from_numpy(np.asarray(array))
    return array.item() if kind == "number" and array.shape == () else array
