"""Derivatives of programs over fields, as functions of arrays. No Jacobian is formed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from mlirad.ad.forward.forward_mode import FwdMode
from mlirad.ad.forward.overwritten_arrays import arrays_put_back
from mlirad.ad.tape.overrides import place_overrides
from mlirad.ad.tape.seeds import check_seeds, name_of
from mlirad.ad.tape.snapshot import Snapshot
from mlirad.ad.tape.tape import Tape
from mlirad.ad.tape.targets import has_twice, listed
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.frontend.python.values.matrix import Matrix
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

    def __init__(self, what: str, run: Callable[[], Any], inputs: object, output: object) -> None:
        if not callable(run):
            raise TaichiTypeError(
                f"{what} takes a function that launches kernels, not a {type(run).__name__}"
            )
        if inputs is None or output is None:
            raise TaichiTypeError(
                f"{what} of a program takes inputs= and output=, fields with gradients"
            )
        self.what, self.run = what, run
        self.inputs, self.several_inputs = listed(inputs)
        self.outputs, self.several_outputs = listed(output)
        for one, role in [
            *((i, "input") for i in self.inputs),
            *((o, "output") for o in self.outputs),
        ]:
            _check(what, one, role)
        for given, role in ((self.inputs, "inputs"), (self.outputs, "outputs")):
            if has_twice(given):
                raise TaichiTypeError(f"{what}: a field is among the {role} twice")

    def values(self, arrays: Sequence[Any]) -> Any:
        """The outputs."""
        values, kind = self._fitting(arrays, "argument")
        with program().threads.alone, self._at(values):
            self.run()
            found = [one.to_numpy() for one in self.outputs]
        return self._given(found, kind, several=self.several_outputs)

    def check(self, arrays: Sequence[Any]) -> None:
        """Raise TaichiTypeError where arrays have other shapes or types than the inputs."""
        self._fitting(arrays, "argument")

    def gradient(
        self, arrays: Sequence[Any], heads: Sequence[Any], overrides: Mapping[Any, Any]
    ) -> tuple[Any, Any]:
        """The outputs, and the adjoints of the inputs from those of the outputs."""
        values, kind = self._fitting(arrays, "argument")
        current = program()
        seeds = dict(zip(self.outputs, [head for head, _ in map(_as_array, heads)]))
        check_seeds(seeds, current)
        with current.threads.alone:
            with self._at(values):
                with Tape() as tape:
                    self.run()
                place_overrides(tape, overrides)
                tape.grad(seeds)
                found = [one.to_numpy() for one in self.outputs]
            adjoints = [one.grad.to_numpy() for one in self.inputs]
        return self._given(found, kind, several=self.several_outputs), self._given(
            adjoints, kind, several=self.several_inputs
        )

    def tangents(self, arrays: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """The outputs, and their tangents from those of the inputs."""
        values, kind = self._fitting(arrays, "argument")
        directions = self._fitting(tangents, "tangent")[0]
        with program().threads.alone:
            with self._at(values):
                with FwdMode(self.outputs, self.inputs, directions) as mode:
                    self.run()
                found = [one.to_numpy() for one in self.outputs]
            along = [mode.tangents(one)[0] for one in self.outputs]
        return self._given(found, kind, several=self.several_outputs), self._given(
            along, kind, several=self.several_outputs
        )

    @contextmanager
    def _at(self, values: Sequence[Array]) -> Iterator[None]:
        """Run with some inputs; other fields and arrays are afterwards what they were before, and
        all are if an error is raised."""
        current = program()
        if current.threads.recorder is not None:
            raise TaichiRuntimeError(
                f"{self.what} of a program is called within a tape or a forward mode"
            )
        current.trees.materialize()
        before, own = (
            Snapshot(current),
            [(one, one.to_numpy()) for one in [*self.inputs, *self.outputs]],
        )
        try:
            for one in self.outputs:
                one.fill(0)
            for one, value in zip(self.inputs, values):
                one.from_numpy(value)
                one.grad.fill(0)
            with arrays_put_back(current):
                yield
                left = [(one, one.to_numpy()) for one in self.outputs]
            own = [*zip(self.inputs, values), *left]
        finally:
            launches = current.random.launches  # random numbers go on
            before.restore()
            current.random.rewind(launches)
            for one, value in own:
                one.from_numpy(value)

    def _fitting(self, arrays: Sequence[Any], role: str) -> tuple[list[Array], str]:
        """Arrays of the shapes and types of the inputs, and what they were."""
        if len(arrays) != len(self.inputs):
            raise TaichiTypeError(
                f"{self.what}: {len(arrays)} {role}s for {len(self.inputs)} inputs"
            )
        found, kinds = [], set()
        for one, array in zip(self.inputs, arrays):
            given, kind = _as_array(array)
            value = given.to_numpy() if isinstance(given, Field | Ndarray) else np.asarray(given)
            shape = (*one.shape, *one.element_shape)
            if value.shape != shape or value.dtype.kind not in "fiu":
                raise TaichiTypeError(
                    f"{self.what}: the {role} of {name_of(one)} is an array of shape {value.shape} "
                    f"of {value.dtype}, expected numbers of shape {shape}"
                )
            found.append(value.astype(one.dtype.numpy))
            kinds.add(kind)
        return found, "torch" if "torch" in kinds else "numpy" if "numpy" in kinds else "number"

    def _given(self, arrays: Sequence[Array], kind: str, *, several: bool) -> Any:
        found = [_of_kind(array, kind) for array in arrays]
        return tuple(found) if several else found[0]

    def heads(self, head: object) -> list[Any]:
        """The adjoint of each output."""
        return _parts(
            head, len(self.outputs), several=self.several_outputs, what=f"{self.what}: head"
        )

    def directions(self, tangent: object) -> list[Any]:
        """The tangent of each input."""
        return _parts(
            tangent, len(self.inputs), several=self.several_inputs, what=f"{self.what}: tangent"
        )


def _parts(value: object, count: int, *, several: bool, what: str) -> list[Any]:
    if not several:
        return [value]
    if value is None:
        return [None] * count
    if not isinstance(value, list | tuple) or len(value) != count:
        raise TaichiTypeError(f"{what} is a list of {count} arrays")
    return list(value)


def _check(what: str, one: object, role: str) -> None:
    if not isinstance(one, Field | Ndarray):
        raise TaichiTypeError(
            f"{what}: an {role} is a field or an ndarray, not a {type(one).__name__}"
        )
    if one.grad is None or (isinstance(one, Field) and not one.has(ADJOINT)):
        raise TaichiTypeError(
            f"{what}: {role} {name_of(one)} has no gradient: give it needs_grad=True"
        )


def _as_array(value: Any) -> tuple[Any, str]:
    """An array and what it was: of torch, of NumPy, or a number."""
    if type(value).__module__.split(".")[0] == "torch":
        return value.detach().cpu().numpy(), "torch"
    if value is None or isinstance(value, Field | Ndarray):
        return value, "numpy"
    kind = "number" if isinstance(value, int | float) else "numpy"
    return np.asarray(value.rows_list() if isinstance(value, Matrix) else value), kind


def _of_kind(array: Array, kind: str) -> Any:
    if kind == "torch":
        return sys.modules["torch"].from_numpy(np.asarray(array))
    return array.item() if kind == "number" and array.shape == () else array
