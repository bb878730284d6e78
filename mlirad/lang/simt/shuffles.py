"""Values of other threads of a subgroup, and what all its threads agree on."""

from __future__ import annotations

from typing import Any

from mlirad.dialect.field import GROUP
from mlirad.frontend.python.places import threads
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.types import i32, u1

FULL = GROUP.bit_length() - 1


def invocation_id() -> Expr:
    """The number of this thread in its subgroup."""
    return threads.lane()


def shuffle(value: Any, index: Scalar) -> Any:
    """The value of the thread of a number in the subgroup, elementwise."""
    return threads.shuffled(value, index)


def broadcast(value: Any, index: Scalar) -> Any:
    """The value of the thread of a number in the subgroup, the same for all."""
    return threads.shuffled(value, index)


def broadcast_first(value: Any) -> Any:
    """The value of the first thread of the subgroup."""
    return threads.shuffled(value, 0)


def shuffle_xor(value: Any, mask: Scalar) -> Any:
    """The value of the thread whose number differs from this one's in some bits."""
    return threads.shuffled(value, threads.lane() ^ ex.cast(mask, i32))


def shuffle_up(value: Any, offset: Scalar) -> Any:
    """The value of the thread so many before this one; this one's, if there is none."""
    lane = threads.lane()
    source = lane - ex.cast(offset, i32)
    return threads.shuffled(value, ex.select(source < 0, lane, source))


def shuffle_down(value: Any, offset: Scalar) -> Any:
    """The value of the thread so many behind this one; this one's, if there is none."""
    lane = threads.lane()
    source = lane + ex.cast(offset, i32)
    return threads.shuffled(value, ex.select(source >= GROUP, lane, source))


def _flag(predicate: Scalar) -> Expr:
    return ex.cast(ex.cast(ex.truth(predicate), u1), i32)


def all_true_tiled(predicate: Scalar, log2_size: int) -> Expr:
    """1 if a predicate is not 0 in each thread of the tile, else 0."""
    value = _flag(predicate)
    for k in range(log2_size):
        value = value & shuffle_xor(value, 1 << k)
    return value


def any_true_tiled(predicate: Scalar, log2_size: int) -> Expr:
    """1 if a predicate is not 0 in some thread of the tile, else 0."""
    value = _flag(predicate)
    for k in range(log2_size):
        value = value | shuffle_xor(value, 1 << k)
    return value


def all_equal_tiled(value: Scalar, log2_size: int) -> Expr:
    """1 if all threads of the tile have one value, else 0."""
    scalar = ex.expression(value)
    first = threads.lane() & ~((1 << log2_size) - 1)
    return all_true_tiled(scalar == threads.shuffled(scalar, first), log2_size)


def all_true(predicate: Scalar) -> Expr:
    """1 if a predicate is not 0 in each thread of the subgroup, else 0."""
    return all_true_tiled(predicate, FULL)


def any_true(predicate: Scalar) -> Expr:
    """1 if a predicate is not 0 in some thread of the subgroup, else 0."""
    return any_true_tiled(predicate, FULL)


def all_equal(value: Scalar) -> Expr:
    """1 if all threads of the subgroup have one value, else 0."""
    return all_equal_tiled(value, FULL)


__all__ = [
    *("all_equal", "all_equal_tiled", "all_true", "all_true_tiled", "any_true"),
    *("any_true_tiled", "broadcast", "broadcast_first", "invocation_id", "shuffle"),
    *("shuffle_down", "shuffle_up", "shuffle_xor"),
]
