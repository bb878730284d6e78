"""`ti.simt.grid`: what all threads of a launch do."""

from mlirad.frontend.python.places import threads
from mlirad.lang.simt.old_names import renamed


def mem_fence() -> None:
    """Order what this thread writes for other blocks: nothing outside of a parallel loop. Raises
    TaichiSyntaxError within one, where no machine is told of it as yet."""
    threads.refuse_fence()


memfence = renamed("grid", "memfence", mem_fence)
__all__ = ["mem_fence", "memfence"]


def __dir__() -> list[str]:
    return __all__
