"""Sums, products, extrema and bits of the threads of a subgroup, or of tiles of it: of all, of
those up to a thread (inclusive), of those before it (exclusive), and of those from the last head of
a segment on."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from mlirad.frontend.python.places import threads
from mlirad.frontend.python.values import functions as fn
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.lang.simt.shuffles import FULL, shuffle_up, shuffle_xor
from mlirad.types import i32, u1

Combine = Callable[[Any, Any], Any]
COMBINE: dict[str, Combine] = {
    "add": operator.add,
    "mul": operator.mul,
    "min": fn.min,
    "max": fn.max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
_OF_ALL = ("add", "min", "max", "mul", "and", "or", "xor")
_SEGMENTED = ("add", "min", "max")


def identity(kind: str, value: Expr) -> Expr:
    """Return the identity of an operation, in its type."""
    dtype = value.dtype
    if kind in ("min", "max"):
        sign = 1 if kind == "min" else -1
        if dtype.is_float:
            return ex.cast(sign * float("inf"), dtype)
        low = -(1 << (dtype.bits - 1)) if dtype.is_signed else 0
        return ex.cast(low + (1 << dtype.bits) - 1 if sign > 0 else low, dtype)
    if kind == "and":
        return ~ex.cast(0, dtype)
    return ex.cast(1 if kind == "mul" else 0, dtype)


def _place(log2_size: int) -> Expr:
    """The number of this thread in its tile."""
    return threads.lane() & ((1 << log2_size) - 1)


def scan(combine: Combine, value: Any, log2_size: int, start: Scalar = 0) -> Any:
    """Combine what the threads of the tile have, from one of them up to this one."""
    distance = _place(log2_size) - start
    for k in range(log2_size):
        before = shuffle_up(value, 1 << k)
        value = fn.select(distance >= 1 << k, combine(before, value), value)
    return value


def _reduce(kind: str, value: Any, log2_size: int) -> Any:
    for k in range(log2_size):
        value = COMBINE[kind](value, shuffle_xor(value, 1 << k))
    return value


def _exclusive(kind: str, value: Scalar, log2_size: int) -> Any:
    scalar = ex.expression(value)
    before = shuffle_up(scalar, 1)
    first = ex.select(_place(log2_size) == 0, identity(kind, scalar), before)
    return scan(COMBINE[kind], first, log2_size)


def _segmented(kind: str, value: Any, head_flag: Scalar, log2_size: int) -> Any:
    is_head = ex.cast(ex.truth(head_flag), u1)
    own_start = ex.select(is_head, _place(log2_size), ex.cast(0, i32))
    start = scan(fn.max, own_start, log2_size)
    return scan(COMBINE[kind], value, log2_size, start)


def _functions(name: str, tiled: Callable[..., Any], sentence: str) -> dict[str, Any]:
    """A function of tiles, and the one of whole subgroups."""

    def of_subgroup(*values: Any) -> Any:
        return tiled(*values, FULL)

    for suffix, function, scope in (
        ("_tiled", tiled, "a tile of `2**log2_size` threads"),
        ("", of_subgroup, "the subgroup"),
    ):
        function.__name__ = f"{name}{suffix}"
        function.__doc__ = f"{sentence} of {scope}."
    return {name: of_subgroup, f"{name}_tiled": tiled}


def _of_kind(
    name: str, kind: str, work: Callable[..., Any], sentence: str, *, heads: bool = False
) -> dict[str, Any]:
    def of_values(value: Any, log2_size: int) -> Any:
        return work(kind, value, log2_size)

    def of_segments(value: Any, head_flag: Scalar, log2_size: int) -> Any:
        return work(kind, value, head_flag, log2_size)

    return _functions(f"{name}_{kind}", of_segments if heads else of_values, sentence)


def _inclusive(kind: str, value: Any, log2_size: int) -> Any:
    return scan(COMBINE[kind], value, log2_size)


def _all_functions() -> dict[str, Any]:
    functions: dict[str, Any] = {}
    for kind in _OF_ALL:
        for name in ("reduce", "reduce_all"):
            functions |= _of_kind(name, kind, _reduce, f"The `{kind}` of the values of all threads")
        up_to = f"The `{kind}` of the values of the threads up to this one"
        functions |= _of_kind("inclusive", kind, _inclusive, up_to)
        before = f"The `{kind}` of the values of the threads before this one"
        functions |= _of_kind("exclusive", kind, _exclusive, before)
    for kind in _SEGMENTED:
        since = f"The `{kind}` of the values since the last thread whose `head_flag` is not 0,"
        functions |= _of_kind("segmented_reduce", kind, _segmented, since, heads=True)
    return functions


def _exchange(key: Expr, value: Expr, distance: int, size: int) -> tuple[Expr, Expr]:
    """Keep the smaller pair of two, or the larger one, as a bitonic sort wants it."""
    other_key, other_value = shuffle_xor(key, distance), shuffle_xor(value, distance)
    lane = threads.lane()
    is_less = ex.cast(other_key < key, u1) | (
        ex.cast(other_key == key, u1) & ex.cast(other_value < value, u1)
    )
    is_greater = ex.cast(other_key > key, u1) | (
        ex.cast(other_key == key, u1) & ex.cast(other_value > value, u1)
    )
    rises, is_low = (lane & size) == 0, (lane & distance) == 0
    wants_less = ex.cast(rises, u1) ^ ex.cast(is_low, u1) ^ ex.cast(1, u1)
    takes = ex.select(wants_less, is_less, is_greater)
    return ex.select(takes, other_key, key), ex.select(takes, other_value, value)


def bitonic_sort_kv_tiled(key: Scalar, value: Scalar, log2_size: int) -> tuple[Expr, Expr]:
    """The pairs of a key and a value of a tile of `2**log2_size` threads, in rising order of keys,
    then of values."""
    keys, values = ex.expression(key), ex.expression(value)
    for k in range(1, log2_size + 1):
        # the last round rises in all tiles
        size = 1 << k if k < log2_size else 0
        for j in reversed(range(k)):
            keys, values = _exchange(keys, values, 1 << j, size)
    return keys, values


def bitonic_sort_kv(key: Scalar, value: Scalar) -> tuple[Expr, Expr]:
    """The pairs of a key and a value of the subgroup, in rising order of keys, then of values."""
    return bitonic_sort_kv_tiled(key, value, FULL)


_FUNCTIONS = _all_functions()
globals().update(_FUNCTIONS)
__all__ = [*sorted(_FUNCTIONS), "bitonic_sort_kv", "bitonic_sort_kv_tiled"]
