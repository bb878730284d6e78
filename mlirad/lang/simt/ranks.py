"""Ranks of the keys of a block, sorted by some of their bits."""

from typing import Any

from mlirad.frontend.python.calls.specials import static
from mlirad.frontend.python.values.functions import cast
from mlirad.lang.kernels.kernel import func
from mlirad.lang.simt import block
from mlirad.lang.types_namespace import template
from mlirad.types import i32


@func
def radix_rank_match_atomic_or(
    key: Any,
    block_dim: template(),  # type: ignore[valid-type]
    radix_bits: template(),  # type: ignore[valid-type]
    bit_start: template(),  # type: ignore[valid-type]
    num_bits: template(),  # type: ignore[valid-type]
    bins: template(),  # type: ignore[valid-type]
    excl_prefix: template(),  # type: ignore[valid-type]
) -> Any:
    """The place of this thread's key among those of the block, sorted by `num_bits` bits from
    `bit_start` on, in the order of threads where these are equal. The shared arrays `bins` and
    `excl_prefix` get how many keys have each digit, and how many a smaller one; a block has a
    thread for each digit."""
    thread = block.thread_idx()
    digits = block.SharedArray((block_dim,), i32)
    digit = cast((key >> bit_start) & static((1 << num_bits) - 1), i32)
    digits[thread] = digit
    bins[thread] = 0
    block.sync()
    bins[digit] += 1
    block.sync()
    excl_prefix[thread] = block.exclusive_add(bins[thread], block_dim, i32)
    block.sync()
    rank = excl_prefix[digit]
    for other in range(thread):
        if digits[other] == digit:
            rank += 1
    return rank


setattr(block, radix_rank_match_atomic_or.__name__, radix_rank_match_atomic_or)
