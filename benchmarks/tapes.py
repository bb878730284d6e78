"""The cost of a launch on a tape: of small kernels, whose own work takes next to no time, on one
thread. Each tape repeats the launches of the tape before, as a training loop does.

python -m benchmarks.tapes
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

CELLS, FEW, MANY, ROUNDS = 16, 8, 512, 40
COLUMNS = ("launches", "alone, µs", "recorded, µs", "reverse, µs", "a tape of two launches, µs")
Run = Callable[[int], None]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tapes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, metavar="COUNT", help="samples (default: %(default)s)"
    )
    rounds = parser.parse_args().rounds
    import mlirad as ti

    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for name, loss, run in programs(ti):
        print("|", " | ".join([name, *map("{:.1f}".format, costs(ti, loss, run, rounds))]), "|")


def costs(ti: Any, loss: Any, run: Run, rounds: int) -> list[float]:
    """Microseconds of a further launch without a tape, on one, and of its reverse, and of a tape of
    a launch and one that adds to the loss: the least of some samples."""
    alone = [_least(rounds, lambda n=n: _timed(lambda: run(n))) for n in (FEW, MANY)]
    times = {n: [_tape(ti, loss, run, n) for _ in range(rounds + 3)][3:] for n in (1, FEW, MANY)}
    few, many = ([min(column) for column in zip(*times[n])] for n in (FEW, MANY))
    further = [1e6 * (high - low) / (MANY - FEW) for low, high in zip(few, many)]
    return [
        1e6 * (alone[1] - alone[0]) / (MANY - FEW),
        *further,
        1e6 * min(sum(sample) for sample in times[1]),
    ]


def _tape(ti: Any, loss: Any, run: Run, count: int) -> tuple[float, float]:
    """Seconds of a tape's launches, with entering it, and of its reverse."""
    start = time.perf_counter()
    with ti.ad.Tape(loss):
        run(count)
        recorded = time.perf_counter()
    return recorded - start, time.perf_counter() - recorded


def _least(rounds: int, sample: Callable[[], float]) -> float:
    return min(sample() for _ in range(rounds))


def _timed(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def programs(ti: Any) -> Iterator[tuple[str, Any, Run]]:
    """Yield what is launched, the loss, and a program of some launches."""
    ti.init(default_fp=ti.f32, cpu_max_num_threads=1)
    rows, state = (ti.field(ti.f32, shape, needs_grad=True) for shape in ((MANY + 1, CELLS), CELLS))
    left, right = (ti.ndarray(ti.f32, CELLS, needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def add() -> None:
        for i in state:
            loss[None] += state[i] * state[i]

    @ti.kernel
    def advance(t: ti.i32) -> None:
        for i in state:
            rows[t + 1, i] = rows[t, i] * 0.5

    @ti.kernel
    def move() -> None:
        for i in state:
            state[i] = ti.sin(state[i])

    @ti.kernel
    def copy(source: ti.types.ndarray(), target: ti.types.ndarray()) -> None:
        for i in range(CELLS):
            target[i] = source[i] * 2.0

    def repeated(launch: Callable[[int], None]) -> Run:
        def run(count: int) -> None:
            for t in range(count):
                launch(t)
            add()

        return run

    yield "of the same fields", loss, repeated(lambda _: add())
    yield "of rows, by an argument", loss, repeated(advance)
    yield "in place", loss, repeated(lambda _: move())
    yield "of two ndarrays", loss, repeated(lambda _: copy(left, right))


if __name__ == "__main__":
    main()
