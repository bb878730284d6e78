"""Marks on ops that move memory back and forth. The reverse of a function leaves these attributes,
for who wants to run a part of it.

- `grad.again`, on writes, `grad.record` and `grad.undo`: an earlier run of the same code wrote and
  noted this, and it has been undone since. Who leaves all of these out finds what the first run
  left, until the block begins to be reversed; then each log is as long as it ever is.
- `grad.reversed`, on a loop or a branch: it leaves memory as it was before what it reverses. Who
  leaves it out has that from the `grad.undo` beside it.
- `grad.undone`, on such a `grad.undo`: nothing is left to be undone, unless the loop in front is
  left out.
"""

from collections.abc import Mapping

from mlirad.bindings import ir

AGAIN, REVERSED, UNDONE = "grad.again", "grad.reversed", "grad.undone"


def marks(*names: str) -> Mapping[str, ir.Attribute]:
    """The attributes of an op that has some marks."""
    return dict.fromkeys(names, ir.UnitAttr.get())


def is_again(op: ir.Operation) -> bool:
    """Return whether an op does what has been done and undone."""
    return AGAIN in op.attributes


def is_reversed(op: ir.Operation) -> bool:
    """Return whether a loop or branch leaves memory as it was before what it reverses."""
    return REVERSED in op.attributes


def is_undone(op: ir.Operation) -> bool:
    """Return whether there is nothing to undo."""
    return UNDONE in op.attributes
