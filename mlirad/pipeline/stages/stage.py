"""A stage of a pipeline: its name, and the passes that lead to it from the stage before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STAGES = ("field", "normal", "derived", "memref", "target")


@dataclass(frozen=True)
class Stage:
    """What is dumped by its name, and the passes that make it, as text that `mlirad-opt`
    replays."""

    name: str
    passes: str


def join(stages: Sequence[Stage]) -> str:
    """One pipeline of several stages."""
    return f"builtin.module({','.join(stage.passes for stage in stages)})"
