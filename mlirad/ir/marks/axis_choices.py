"""Choices of a program for the axes of its loops: their names, and how they run.

An array of dictionaries, `field.axes`, on definitions of tensors, their reductions and parallel
loops, one for each axis; one dictionary, `field.axis_choice`, on a loop. They never change what a
program computes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mlirad.bindings import ir

AXES, CHOICE = "field.axes", "field.axis_choice"
_FLAGS = ("in_lanes", "is_written_out", "is_serial")


class AxisChoice(msgspec.Struct, frozen=True):
    """One axis. `tile`: how much of it a tile holds, 0 where the compiler chooses."""

    name: str = ""
    tile: int = 0
    in_lanes: bool = False
    is_written_out: bool = False
    is_serial: bool = False

    @property
    def attribute(self) -> ir.Attribute:
        """The choice as an attribute."""
        entries: dict[str, ir.Attribute] = {"name": ir.StringAttr.get(self.name)}
        if self.tile:
            entries["tile"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), self.tile)
        entries |= {flag: ir.UnitAttr.get() for flag in _FLAGS if getattr(self, flag)}
        return ir.DictAttr.get(entries)


NO_CHOICE = AxisChoice()


def set_choices(op: ir.Operation, choices: Sequence[AxisChoice]) -> None:
    """Say something of all axes of an op."""
    if any(choice != NO_CHOICE for choice in choices):
        op.attributes[AXES] = ir.ArrayAttr.get([choice.attribute for choice in choices])


def choices_of(op: ir.Operation, count: int) -> list[AxisChoice]:
    """Return the choices for the axes of an op that has this many."""
    attributes = list(ir.ArrayAttr(op.attributes[AXES])) if AXES in op.attributes else []
    return (
        [_choice(attribute) for attribute in attributes]
        if len(attributes) == count
        else [NO_CHOICE] * count
    )


def set_choice(loop: ir.Operation, choice: AxisChoice) -> None:
    """Say something of a loop."""
    if choice != NO_CHOICE:
        loop.attributes[CHOICE] = choice.attribute


def choice_of(loop: ir.Operation) -> AxisChoice:
    """Return the choices for a loop."""
    return _choice(loop.attributes[CHOICE]) if CHOICE in loop.attributes else NO_CHOICE


def _choice(attribute: ir.Attribute) -> AxisChoice:
    entries = ir.DictAttr(attribute)
    flags = [flag in entries for flag in _FLAGS]
    name = ir.StringAttr(entries["name"]).value if "name" in entries else ""
    tile = ir.IntegerAttr(entries["tile"]).value if "tile" in entries else 0
    return AxisChoice(name, tile, *flags)
