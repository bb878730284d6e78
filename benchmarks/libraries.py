"""Plain loops beside a library's function, on one thread of one process, in turn: products of
matrices beside NumPy's, a convolution and a softmax beside torch's, each with its gradient. The
limit is the time of a program's multiplications and additions at the rate of independent
multiply-adds in registers, and of its exponentials at the rate of a loop of nothing else.

python -m benchmarks.libraries
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

SIZES = (512, 1024, 2048)  # of matrices
IMAGES, CHANNELS, SIDE, WINDOW = 8, 64, 28, 3
ROWS = 1024
LANES, CHAINS, TRIPS = 16, 12, 20_000  # of multiply-adds that are measured
NUMBERS = 8192  # whose exponentials are measured
COLUMNS = (
    *("program", "library", "limit, ms", "mlirad, ms", "library, ms", "ratio, least"),
    "ratio, median",
)
Run = Callable[[], Any]


class Case(NamedTuple):
    """A program, what it does, and a library's function that does the same."""

    name: str
    library: str
    ours: Run
    theirs: Run
    products: int = 0  # that are added up
    exponentials: int = 0


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.libraries",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--rounds", type=int, default=9, metavar="COUNT", help="samples (default: %(default)s)"
    )
    rounds = parser.parse_args().rounds
    product, exponential = rates()
    print(f"{2 / product:.0f} GFLOP/s, {exponential:.2f} ns for an exponential\n")
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for case in cases():
        ours, theirs = samples(case, rounds)
        limit = 1e-6 * (case.products * product + case.exponentials * exponential)
        ratios = [low(ours) / low(theirs) for low in (min, statistics.median)]
        times = [f"{time:.2f}" for time in (limit, min(ours), min(theirs), *ratios)]
        print("|", " | ".join([case.name, case.library, *times]), "|", flush=True)


def rates() -> tuple[float, float]:
    """Nanoseconds of a multiply-add and of an exponential, in vectors on one thread."""
    import mlirad as ti
    from benchmarks.roofline import least  # with NumPy

    ti.init(default_fp=ti.f32, cpu_max_num_threads=1)
    starts = ti.field(ti.f32, LANES)
    numbers, results = (ti.field(ti.f32, NUMBERS) for _ in range(2))

    @ti.kernel
    def multiply_add() -> None:
        for i in starts:
            chain = ti.Vector([starts[i] + 0.1 * k for k in range(CHAINS)])
            for _ in range(TRIPS):
                chain = chain * 0.999 + 0.001
            starts[i] = chain.sum()

    @ti.kernel
    def exponentials() -> None:
        for i in numbers:
            results[i] = ti.exp(numbers[i])

    products = LANES * CHAINS * TRIPS
    return 1e9 * least(multiply_add, 50) / products, 1e9 * least(exponentials, 50) / NUMBERS


