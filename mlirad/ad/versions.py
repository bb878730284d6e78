"""Memory versions of a tape: what launches overwrite that the reverse of earlier launches reads, and its return.

Before a launch runs, the elements it writes that an earlier reverse needs are copied. In reverse, after its adjoint,
they are exchanged with memory; once the reverse is through, exchanged again in the order of the launches, so that every
primal field holds what the forward program left there (AUTODIFF.md §3).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirad.lang.arguments import ArrayBuffer
from mlirad.runtime.footprints import Box, Footprint, Region, hull
from mlirad.runtime.program import Program
from mlirad.runtime.variant import Variant

Key = str | int  # a field's name, or the address of an array argument


class Version:
    """Elements as they were before a launch, while memory holds the later ones; `exchange` swaps the two.

    Where the launch's own reverse wants them (`redone`), they are back before it runs, else behind it.
    """

    __slots__ = ("copy", "redone", "view")

    def __init__(self, view: np.ndarray[Any, Any], redone: bool = False) -> None:
        self.view = view
        self.redone = redone
        self.copy = view.copy()

    def exchange(self) -> None:
        """Swap the kept elements with those in memory."""
        memory = self.view.copy()
        self.view[...] = self.copy
        self.copy = memory


class Versions:
    """What the reverses of the launches so far need, by array."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.needed: dict[Key, Region] = {}

    def before_launch(self, variant: Variant, values: Sequence[Any], buffers: Sequence[ArrayBuffer]) -> list[Version]:
        """Copy what a launch will overwrite of what earlier reverses, or its own, need."""
        footprints = variant.footprints()
        if not self.needed and not footprints.redone:
            return []
        written: dict[Key, tuple[np.ndarray[Any, Any], Region, bool]] = {}
        for footprint in footprints.written:
            key, view = self._array(footprint, values, buffers)
            needed = self.needed.get(key)
            box = footprint.box(values)
            redone = footprint.array in footprints.redone
            if redone or needed is not None and needed.meets(box):
                written.setdefault(key, (view, Region(), redone))[1].add(box)
        return [Version(part(view, hull(region.boxes)), redone) for view, region, redone in written.values()]

    def after_launch(self, variant: Variant, values: Sequence[Any], buffers: Sequence[ArrayBuffer]) -> None:
        """Note what the reverse of a launch will read."""
        for footprint in variant.footprints().needed:
            key, _ = self._array(footprint, values, buffers)
            self.needed.setdefault(key, Region()).add(footprint.box(values))

    def before_write(self, key: Key, view: np.ndarray[Any, Any], box: Box) -> list[Version]:
        """Copy what a write from Python overwrites of what earlier reverses need."""
        region = self.needed.get(key)
        return [Version(part(view, box))] if region is not None and region.meets(box) else []

    def _array(self, footprint: Footprint, values: Sequence[Any],
               buffers: Sequence[ArrayBuffer]) -> tuple[Key, np.ndarray[Any, Any]]:
        if isinstance(footprint.array, str):
            return footprint.array, self.program.fields[footprint.array].view
        position = sum(1 for value in values[:footprint.array] if value is values[footprint.array])
        buffer = buffers[position]
        return buffer.address, buffer.array()


def part(view: np.ndarray[Any, Any], box: Box) -> np.ndarray[Any, Any]:
    """The elements of a box; of a field in nested blocks, all."""
    if len(box) != view.ndim or not box:
        return view
    slices = tuple(slice(max(low or 0, 0), None if high is None else max(high + 1, 0)) for low, high in box)
    return view[slices]
