"""Adjoints that are replaced on their way through a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlirad.ad.recording.entries import Entry, HostCopy, HostWrite, RecordedLaunch
from mlirad.ad.recording.outer_adjoints import OuterAdjoints
from mlirad.ad.recording.versions import Version
from mlirad.ad.tape.tape import Tape
from mlirad.errors import TaichiTypeError
from mlirad.lang.field.field import Field
from mlirad.runtime.derivative_kind import ADJOINT


class Override(Entry):
    """The adjoint of a field, once all that read the field has been reversed, becomes a function of
    itself."""

    def __init__(self, field: Field, function: Callable[[Any], Any]) -> None:
        self.field, self.function = field, function
        self.saved: list[Version] = []
        self.kind = ADJOINT

    def move(self, outer_adjoints: OuterAdjoints) -> None:
        self.kind = outer_adjoints.kind(self.field, ADJOINT)

    def reverse(self) -> None:
        """Replace the adjoint. Raises TaichiTypeError for one of another shape."""
        adjoint = self.field.derivative(self.kind)
        arrived = adjoint.to_numpy()
        replaced = np.asarray(self.function(arrived.copy()))
        if replaced.shape != arrived.shape or replaced.dtype.kind not in "fiu":
            raise TaichiTypeError(
                f"the override of field '{self.field.symbol}' gave an array of shape "
                f"{replaced.shape} of {replaced.dtype}, expected numbers of shape {arrived.shape}"
            )
        adjoint.from_numpy(replaced)

    def repeat(self) -> None:
        """The program itself does nothing here."""

    def __str__(self) -> str:
        return f"the override of field '{self.field.symbol}'"


def place_overrides(tape: Tape, overrides: Mapping[Any, Any]) -> None:
    """Make a closed tape replace adjoints: that of a field, where it leaves for what wrote the
    field.

    Raises TaichiTypeError for what is no field, for fields without adjoint, and for those that are
    written several times, or read by what writes them.
    """
    for field, function in overrides.items():
        if not isinstance(field, Field) or not callable(function):
            raise TaichiTypeError("expected a dictionary of functions by field for override=")
        if not field.has(ADJOINT):
            raise TaichiTypeError(
                f"override of field '{field.symbol}': it has no gradient, so no adjoint arrives "
                f"there"
            )
        writers = [entry for entry in tape.entries if _may_write(entry, field)]
        if len(writers) > 1 or not all(
            isinstance(entry, RecordedLaunch | HostCopy) for entry in writers
        ):
            raise TaichiTypeError(
                f"override of field '{field.symbol}': it is written by "
                f"{', then '.join(map(str, writers))}; "
                "only the adjoint of a field that one launch of a kernel writes can be replaced"
            )
        if any(field.symbol in flow.sources for entry in writers for flow in entry.flows()):
            raise TaichiTypeError(
                f"override of field '{field.symbol}': {writers[0]} writes it and reads it, so "
                "its adjoint is never complete: write it in a separate kernel"
            )
        position = tape.entries.index(writers[0]) + 1 if writers else 0
        tape.entries.insert(position, Override(field, function))


def _may_write(entry: Entry, field: Field) -> bool:
    if isinstance(entry, RecordedLaunch):
        return any(
            footprint.array == field.symbol for footprint in entry.derivative.footprints.written
        )
    if isinstance(entry, HostCopy):
        return entry.target is field
    if isinstance(entry, HostWrite):
        return entry.elements.overlaps(field.find_memory().elements)
    return not isinstance(entry, Override)