def samples(case: Case, rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds of both, in turn, behind two runs of each."""
    times: dict[Run, list[float]] = {case.ours: [], case.theirs: []}
    for number in range(rounds + 2):
        for run, found in times.items():
            start = time.perf_counter()
            run()
            if number >= 2:
                found.append(1e3 * (time.perf_counter() - start))
    return times[case.ours], times[case.theirs]


def cases() -> Iterator[Case]:
    """Yield all programs; those of torch where it is installed."""
    import mlirad as ti

    for size in SIZES:
        yield from _products(ti, size)
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)
    yield from _convolution(ti, torch)
    yield from _softmax(ti, torch)


def _products(ti: Any, size: int) -> Iterator[Case]:
    import numpy as np

    ti.init(default_fp=ti.f32, cpu_max_num_threads=1)
    a, b, c = (ti.field(ti.f32, (size, size), needs_grad=True) for _ in range(3))
    random = np.random.default_rng(1)
    left, right, adjoint = (random.random((size, size), np.float32) for _ in range(3))
    result, of_left, of_right = (np.empty_like(left) for _ in range(3))
    a.from_numpy(left), b.from_numpy(right)

    @ti.kernel
    def multiply() -> None:
        for i, j in c:
            total = 0.0
            for k in range(size):
                total += a[i, k] * b[k, j]
            c[i, j] = total

    def reverse() -> None:
        c.grad.from_numpy(adjoint)
        multiply.grad()

    def products() -> None:
        np.matmul(adjoint, right.T, out=of_left)
        np.matmul(left.T, adjoint, out=of_right)

    def product() -> None:
        np.matmul(left, right, out=result)

    yield Case(f"`matmul`, {size:,}", "NumPy", multiply, product, size**3)
    yield Case(f"its gradient, {size:,}", "NumPy", reverse, products, 2 * size**3)


def _convolution(ti: Any, torch: Any) -> Iterator[Case]:
    ti.init(default_fp=ti.f32, cpu_max_num_threads=1)
    out = SIDE - WINDOW + 1
    image = ti.field(ti.f32, (IMAGES, CHANNELS, SIDE, SIDE), needs_grad=True)
    weight = ti.field(ti.f32, (CHANNELS, CHANNELS, WINDOW, WINDOW), needs_grad=True)
    result = ti.field(ti.f32, (IMAGES, CHANNELS, out, out), needs_grad=True)
    images, weights = (torch.randn(x.shape, requires_grad=True) for x in (image, weight))
    adjoint = torch.randn(result.shape)
    for x, values in ((image, images), (weight, weights)):
        x.from_torch(values.detach())

    @ti.kernel
    def convolve() -> None:
        for n, f, i, j in result:
            total = 0.0
            for c in range(CHANNELS):
                for u in range(WINDOW):
                    for v in range(WINDOW):
                        total += weight[f, c, u, v] * image[n, c, i + u, j + v]
            result[n, f, i, j] = total

    def both() -> None:
        convolve()
        result.grad.from_torch(adjoint)
        convolve.grad()

    def theirs() -> None:
        images.grad = weights.grad = None
        torch.nn.functional.conv2d(images, weights).backward(adjoint)

    def forward() -> None:
        with torch.no_grad():
            torch.nn.functional.conv2d(images, weights)

    name = f"convolution ({IMAGES}, {CHANNELS}, {SIDE}, {SIDE})"
    count = IMAGES * CHANNELS**2 * out**2 * WINDOW**2
    yield Case(name, "torch", convolve, forward, count)
    yield Case("with its gradient", "torch", both, theirs, 3 * count)


def _softmax(ti: Any, torch: Any) -> Iterator[Case]:
    ti.init(default_fp=ti.f32, cpu_max_num_threads=1)
    x, y = (ti.field(ti.f32, (ROWS, ROWS), needs_grad=True) for _ in range(2))
    values, adjoint = torch.randn(x.shape, requires_grad=True), torch.randn(x.shape)
    x.from_torch(values.detach())

    @ti.kernel
    def softmax() -> None:
        for i in range(ROWS):
            most = x[i, 0]
            for j in range(ROWS):
                most = ti.max(most, x[i, j])
            total = 0.0
            for j in range(ROWS):
                total += ti.exp(x[i, j] - most)
            for j in range(ROWS):
                y[i, j] = ti.exp(x[i, j] - most) / total

    def both() -> None:
        softmax()
        y.grad.from_torch(adjoint)
        softmax.grad()

    def theirs() -> None:
        values.grad = None
        torch.softmax(values, -1).backward(adjoint)

    def forward() -> None:
        with torch.no_grad():
            torch.softmax(values, -1)

    name, count = f"softmax in three loops, {ROWS:,}²", ROWS**2
    yield Case(name, "torch", softmax, forward, exponentials=count)
    yield Case("with its gradient", "torch", both, theirs, exponentials=2 * count)


if __name__ == "__main__":
    for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[threads] = "1"  # before NumPy is imported
    main()
