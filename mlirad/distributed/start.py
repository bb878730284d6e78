"""Starting a program in every rank."""

from __future__ import annotations

from mlirad.distributed.ranks import processors, ranks
from mlirad.lang.start import init as start


def init(random_seed: int = 0, cpu_max_num_threads: int | None = None, **options: object) -> None:
    """`ti.init` in a rank: with its share of the machine's processors, unless
    `cpu_max_num_threads` says otherwise, and a seed of its own, `random_seed * size + rank`, so
    that ranks draw different random numbers."""
    start(
        random_seed=random_seed * ranks().size + ranks().rank,
        cpu_max_num_threads=cpu_max_num_threads or processors(),
        **options,  # type: ignore[arg-type]
    )


def rank() -> int:
    """The number of this process among the ranks, from 0 on."""
    return ranks().rank


def size() -> int:
    """The number of ranks."""
    return ranks().size


def barrier() -> None:
    """Wait for all ranks."""
    ranks().agree("barrier")
