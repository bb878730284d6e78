"""Code that hardly ever runs: a function that is called if a quick way of computing something was
not good enough, and the branch that calls it."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.ops import Func
from mlirad.ir.structured import If, is_branch
from mlirad.ir.walk import block_operations

RARE = "field.rare"  # of a function, and of a branch that only calls one without effects
CALL = Func.CALL


def is_rare(op: ir.Operation) -> bool:
    """Return whether an op is a branch that hardly ever runs: it calls a function, or gives what is
    there already."""
    return is_branch(op) and RARE in op.attributes


def rare_call(branch: ir.Operation) -> ir.Operation:
    """The call in such a branch."""
    return block_operations(If(branch).blocks[0])[0]
