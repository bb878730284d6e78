"""A stage of a pipeline: its name, and the passes that lead to it from the stage before."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Stage(msgspec.Struct, frozen=True):
    """A module that is dumped by its name, and the passes that make it, as text that `mlirad-opt`
    replays."""

    name: str
    passes: str


def join(stages: Sequence[Stage]) -> str:
    """One pipeline of several stages."""
    return f"builtin.module({','.join(stage.passes for stage in stages)})"


def up_to(name: str, stages: Sequence[Stage]) -> list[Stage]:
    """The stages to one of a name, which is included."""
    return [*stages[: [stage.name for stage in stages].index(name) + 1]]


def behind(name: str, stages: Sequence[Stage]) -> list[Stage]:
    """The stages after one of a name."""
    return [*stages[[stage.name for stage in stages].index(name) + 1 :]]
