"""What launches took."""

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
    """Print a table of kernels and, below each, of its loops with names (`count`: shares, seconds,
    launches, milliseconds of the shortest, the mean and the longest), or of launches one by one
    (`trace`).

    On CUDA the times are those of the driver's events, a loop without a name has its line, and the
    row of a kernel ends with the bytes that it touches at least in a second, beside a copy by the
    driver, where they are known. Raises ValueError for another mode; like the others of this
    module, warns where launches are not timed, which is asked for by
    `ti.init(kernel_profiler=True)`."""
    if text(mode, "mode") not in ("count", "trace"):
        raise ValueError(f"mode is 'count' or 'trace', not {mode!r}")
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
    """Return how often a kernel was launched (`counter`), and for how many milliseconds (`min`,
    `max`, `avg`, floats); a derivative has the name of its kernel with the mode behind a dot, such
    as `step.reverse`, and a loop that `ti.loop_config(name="sum")` names `step: sum`, on CUDA one
    without a name `step: line 12`. All are 0 for a name that was not launched, which is no
    error."""
    text(name, "name")
    profile = _profile()
    rows = {} if profile is None else profile.loops | profile.kernels
    return rows.get(name, Launches(name))


def clear_kernel_profiler_info() -> None:
    """Forget all launches that were timed so far."""
    profile = _profile()
    if profile is not None:
        profile.clear()


def get_kernel_profiler_total_time() -> float:
    """Seconds, a float, of all launches since the last clearing; 0.0, with a warning, where they
    are not timed."""
    profile = _profile()
    return 0.0 if profile is None else profile.total / 1000


def set_kernel_profiler_toolkit(toolkit_name: str = "default") -> bool:
    """Return whether launches are timed by a toolkit: True for "default", a clock, and False for
    every other one (Taichi's "cupti"), which changes nothing."""
    return text(toolkit_name, "toolkit_name") == "default"
