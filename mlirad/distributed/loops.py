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
    """Loop like `ti.ad.checkpointed` over steps that communicate, with the same schedule on all
    ranks.

    Every rank keeps as many snapshots as the rank with the lowest memory limit (`memory` bytes per
    rank). When steps are recomputed, their messages are matched by number. Raises
    TaichiRuntimeError on all ranks if the numbers of steps differ.
    """
    all_ranks = ranks()
    count = declared_of(state, scratch, snapshots, memory).snapshots
    least = all_ranks.comm.allreduce(count, MPI.MIN)
    items = steps if over is None else over
    length = len(items) if isinstance(items, Sized) else None
    all_ranks.agree(f"a checkpointed loop of {length} steps with {least} snapshots")
    return checkpointed_here(steps, over, state=state, scratch=scratch, snapshots=least)
