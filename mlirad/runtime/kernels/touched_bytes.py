"""The least number of bytes that a launch touches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

from mlirad.runtime.boxes import Box, hull
from mlirad.runtime.footprints import Footprint
from mlirad.runtime.kernels.notes import Notes
from mlirad.runtime.memory.field import FieldMemory


def touched_bytes(
    footprints: Iterable[Footprint], values: Sequence[Any], fields: Mapping[str, FieldMemory]
) -> float | None:
    """Bytes of the elements that lie in the hulls of some accesses, an array each; None where one
    of them is an argument."""
    boxes: dict[str, list[Box]] = {}
    for footprint in footprints:
        if isinstance(footprint.array, int):
            return None
        boxes.setdefault(footprint.array, []).append(footprint.box(values))
    return sum(_size(fields[array], hull(touched)) for array, touched in boxes.items())


def launch_bytes(
    notes: Notes,
    adjoints: Mapping[str, str] | None,
    values: Sequence[Any],
    fields: Mapping[str, FieldMemory],
) -> float | None:
    """Bytes that a launch reads and writes; with `adjoints`, the reverse: what it needs, adjoints
    of what was read, which it updates, and of what was written, which it reads."""
    accesses = notes.accesses()
    sides: list[Sequence[Footprint]] = [accesses.read, accesses.written]
    if adjoints is not None:
        read, written = ([access for access in side if access.array in adjoints] for side in sides)
        sides = [notes.footprints().needed, read, read, written]
    counts = [touched_bytes(side, values, fields) for side in sides]
    return None if None in counts else sum(count for count in counts if count is not None)


def _size(memory: FieldMemory, box: Box) -> float:
    lengths = [
        (extent if last is None else last + 1) - (first or 0)
        for (first, last), extent in zip(box, memory.layout.shape)
    ]
    return prod(lengths) * memory.layout.size
