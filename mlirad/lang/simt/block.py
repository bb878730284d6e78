"""`ti.simt.block`: what the threads of a block do together. Where a function takes the threads of a
block and a type, values are converted to the type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlirad.dialect.field import GROUP
from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.places import threads
from mlirad.frontend.python.values import functions as fn
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.lang.simt.old_names import renamed
from mlirad.lang.simt.scans import COMBINE, Combine, identity, scan
from mlirad.lang.simt.shuffles import FULL
from mlirad.types import TypeLike, i32, u1

SharedArray: Any = threads.shared_array


def sync() -> None:
    """Wait for the other threads of the block; nothing, outside of a parallel loop."""
    threads.wait()


def mem_fence() -> None:
    """Order what this thread writes for the others of its block: `sync` does."""


def thread_idx() -> Expr:
    """The number of this thread in its block."""
    return threads.thread()


def global_thread_idx() -> Expr:
    """The number of this thread among those of all blocks: that of the iteration."""
    return threads.iteration()


def _of_groups(value: Any) -> list[Any]:
    """Return the value of each group of the block; all threads wait before and after."""
    size = threads.block_size()
    groups = -(-size // GROUP)
    memory = threads.shared_array(groups, value.dtype)
    memory.element([ex.floor_divide(threads.thread(), GROUP)]).store(value)
    threads.wait()
    values = [memory.element([group]).load() for group in range(groups)]
    threads.wait()
    return values


def sync_count_nonzero(predicate: Scalar) -> Expr:
    """The number of threads of the block in which a predicate is not 0; all wait for it."""
    counts = _of_groups(ex.cast(fn.popcnt(threads.ballot(predicate)), i32))
    return _fold(COMBINE["add"], counts)


def sync_any_nonzero(predicate: Scalar) -> Expr:
    """1 if a predicate is not 0 in a thread of the block, else 0; all wait for it."""
    return ex.cast(sync_count_nonzero(predicate) > 0, i32)


def sync_all_nonzero(predicate: Scalar) -> Expr:
    """1 if a predicate is not 0 in every thread of the block, else 0; all wait for it."""
    is_zero = ex.logical_not(ex.cast(ex.truth(predicate), u1))
    return ex.cast(sync_count_nonzero(is_zero) == 0, i32)


def _fold(combine: Combine, values: Sequence[Any]) -> Any:
    result = values[0]
    for value in values[1:]:
        result = combine(result, value)
    return result


def _check_size(block_dim: int) -> None:
    if block_dim != threads.block_size():
        raise TaichiTypeError(
            f"expected block_dim={threads.block_size()}, got {block_dim}: "
            "ti.loop_config(block_dim=) sets the number of threads in a block"
        )


def _scan(combine: Combine, value: Scalar, dtype: TypeLike) -> tuple[Any, list[Any]]:
    """Return the scan of the group up to this thread, and the total of each group."""
    up_to_here = scan(combine, fn.cast(value, dtype), FULL)
    size = threads.block_size()
    last: Scalar = GROUP - 1
    if size % GROUP:
        is_last = threads.thread() >= size - size % GROUP
        last = ex.select(is_last, size % GROUP - 1, GROUP - 1)
    return up_to_here, _of_groups(threads.shuffled(up_to_here, last))


def reduce(value: Scalar, block_dim: int, op: Combine, dtype: TypeLike) -> Any:
    """Combine the values of all threads of the block by `op`; every thread gets the result."""
    _check_size(block_dim)
    return _fold(op, _scan(op, value, dtype)[1])


def inclusive_scan(value: Scalar, block_dim: int, op: Combine, dtype: TypeLike) -> Any:
    """Combine the values of the threads of the block up to and including this one by `op`."""
    _check_size(block_dim)
    result, totals = _scan(op, value, dtype)
    group = ex.floor_divide(threads.thread(), GROUP)
    before = totals[0]
    for number in range(1, len(totals)):
        result = fn.select(group == number, op(before, result), result)
        before = op(before, totals[number])
    return result


def exclusive_scan(
    value: Scalar, block_dim: int, op: Combine, identity: Scalar, dtype: TypeLike
) -> Any:
    """Combine the values of the threads of the block before this one by `op`; the first thread gets
    `identity`."""
    memory = threads.shared_array(block_dim, dtype)
    thread = threads.thread()
    memory.element([thread]).store(inclusive_scan(value, block_dim, op, dtype))
    threads.wait()
    before = memory.element([fn.max(thread - 1, 0)]).load()
    threads.wait()
    return fn.select(thread == 0, fn.cast(identity, dtype), before)


def _function(name: str, work: Callable[..., Any], kind: str, sentence: str) -> Any:
    def apply(value: Scalar, block_dim: int, dtype: TypeLike) -> Any:
        return work(value, block_dim, COMBINE[kind], dtype)

    def before(value: Scalar, block_dim: int, dtype: TypeLike) -> Any:
        none = identity(kind, ex.expression(fn.cast(value, dtype)))
        return exclusive_scan(value, block_dim, COMBINE[kind], none, dtype)

    function = before if work is exclusive_scan else apply
    function.__name__ = f"{name}_{kind}"
    function.__doc__ = f"The `{kind}` of the values of {sentence}."
    return function


reduce_all = reduce
_BLOCK = "all threads of the block"
reduce_add, reduce_min, reduce_max = (
    _function("reduce", reduce, kind, _BLOCK) for kind in ("add", "min", "max")
)
reduce_all_add, reduce_all_min, reduce_all_max = (
    _function("reduce_all", reduce, kind, _BLOCK) for kind in ("add", "min", "max")
)
inclusive_add, inclusive_min, inclusive_max = (
    _function("inclusive", inclusive_scan, kind, "the threads of the block up to this one")
    for kind in ("add", "min", "max")
)
exclusive_add, exclusive_min, exclusive_max = (
    _function("exclusive", exclusive_scan, kind, "the threads of the block before this one")
    for kind in ("add", "min", "max")
)
mem_sync = renamed("block", "mem_sync", mem_fence)
__all__ = [
    *("SharedArray", "exclusive_add", "exclusive_max", "exclusive_min", "exclusive_scan"),
    *("global_thread_idx", "inclusive_add", "inclusive_max", "inclusive_min", "inclusive_scan"),
    *("mem_fence", "mem_sync", "reduce", "reduce_add", "reduce_all", "reduce_all_add"),
    *("reduce_all_max", "reduce_all_min", "reduce_max"),
    *("reduce_min", "sync"),
    *("sync_all_nonzero", "sync_any_nonzero", "sync_count_nonzero", "thread_idx"),
]


def __dir__() -> list[str]:
    return __all__
