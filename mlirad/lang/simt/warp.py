"""`ti.simt.warp`: what 32 neighboring threads of a block do together, by the names that CUDA has.
Masks name the threads that take part: those that are here do."""

from __future__ import annotations

from typing import Any

from mlirad.dialect.field import GROUP
from mlirad.frontend.python.places import threads
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.lang.simt import shuffles
from mlirad.types import i32, u1, u32


def all_nonzero(mask: Scalar, predicate: Scalar) -> Expr:
    """1 if a predicate is not 0 in every thread of the warp that is here, else 0."""
    return ex.cast(ex.comparison("==")(threads.ballot(ex.logical_not(predicate)), 0), i32)


def any_nonzero(mask: Scalar, predicate: Scalar) -> Expr:
    """1 if a predicate is not 0 in a thread of the warp, else 0."""
    return ex.cast(ex.comparison("!=")(threads.ballot(predicate), 0), i32)


def unique(mask: Scalar, predicate: Scalar) -> Expr:
    """1 if a predicate is 0 in all threads of the warp that are here, or in none, else 0."""
    holding = threads.ballot(predicate)
    none = ex.cast(ex.comparison("==")(holding, 0), u1)
    return ex.cast(none | ex.cast(holding == active_mask(), u1), i32)


def ballot(predicate: Scalar) -> Expr:
    """A bit for each thread of the warp in which a predicate is not 0, as u32."""
    return threads.ballot(predicate)


def active_mask() -> Expr:
    """A bit for each thread of the warp that is here, as u32."""
    return threads.ballot(1)


def sync(mask: Scalar) -> None:
    """Wait for the other threads of the warp."""
    threads.wait()


def match_any(mask: Scalar, value: Scalar) -> Expr:
    """A bit for each thread of the warp that has the same value, as u32."""
    scalar = ex.expression(value)
    active = active_mask()
    bits = ex.cast(0, u32)
    for lane in range(GROUP):
        same = ex.cast(threads.shuffled(scalar, lane) == scalar, u32)
        bits = bits | ex.shift("<<")(same, lane)
    return bits & active


def match_all(mask: Scalar, val: Scalar) -> Expr:
    """A bit for each thread of the warp that is here, as u32, if all have the same value, else
    0."""
    active = active_mask()
    return ex.select(match_any(mask, val) == active, active, ex.cast(0, u32))


def shfl_sync(mask: Scalar, val: Any, offset: Scalar) -> Any:
    """The value of the thread of a number in the warp."""
    return shuffles.shuffle(val, offset)


def shfl_up(mask: Scalar, val: Any, offset: Scalar) -> Any:
    """The value of the thread so many before this one; this one's, if there is none."""
    return shuffles.shuffle_up(val, offset)


def shfl_down(mask: Scalar, val: Any, offset: Scalar) -> Any:
    """The value of the thread so many behind this one; this one's, if there is none."""
    return shuffles.shuffle_down(val, offset)


def shfl_xor(mask: Scalar, val: Any, offset: Scalar) -> Any:
    """The value of the thread whose number differs from this one's in some bits."""
    return shuffles.shuffle_xor(val, offset)


shfl_sync_i32 = shfl_sync_f32 = shfl_sync
shfl_up_i32 = shfl_up_f32 = shfl_up
shfl_down_i32 = shfl_down_f32 = shfl_down
shfl_xor_i32 = shfl_xor
__all__ = [
    *("active_mask", "all_nonzero", "any_nonzero", "ballot", "match_all", "match_any"),
    *("shfl_down_f32", "shfl_down_i32", "shfl_sync_f32", "shfl_sync_i32", "shfl_up_f32"),
    *("shfl_up_i32", "shfl_xor_i32", "sync", "unique"),
]


def __dir__() -> list[str]:
    return __all__
