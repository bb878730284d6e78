"""MLIR locations as places in a user's program."""

import re

from mlirad.bindings import ir
from mlirad.errors import SourceLocation

_FILE = re.compile(r'"([^"]+)":(\d+):(\d+)')


def source_location(location: ir.Location) -> SourceLocation | None:
    """The first file, line and column in a location, or None."""
    if isinstance(location, ir.FileLineColLoc):
        return SourceLocation(location.filename, location.start_line, location.start_col)
    match = _FILE.search(str(location))  # fused locations do not give the ones in them
    return (
        None
        if match is None
        else SourceLocation(match.group(1), int(match.group(2)), int(match.group(3)))
    )


def place_attribute(place: SourceLocation | None) -> ir.Attribute:
    """A place to be kept in IR; an empty dictionary where it is not known."""
    if place is None:
        return ir.DictAttr.get({})
    i64 = ir.IntegerType.get_signless(64)
    return ir.DictAttr.get(
        {
            "file": ir.StringAttr.get(place.file),
            "line": ir.IntegerAttr.get(i64, place.line),
            "column": ir.IntegerAttr.get(i64, place.column),
        }
    )


def read_place(attribute: ir.Attribute) -> SourceLocation | None:
    """The place that was kept in IR."""
    entry = ir.DictAttr(attribute)
    if "file" not in entry:
        return None
    line, column = (ir.IntegerAttr(entry[name]).value for name in ("line", "column"))
    return SourceLocation(ir.StringAttr(entry["file"]).value, line, column)


def nearest_location(op: ir.Operation) -> SourceLocation | None:
    """The place of an op, or of the first one around it that has one: conversions make ops
    without."""
    place = source_location(op.location)
    while place is None and op.parent is not None:
        op = op.parent.operation
        place = source_location(op.location)
    return place
