"""`ti.algorithms`: sorting and prefix sums."""

from mlirad.algorithms.prefix_sum import PrefixSumExecutor
from mlirad.algorithms.sorting import parallel_sort

__all__ = ["PrefixSumExecutor", "parallel_sort"]


def __dir__() -> list[str]:
    return __all__
