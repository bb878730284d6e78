"""Starting a program in every rank."""

from __future__ import annotations

from mlirad.distributed.ranks import processors, ranks
from mlirad.lang.start import init as start


def init(random_seed: int = 0, cpu_max_num_threads: int | None = None, **options: object) -> None:
    """Call `ti.init` on a rank, with its share of the processors of the machine, unless
    `cpu_max_num_threads` is given, and with the seed `random_seed * size + rank`, so that each rank
    draws different random numbers."""
    start(
        random_seed=random_seed * ranks().size + ranks().rank,
        cpu_max_num_threads=cpu_max_num_threads or processors(),
        **options,  # type: ignore[arg-type]
    )


def rank() -> int:
    """Return the number of this process among the ranks, from 0."""
    return ranks().rank


def size() -> int:
    """Return the number of ranks."""
    return ranks().size


def barrier() -> None:
    """Wait for all ranks."""
    ranks().agree("barrier")
