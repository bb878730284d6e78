"""Times of launches."""

from __future__ import annotations

import warnings

from mlirad.checks import text
from mlirad.lang.start import sync
from mlirad.runtime.profile import Launches, Profile
from mlirad.runtime.program import program


def _profile() -> Profile | None:
    """Return the program's profile; None, with a warning, if it has none."""
    sync()
    profile = program().profile
    if profile is None:
        warnings.warn("launches are not timed: use ti.init(kernel_profiler=True)", stacklevel=3)
    return profile


def print_kernel_profiler_info(mode: str = "count") -> None:
    """Print a table of kernels and their named loops, or of launches.

    On CUDA the times are those of driver events, a loop without a name is shown by its line, and
    the row of a kernel ends with a lower bound of its bytes per second, if it is known,
    next to that of a copy by the driver. Like all functions of this module, it warns if launches
    are not timed; `ti.init(kernel_profiler=True)` times them.

    Args:
        mode: "count" prints, for each kernel and named loop, the share of time, seconds, number of
            launches, and minimum, mean and maximum time in milliseconds; "trace" prints each
            launch.

    Raises:
        ValueError: the mode is unknown.
    """
    if text(mode, "mode") not in ("count", "trace"):
        raise ValueError(f"expected mode='count' or mode='trace', got {mode!r}")
    profile = _profile()
    if profile is None:
        return
    total = profile.total
    print(f"kernel profiler ({mode}) on {program().config.arch}")
    if mode == "trace":
        for name, milliseconds in profile.last:
            print(f"{milliseconds:10.3f} ms  {name}")
    else:
        print("     %     total    count        min        avg        max   kernel")
        peak = program().executor.copy_rate()
        for kernel in sorted(profile.kernels.values(), key=lambda one: -one.total):
            _print_row(kernel, total, peak)
            for name, loop in profile.loops.items():
                if name.startswith(f"{kernel.name}: "):
                    _print_row(loop, total, peak)
    print(f"{total / 1000:.3f} s in {len(profile.kernels)} kernels")


def _print_row(row: Launches, total: float, peak: float | None) -> None:
    share = 100 * row.total / total if total else 0
    rate = ""
    if row.bytes and peak:
        rate = f", {row.rate / 1e9:.0f} GB/s, {row.rate / peak:.0%} of a copy"
    print(
        f"{share:6.2f} {row.total / 1000:7.3f} s {row.counter:7d}x "
        f"{row.min:10.3f} {row.avg:10.3f} {row.max:10.3f} ms {row.name}{rate}"
    )


def query_kernel_profiler_info(name: str) -> Launches:
    """Return the number of launches of a kernel (`counter`), and their times in milliseconds
    (`min`, `max`, `avg`). All are 0 for a name that was not launched.

    Args:
        name: the name of a kernel. A derivative has the name of its kernel with its mode, such as
            `step.reverse`; a loop with `ti.loop_config(name="sum")` is `step: sum`; on CUDA a loop
            without a name is `step: line 12`.
    """
    text(name, "name")
    profile = _profile()
    rows = {} if profile is None else profile.loops | profile.kernels
    return rows.get(name, Launches(name))


def clear_kernel_profiler_info() -> None:
    """Discard the times of all launches so far."""
    profile = _profile()
    if profile is not None:
        profile.clear()


def get_kernel_profiler_total_time() -> float:
    """Return the total time of all launches since the last clearing, in seconds; 0.0, with a
    warning, if launches are not timed."""
    profile = _profile()
    return 0.0 if profile is None else profile.total / 1000


def set_kernel_profiler_toolkit(toolkit_name: str = "default") -> bool:
    """Return whether a toolkit times launches: True for "default", a clock, and False for any other
    one (Taichi's "cupti"). The setting has no effect."""
    return text(toolkit_name, "toolkit_name") == "default"
