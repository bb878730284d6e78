"""Seeds of a reverse, the gradients that it clears or adds to, and whether it left the primal
memory alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from mlirad.ad.recording.claims import Claims
from mlirad.ad.recording.entries import Entry
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.lang.field.field import Field
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import Target
from mlirad.runtime.derivative_kind import ADJOINT
from mlirad.runtime.memory.memory import Elements, Kept
from mlirad.runtime.program import Program, settled

Array = np.ndarray[Any, Any]


def check_loss(loss: object) -> None:
    """Raise TaichiRuntimeError for what cannot be the loss of a tape."""
    if isinstance(loss, Field):
        if loss.shape != () or loss.element_shape:
            raise TaichiRuntimeError(
                "The loss of `Tape` must be a 0-D field, i.e. scalar: ti.field(ti.f32, shape=(), "
                "needs_grad=True), into which a kernel adds up"
            )
        if not loss.has(ADJOINT):
            raise TaichiRuntimeError(
                "Gradients of loss are not allocated, please use ti.field(..., needs_grad=True) "
                "for all fields that are required by autodiff."
            )
    elif isinstance(loss, Ndarray):
        if prod(loss.dims) != 1:
            raise TaichiRuntimeError("The loss of `Tape` must be an ndarray with only one element")
        if loss.grad is None:
            raise TaichiRuntimeError(
                "Gradients of loss are not allocated, please set needs_grad=True for all ndarrays "
                "that are required by autodiff."
            )
    elif isinstance(loss, list | tuple):
        raise TaichiRuntimeError(
            f"The loss of `Tape` must be a 0-D field, got {type(loss).__name__}: add several "
            "losses up in one field, or seed each with `with ti.ad.Tape() as tape: ...`, "
            "tape.grad({loss: 1.0, other: 1.0})"
        )
    else:
        raise TaichiRuntimeError(
            f"The loss of `Tape` must be a 0-D field, got {type(loss).__name__}: write "
            "ti.ad.Tape(loss), and loss[None] for its number"
        )


def check_seeds(seeds: Mapping[Target, Any], current: Program) -> list[tuple[Target, Array]]:
    """Outputs with their seeds as arrays of the outputs' shapes (`shape + element_shape`).

    Raises TaichiTypeError for what is no dictionary, for outputs that are no fields or ndarrays
    with a gradient, and for seeds of another shape or type.
    """
    if not isinstance(seeds, Mapping):
        raise TaichiTypeError(
            f"expected a dictionary of arrays by output as seeds, got {type(seeds).__name__}"
        )
    current.trees.materialize()
    return [(output, _seed(output, seed)) for output, seed in seeds.items()]


def ones_like(loss: Target) -> Array:
    return np.ones((*loss.shape, *loss.element_shape), loss.dtype.numpy)


def name_of(target: Target) -> str:
    """A field or an ndarray, for messages."""
    return (
        f"field '{target.symbol}'"
        if isinstance(target, Field)
        else f"an ndarray of shape {target.shape}"
    )


def _seed(output: object, seed: Any) -> Array:
    if not isinstance(output, Field | Ndarray):
        raise TaichiTypeError(
            f"expected a field or an ndarray as an output, got {type(output).__name__}"
        )
    if output.grad is None or (isinstance(output, Field) and not output.has(ADJOINT)):
        raise TaichiTypeError(
            f"{name_of(output)} has no gradient to seed: declare it with needs_grad=True"
        )
    shape = (*output.shape, *output.element_shape)
    if seed is None:
        if shape:
            raise TaichiTypeError(
                f"{name_of(output)} has shape {shape}: only an output of shape () may be seeded "
                "with None"
            )
        seed = 1.0
    array = _as_array(seed)
    if array.shape != shape:
        raise TaichiTypeError(
            f"the seed of {name_of(output)} has shape {array.shape}, but the output has shape "
            f"{shape}"
        )
    if not np.can_cast(array.dtype, output.dtype.numpy, "same_kind"):
        raise TaichiTypeError(
            f"the seed of {name_of(output)} (shape {shape}, {output.dtype}) is an array of "
            f"{array.dtype} (shape {array.shape})"
        )
    return array


def _as_array(seed: Any) -> Array:
    if isinstance(seed, Field | Ndarray):
        return seed.to_numpy()
    return settled(np.asarray(seed.rows_list() if isinstance(seed, Matrix) else seed))


class Adjoints:
    """The memory of all gradients that a reverse may add to, but for tensors' of torch, whose
    `.grad` always adds up."""

    def __init__(
        self, current: Program, entries: Sequence[Entry], outputs: Sequence[Target], claims: Claims
    ) -> None:
        arrays: dict[int, Elements] = {}
        for output in outputs:
            if isinstance(output, Ndarray) and output.grad is not None:
                arrays[output.grad.address] = output.grad.elements
        for entry in entries:
            for buffer in entry.arrays():
                if buffer.grad is not None and isinstance(buffer.grad.owner, Ndarray):
                    arrays[buffer.grad.address] = buffer.grad.elements()
        gradients = [
            memory.elements
            for name, memory in list(current.derivatives.gradients.items())
            if claims.may_clear(name)
        ]
        self.elements = [*gradients, *arrays.values()]

    def copies(self) -> list[Kept]:
        return [elements.copy() for elements in self.elements]

    def clear(self) -> None:
        """Set all to 0."""
        for elements in self.elements:
            elements.fill(0)


def fingerprint(current: Program, entries: Sequence[Entry]) -> list[int]:
    """A number for the contents of every primal field and of every recorded array argument."""
    primals = [
        memory.elements
        for name, memory in list(current.fields.items())
        if name not in current.derivatives.gradients
        and name not in current.derivatives.outers.values()
    ]
    arrays = [buffer.elements() for entry in entries for buffer in entry.arrays()]
    return [elements.checksum() for elements in (*primals, *arrays)]


def as_list(targets: object) -> tuple[list[Any], bool]:
    """Return targets as a list, and whether they were one."""
    if isinstance(targets, list | tuple):
        return list(targets), True
    return [targets], False


def has_twice(targets: Sequence[Any]) -> bool:
    """Return whether something is named twice."""
    return len({id(target) for target in targets}) < len(targets)
