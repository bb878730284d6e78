"""`ti.simt.grid`: what all threads of a launch do."""

from mlirad.lang.simt.old_names import renamed


def mem_fence() -> None:
    """Order what this thread writes for others. Without effect: updates in one step
    (`ti.atomic_add`) are what other blocks see in order."""


memfence = renamed("grid", "memfence", mem_fence)
__all__ = ["mem_fence", "memfence"]


def __dir__() -> list[str]:
    return __all__
