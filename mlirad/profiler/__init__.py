"""`ti.profiler`: the time of launches, with `ti.init(kernel_profiler=True)`, and of compilation."""

from mlirad.profiler.compiling import (
    clear_scoped_profiler_info,
    get_total_compilation_time,
    print_scoped_profiler_info,
)
from mlirad.profiler.kernels import (
    clear_kernel_profiler_info,
    get_kernel_profiler_total_time,
    print_kernel_profiler_info,
    query_kernel_profiler_info,
    set_kernel_profiler_toolkit,
)

__all__ = [
    "clear_kernel_profiler_info",
    "clear_scoped_profiler_info",
    "get_kernel_profiler_total_time",
    "get_total_compilation_time",
    "print_kernel_profiler_info",
    "print_scoped_profiler_info",
    "query_kernel_profiler_info",
    "set_kernel_profiler_toolkit",
]


def __dir__() -> list[str]:
    return __all__
