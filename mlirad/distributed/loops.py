"""Checkpointed loops that all ranks go through together."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from mlirad.ad.checkpoint.checkpointing import CheckpointedSteps, declared_of
from mlirad.ad.checkpoint.checkpointing import checkpointed as checkpointed_here
from mlirad.distributed.mpi import MPI
from mlirad.distributed.ranks import ranks


def checkpointed(
    steps: Any,
    over: Any = None,
    *,
    state: Any,
    scratch: Any = (),
    snapshots: int | None = None,
    memory: int | str | None = None,
) -> CheckpointedSteps:
    """`ti.ad.checkpointed` for steps that communicate: with one schedule in all ranks.

    Every rank keeps as many snapshots as the one with the least room for them, of `memory` bytes
    in each. Raises TaichiRuntimeError, in all ranks, if they are not about to do as many steps;
    what is communicated when steps are done again is compared by its number.
    """
    all_ranks = ranks()
    count = declared_of(state, scratch, snapshots, memory).snapshots
    least = all_ranks.comm.allreduce(count, MPI.MIN)
    items = steps if over is None else over
    length = len(items) if isinstance(items, Sized) else None
    all_ranks.agree(f"a checkpointed loop of {length} steps with {least} snapshots")
    return checkpointed_here(steps, over, state=state, scratch=scratch, snapshots=least)
