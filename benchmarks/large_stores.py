"""What stores past the caches save (`insert-write-buffers`): kernels that write arrays of 40 to
120 MB, on one thread, with such stores and without, in turn.

python -m benchmarks.large_stores
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

COUNT, ROWS, COLUMNS, ROUNDS = 10_000_000, 3001, 3333, 15
HEADINGS = ("kernel", "with, ms", "without, ms", "ratio")
Runs = dict[str, Callable[[], None]]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.large_stores",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, metavar="COUNT", help="samples (default: %(default)s)"
    )
    rounds = parser.parse_args().rounds
    import mlirad as ti
    from benchmarks.roofline import least
    from mlirad.pipeline.stages import cpu

    print(f"| {' | '.join(HEADINGS)} |\n{'|---' * len(HEADINGS)}|")
    for name in programs(ti):
        times = dict[bool, float]()
        for is_streamed in (True, False):
            text = cpu.WRITE_BUFFERS
            if not is_streamed:
                cpu.WRITE_BUFFERS = ""
            run = programs(ti)[name]
            run()
            cpu.WRITE_BUFFERS = text
            times[is_streamed] = 1e3 * least(run, rounds)
        ratio = times[True] / times[False]
        print(f"| {name} | {times[True]:.1f} | {times[False]:.1f} | {ratio:.2f} |", flush=True)


def programs(ti: Any) -> Runs:
    """Return kernels of a new program, by what they do."""
    ti.init(default_fp=ti.f32, cpu_max_num_threads=1)
    x, y = (ti.field(ti.f32, COUNT, needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f32, (), needs_grad=True)
    v, w = (ti.Vector.field(3, ti.f32, COUNT) for _ in range(2))
    grid, result = (ti.field(ti.f32, (ROWS, COLUMNS)) for _ in range(2))

    @ti.kernel
    def scale() -> None:
        for i in v:
            w[i] = v[i] * 2.0 + ti.Vector([1.0, 2.0, 3.0])

    @ti.kernel
    def laplace() -> None:
        for i, j in ti.ndrange((1, ROWS - 1), (1, COLUMNS - 1)):
            around = grid[i - 1, j] + grid[i + 1, j] + grid[i, j - 1] + grid[i, j + 1]
            result[i, j] = around - 4.0 * grid[i, j]

    @ti.kernel
    def mix() -> None:
        for i in range(1, COUNT - 1):
            y[i] = ti.sin(x[i - 1]) + x[i + 1]

    @ti.kernel
    def add_squares() -> None:
        for i in x:
            term = 0.75 * x[i] + y[i]
            loss[None] += term * term

    def reverse() -> None:
        with ti.ad.Tape(loss):
            add_squares()

    return {
        "vectors of three components, 10⁷": scale,
        "a five-point stencil, 3,001 x 3,333": laplace,
        "sines of a shifted array, 10⁷": mix,
        "the tape of a sum of squares, 10⁷": reverse,
    }


if __name__ == "__main__":
    main()
