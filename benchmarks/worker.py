"""Measure one case on one system: the process that the other benchmarks start.

    python -m benchmarks.worker SYSTEM CASE

It prints its results when the case is ready, takes a sample for every line of the standard input,
and ends when the input does.
"""

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

STARTED = time.time()
OTHERWISE = ("warp", "jax", "torch", "by_hand")  # written for each in `benchmarks.gpu`
STUBBED = "MLIRAD_BENCHMARKS_STUB"
PREFIX = "@@"  # marks our lines among what systems print
SAMPLE_SECONDS, MOST_REPEATS = 0.02, 200

Sample = dict[str, float]


def main() -> None:
    """Measure until the input ends."""
    settings = _settings()
    _prepare_threads(settings.threads)
    sample, found = _CASES.get(settings.case, _workload)(settings)
    _say(found)
    for _ in sys.stdin:
        _say(sample())
    sys.stdout.flush()
    os._exit(0)  # some systems take long to end, or crash


def _settings() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.worker",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "system",
        metavar="SYSTEM",
        help="module with Taichi's names",
    )
    parser.add_argument(
        "case",
        metavar="CASE",
        help="case to measure",
    )
    parser.add_argument(
        "--size",
        type=int,
        default=16,
        metavar="COUNT",
        help="size of the case (default: %(default)s)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        metavar="COUNT",
        help="number of threads (default: %(default)s)",
    )
    parser.add_argument(
        "--inner-trips",
        type=int,
        default=0,
        metavar="COUNT",
        help="trips of inner loops, from which Taichi and Quadrants derive the size of their "
        "stacks (default: %(default)s)",
    )
    parser.add_argument(
        "--arch",
        default="cpu",
        metavar="ARCH",
        help="target (default: %(default)s)",
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=0,
        metavar="COUNT",
        help="time steps; 0 stands for the number of the workload (default: %(default)s)",
    )
    parser.add_argument(
        "--started",
        type=float,
        default=STARTED,
        metavar="TIME",
        help="time at which the process was requested, for first calls (default: now)",
    )
    return parser.parse_args()


def _prepare_threads(threads: int) -> None:
    """One thread stays on one processor; several run as a user's would, with the defaults of each
    system."""
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def _say(found: dict[str, Any]) -> None:
    print(PREFIX + json.dumps(found), flush=True)


def _start(settings: argparse.Namespace) -> Any:
    for name in ("TAICHI", "QUADRANTS"):
        os.environ[f"ENABLE_{name}_HEADER_PRINT"] = "0"
    ti = importlib.import_module(settings.system)
    if settings.system == "mlirad" and settings.arch == "cuda":
        from benchmarks.gpu.rehearsal import stub_if_asked

        stub_if_asked()
    options: dict[str, Any] = {
        "arch": getattr(ti, settings.arch),
        "default_fp": ti.f32,
        "offline_cache": False,
        "log_level": ti.ERROR,
        "cpu_max_num_threads": settings.threads,
    }
    if settings.arch != "cpu":
        options["enable_fallback"] = False
    if settings.inner_trips and settings.system == "taichi":
        # the default overruns its stack beyond 32 trips
        options["ad_stack_size"] = settings.inner_trips + 16
    if settings.inner_trips and settings.system == "quadrants":
        options["ad_stack_experimental_enabled"] = True
    ti.init(**options)
    return ti


def _per_call(function: Callable[[], None], repeats: int) -> float:
    """Milliseconds a call."""
    start = time.perf_counter()
    for _ in range(repeats):
        function()
    return (time.perf_counter() - start) / repeats * 1e3


def _repeats(function: Callable[[], None]) -> int:
    return max(1, min(MOST_REPEATS, int(SAMPLE_SECONDS * 1e3 / _per_call(function, 1))))


