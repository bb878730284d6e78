"""What cells may be refused for: a piece of the message, and the reason."""

from __future__ import annotations

from programs.memory_changes.cell import Cell, Outcome, Result

REASONS = {
    "of a sparse block": "within a limit of memory, sparse blocks are not made again",
    "which has no gradient": "forward mode gives no hidden tangents to arrays",
    "has no tangents": "forward mode takes ti.ndarray, not arrays of others",
    "state= takes fields and ti.ndarrays": "checkpoints hold memory of mlirad's own",
    "Python has changed array argument": "arrays of others that Python writes are not made again",
    "is sparse: functions of tensors": "te functions take dense fields",
    "has a gradient of its own": "solves have a reverse only",
    "that is communicated and has no gradient": "communication gives ndarrays no hidden gradients",
    "read in Python inside a": "a warning: a solve, or a device's view, is a read by Python",
    "the view is read-only": "views of fields and ndarrays are for reading",
}


def explained(cell: Cell, result: Result) -> bool:
    """Whether a cell is right, or refused for a reason of the table."""
    if result.outcome is not Outcome.REFUSED:
        return result.outcome is Outcome.RIGHT
    return any(message in result.reason for message in REASONS)
