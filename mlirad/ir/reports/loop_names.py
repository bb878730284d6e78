"""The names that programs give to loops, in the locations of what is made of these loops.

An op that takes the place of another has its location: so names stay where attributes would have to
be handed on.
"""

from __future__ import annotations

import re

from mlirad.bindings import ir
from mlirad.errors import SourceLocation, TaichiCompilationError
from mlirad.ir.ops import Func
from mlirad.ir.reports.location import source_location
from mlirad.ir.walk import ancestors, enclosing, operations

LOOP_NAME = "loop_name"  # of a loop, for people
_LOOP = "loop "  # before a name: programs in MLIR have names of their own in locations


def named_location(name: str) -> ir.Location:
    """The current location, as that of a loop with a name."""
    return ir.Location.name(f"{_LOOP}{name}", ir.Location.current)


def name_at(location: ir.Location) -> str | None:
    """The name of the loop that an op with this location was made of."""
    if isinstance(location, ir.NameLoc) and location.name_str.startswith(_LOOP):
        return location.name_str.removeprefix(_LOOP)
    return None


def symbol_suffix(op: ir.Operation, before: str) -> str:
    """Return the end of the symbol of a loop's function: the loop's name as a word, if it has
    one."""
    name = name_at(op.location)
    return "" if name is None else before + re.sub(r"\W", "_", name, flags=re.ASCII)


def loop_name(op: ir.Operation) -> str | None:
    """The name of the loop that an op stands in, or that it is."""
    names = (name_at(owner.location) for owner in (op, *ancestors(op)))
    return next((name for name in names if name is not None), None)


def in_loop(name: str) -> str:
    """Return the note of an error in a loop."""
    return f"in the loop {name!r}"


def name_loop(error: TaichiCompilationError, root: ir.Operation) -> None:
    """Add a note with the name of the loop that all ops at the place of an error stand in, of those
    in loops: arrays are looked up, and constants made, in front of them."""
    if error.source is not None:
        names = {loop_name(op) for op in _ops_at(error.source, root) if _is_in_loop(op)}
        name = names.pop() if len(names) == 1 else None
        if name is not None and in_loop(name) not in getattr(error, "__notes__", ()):
            error.add_note(in_loop(name))


def _ops_at(place: SourceLocation, root: ir.Operation) -> list[ir.Operation]:
    return [op for op in operations(root) if source_location(op.location) == place]


def _is_in_loop(op: ir.Operation) -> bool:
    return len(op.regions) > 0 or enclosing(op).name != Func.FUNC
