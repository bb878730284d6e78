"""Kernel modules, which a frontend builds and passes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from mlirad.bindings import ir
from mlirad.kernel.arguments import NdarrayArgument
from mlirad.kernel.form import Form
from mlirad.types import DataType


class OwnArray(msgspec.Struct, frozen=True):
    """An array that a launch makes for itself: its type, and its extents for the arguments of the
    launch."""

    dtype: DataType
    extents: Callable[[Sequence[Any]], tuple[int, ...]]


class GivenFlow(msgspec.Struct, frozen=True):
    """An array that gets floats made of others: a field's name, or the number of an argument."""

    target: str | int
    sources: tuple[str | int, ...]


class GivenDerivatives(Protocol):
    """The derivatives of a kernel that are kernels too: no pass makes them."""

    def derive(
        self, kernel: KernelModule, tangents: int, *, is_reverse: bool, is_constant: bool
    ) -> KernelModule:
        """Return the primal, or the reverse, with tangents, for the derivatives that fields
        have now, and those that the arguments of a kernel say.

        Its arguments are those of the kernel, then derivatives of these, which labels tell, then
        arrays of its own.
        """

    def flows(self) -> Sequence[GivenFlow]:
        """Return which arrays derivatives pass between."""

    def stop(self) -> GivenDerivatives:
        """Return the derivatives if none passes."""


class KernelModule(msgspec.Struct):
    """The field-level module of one kernel, and what a launch has to pass and gets back.

    `arrays` ends in the arrays of a launch's own; where it is one of several parts of a kernel, in
    as many numbers as these `shared`.
    """

    module: ir.Module
    name: str
    uses_seed: bool
    results: tuple[DataType, ...]
    result_form: Form | None
    arrays: tuple[NdarrayArgument, ...] = ()
    fields: tuple[str, ...] = ()
    gradients: tuple[str, ...] = ()  # parameters behind which the gradient is passed as an array
    captured: tuple[str, ...] = ()  # arrays that are no arguments of its function's, behind these
    unused: frozenset[str] = frozenset()  # array parameters that are not passed
    own_arrays: tuple[OwnArray, ...] = ()
    shared: int = 0
    derivatives: GivenDerivatives | None = None
    # fields that a launch deactivates: their derivatives go with them where nothing records it
    emptied: tuple[str, ...] = ()
    is_reverse: bool = False  # the reverse of another kernel
    apart: frozenset[str] = frozenset()  # fields whose adjoints lie apart from their gradients
