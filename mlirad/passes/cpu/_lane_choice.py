"""Which loop of a nest runs in lanes, and why."""

from __future__ import annotations

from dataclasses import dataclass

from mlirad.bindings import ir
from mlirad.ir.structured import runs_in_any_order
from mlirad.ir.walk import enclosing, operations
from mlirad.passes.cpu._lane_limits import parallel_loops, reason_against
from mlirad.passes.cpu._lane_strides import Strides
from mlirad.passes.cpu._lane_updates import Meetings


@dataclass(frozen=True)
class Candidate:
    """A loop that may run in lanes."""

    loop: ir.Operation
    strides: Strides
    meetings: Meetings
    width: int


@dataclass(frozen=True)
class Choice:
    """What becomes of a nest of loops: the one that runs in lanes, if any, and what to say."""

    nest: ir.Operation
    candidate: Candidate | None
    text: str


def choose(function: ir.Operation, width: int, fast: bool, always: bool) -> list[Choice]:
    """A choice for each nest of loops of a function."""
    loops = parallel_loops(function)
    nests = [loop for loop in loops if not _is_within_another(loop)]
    return [_choice(nest, width, fast, always) for nest in nests]


def _is_within_another(loop: ir.Operation) -> bool:
    owner = enclosing(loop)
    while owner.name != "func.func":
        if runs_in_any_order(owner):
            return True
        owner = enclosing(owner)
    return False


def _choice(nest: ir.Operation, width: int, fast: bool, always: bool) -> Choice:
    reasons = []
    for loop in reversed([nest, *(op for op in operations(nest) if runs_in_any_order(op))]):
        strides = Strides(loop)
        meetings = Meetings(strides, fast)
        reason = reason_against(loop, strides, meetings, fast)
        if not reason:
            text = f"runs {width} iterations as lanes"
            return Choice(nest, Candidate(loop, strides, meetings, width), text)
        reasons.append(reason)
    return Choice(nest, None, f"does not run in lanes: {reasons[0]}")
