"""`ti.simt.subgroup`: what 32 neighboring threads of a block do together. Functions that end in
`_tiled` work in tiles of `2**log2_size` neighbors."""

from __future__ import annotations

from typing import Any

from mlirad.dialect.field import GROUP
from mlirad.frontend.python.places import threads
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.lang.simt.old_names import renamed
from mlirad.lang.simt.scans import *  # noqa: F403 - part of the namespace
from mlirad.lang.simt.scans import __all__ as _scans
from mlirad.lang.simt.shuffles import *  # noqa: F403 - part of the namespace
from mlirad.lang.simt.shuffles import __all__ as _shuffles
from mlirad.types import i32, u32, u64


def group_size() -> int:
    """Return the number of threads of a subgroup."""
    return GROUP


def log2_group_size() -> int:
    """The logarithm, to base 2, of how many threads a subgroup has."""
    return GROUP.bit_length() - 1


def sync() -> None:
    """Wait for the other threads of the subgroup."""
    threads.wait()


def mem_fence() -> None:
    """Order what this thread writes for the others of its subgroup: `sync` does."""


def elect() -> Expr:
    """1 in the first thread of the subgroup, else 0."""
    return ex.cast(threads.lane() == 0, i32)


def ballot(predicate: Scalar) -> Expr:
    """A bit for each thread of the subgroup in which a predicate is not 0, as u64."""
    return ex.cast(threads.ballot(predicate), u64)


def ballot_first_n(predicate: Scalar, n: int) -> Expr:
    """A bit for each of the first `n` threads of the subgroup in which a predicate is not 0, as
    u32."""
    return threads.ballot(predicate) & ex.cast((1 << n) - 1, u32)


def _one_at(lane: Scalar) -> Expr:
    return ex.shift("<<")(ex.cast(1, u32), ex.cast(lane, u32))


def lanemask_lt(lane_id: Scalar) -> Any:
    """A bit for each thread whose number is below another, as u32."""
    return _one_at(lane_id) - ex.cast(1, u32)


def lanemask_le(lane_id: Scalar) -> Any:
    """A bit for each thread whose number is not above another, as u32."""
    return _one_at(lane_id) | lanemask_lt(lane_id)


def lanemask_eq(lane_id: Scalar) -> Any:
    """The bit of a thread, as u32."""
    return _one_at(lane_id)


def lanemask_gt(lane_id: Scalar) -> Any:
    """A bit for each thread whose number is above another, as u32."""
    return ~lanemask_le(lane_id)


def lanemask_ge(lane_id: Scalar) -> Any:
    """A bit for each thread whose number is not below another, as u32."""
    return ~lanemask_lt(lane_id)


barrier = renamed("subgroup", "barrier", sync)
memory_barrier = renamed("subgroup", "memory_barrier", mem_fence)
ballot_full_subgroup = renamed("subgroup", "ballot_full_subgroup", ballot)
__all__ = [
    *("ballot", "ballot_first_n", "ballot_full_subgroup", "barrier", "elect", "group_size"),
    *("lanemask_eq", "lanemask_ge", "lanemask_gt", "lanemask_le", "lanemask_lt"),
    *("log2_group_size", "mem_fence", "memory_barrier", "sync"),
    *_scans,
    *_shuffles,
]


def __dir__() -> list[str]:
    return __all__
