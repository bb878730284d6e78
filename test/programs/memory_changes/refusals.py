"""What cells may be refused for: a piece of the message, and the reason."""

from __future__ import annotations

from programs.memory_changes.cell import Cell, Outcome, Result

REASONS = {
    "of a sparse block": "with a memory limit, sparse blocks are not recomputed",
    "which has no gradient": "forward mode creates no hidden tangents for arrays",
    "has no tangents": "forward mode accepts ti.ndarray, not foreign arrays",
    "state=: expected fields and ti.ndarrays": "checkpoints save only memory that mlirad allocated",
    "Python has changed array argument": "foreign arrays that Python writes are not recomputed",
    "is sparse: functions of tensors": "te functions accept dense fields only",
    "has its own gradient": "solves support reverse mode only",
    "that is communicated and has no gradient": (
        "communication does not create hidden gradients of ndarrays"
    ),
    "read in Python inside a": "a warning: a solve, or a view on a device, is a read from Python",
    "the view is read-only": "views of fields and ndarrays are read-only",
}


def explained(cell: Cell, result: Result) -> bool:
    """Whether a cell is right, or refused for a reason of the table."""
    if result.outcome is not Outcome.REFUSED:
        return result.outcome is Outcome.RIGHT
    return any(message in result.reason for message in REASONS)