def _workload(settings: argparse.Namespace) -> tuple[Callable[[], Sample], dict[str, Any]]:
    """Primal and gradient of one of `benchmarks.workloads`, in milliseconds, and a digest of the
    gradient."""
    if settings.system in OTHERWISE:
        return _of_another(settings)
    ti = _start(settings)
    build = importlib.import_module(f"benchmarks.workloads.{settings.case}").build
    steps = {"steps": settings.steps} if settings.steps else {}
    made = build(ti, settings.size, **steps)

    def primal() -> None:
        made.reset()
        made.loss[None] = 0.0
        made.forward()
        ti.sync()

    def gradient() -> None:
        made.reset()
        with ti.ad.Tape(made.loss):
            made.forward()
        ti.sync()

    first = {"first_primal": _per_call(primal, 1), "first_gradient": _per_call(gradient, 1)}
    found = {
        "loss": float(made.loss[None]),
        "gradient": _digest([field.grad.to_numpy() for field in made.inputs]),
    }
    counts = _repeats(primal), _repeats(gradient)
    return lambda: {
        "primal": _per_call(primal, counts[0]),
        "gradient": _per_call(gradient, counts[1]),
    }, found | first


def _of_another(settings: argparse.Namespace) -> tuple[Callable[[], Sample], dict[str, Any]]:
    """The same by a system that has no module with Taichi's names."""
    programs = importlib.import_module(f"benchmarks.gpu.{settings.system}_programs")
    arch = "cpu" if STUBBED in os.environ else settings.arch
    made = programs.build(settings.case, settings.size, arch, settings.steps)
    first = {
        "first_primal": _per_call(made.primal, 1),
        "first_gradient": _per_call(made.gradient, 1),
    }
    found = {"loss": made.value(), "gradient": _digest(made.gradients())}
    counts = _repeats(made.primal), _repeats(made.gradient)
    return lambda: {
        "primal": _per_call(made.primal, counts[0]),
        "gradient": _per_call(made.gradient, counts[1]),
    }, found | first


def _digest(arrays: list[Any]) -> list[float]:
    """The norm of all gradients together, and some random projections of them."""
    import numpy as np

    flat = np.concatenate([array.astype(np.float64).ravel() for array in arrays])
    random = np.random.default_rng(37)
    return [
        float(np.linalg.norm(flat)),
        *(float(flat @ random.standard_normal(flat.size)) for _ in range(4)),
    ]


def _launch(settings: argparse.Namespace) -> tuple[Callable[[], Sample], dict[str, Any]]:
    """What a launch costs, in microseconds, on `size` elements."""
    ti = _start(settings)
    count = 2000
    x = ti.field(ti.f32, settings.size, needs_grad=True)
    y = ti.field(ti.f32, settings.size, needs_grad=True)
    total = ti.field(ti.f32, (), needs_grad=True)
    x.fill(1.0)

    @ti.kernel
    def empty():
        pass

    @ti.kernel
    def add():
        for i in x:
            y[i] += 0.001 * x[i]

    @ti.kernel
    def add_scaled(scale: float, shift: int):
        for i in x:
            y[i] += scale * x[i] + shift

    @ti.kernel
    def add_up():
        for i in y:
            total[None] += y[i]

    def taped() -> None:
        with ti.ad.Tape(total):
            for _ in range(count):
                add()
            add_up()
        ti.sync()

    def many(launch: Callable[[], None]) -> float:
        def repeated() -> None:
            for _ in range(count):
                launch()
            ti.sync()

        return _per_call(repeated, 1) * 1e3 / count

    def sample() -> Sample:
        return {
            "empty": many(empty),
            "launch": many(add),
            "with_scalars": many(lambda: add_scaled(0.001, 0)),
            "tape": _per_call(taped, 1) * 1e3 / count,
        }

    sample()
    return sample, {"gradient": [float(x.grad[0])]}


def _first_call(settings: argparse.Namespace) -> tuple[Callable[[], Sample], dict[str, Any]]:
    """What comes before the first result of a small kernel and before its gradient, in
    milliseconds; measured once."""
    ti = _start(settings)
    imported = time.time()
    x = ti.field(ti.f32, settings.size, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)
    x.fill(0.5)

    @ti.kernel
    def add_squares():
        for i in x:
            term = ti.sin(x[i]) + 0.5
            loss[None] += term * term

    def gradient() -> None:
        with ti.ad.Tape(loss):
            add_squares()
        ti.sync()

    def primal() -> None:
        add_squares()
        ti.sync()

    first = {"first_primal": _per_call(primal, 1), "first_gradient": _per_call(gradient, 1)}
    spent = {
        "start": (imported - settings.started) * 1e3,
        "all": (time.time() - settings.started) * 1e3,
    }
    return lambda: first | spent, {"gradient": _digest([x.grad.to_numpy()])}


_CASES = {"launch": _launch, "first_call": _first_call}

if __name__ == "__main__":
    main()
