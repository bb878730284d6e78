"""MLIR locations as places in a user's program."""

import re

from mlirad.bindings import ir
from mlirad.errors import SourceLocation

_FILE = re.compile(r'"([^"]+)":(\d+):(\d+)')


def source_location(location: object) -> SourceLocation | None:
    """The first file, line and column in a location, or None."""
    match = _FILE.search(str(location))
    return (
        None
        if match is None
        else SourceLocation(match.group(1), int(match.group(2)), int(match.group(3)))
    )


def nearest_location(op: ir.Operation) -> SourceLocation | None:
    """The place of an op, or of the first one around it that has one: conversions make ops
    without."""
    place = source_location(op.location)
    while place is None and op.parent is not None:
        op = op.parent.operation
        place = source_location(op.location)
    return place
