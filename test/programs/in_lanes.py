"""Compare random programs of several sizes with 4, 8 and 16 lanes with themselves without lanes.

    cd test && PYTHONPATH=.. python -m programs.in_lanes FIRST COUNT

Every second program runs without `fast_math`, and must have the same bits. A quarter is compiled by
LLVM as for users.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np

import mlirad as ti
from mlirad.runtime.program import program
from programs.load import load
from programs.plain import SIZE, Writer, inputs

CLOSE = 1e-9  # sums are taken in another order
WIDTHS, _SIZES = (4, 8, 16), (SIZE, 11, 21)  # some of all, a few left over, one more than all


def left(module: ModuleType) -> dict[str, Any]:
    """What a program leaves in its fields, and its gradients."""
    for seed, field in enumerate((module.x, module.y, module.w)):
        field.from_numpy(inputs(field.to_numpy().shape, seed))
    size = module.n.shape[0]
    module.n.from_numpy(np.array(Random(1).choices(range(6), k=size), np.int32))
    sums = [module.e] if hasattr(module, "e") else []
    for field in (module.u, module.z, module.c, module.loss, *sums):
        field.fill(0)
    with ti.ad.Tape(module.loss):
        module.run()
    names = ("x", "y", "u", "z", "w", "n", "c", "loss")
    found = {name: getattr(module, name).to_numpy() for name in names}
    slopes = {name: getattr(module, name).grad.to_numpy() for name in ("x", "y", "w")}
    return found | {f"{name}.grad": slope for name, slope in slopes.items()}


def check(
    source: str,
    folder: Path,
    *,
    exact: bool = False,
    opt_level: int = 0,
    widths: Sequence[int] = WIDTHS,
) -> None:
    """Run a program without lanes, then with some numbers of them; what does not depend on that
    is derived once. Raises AssertionError where they differ by more than rounding; where it is
    exact, as no order of additions may change then, at all."""
    options = {"lanes": 1, "fast_math": not exact, "opt_level": opt_level, "offline_cache": False}
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1, **options)
    module = load(source, folder)
    expected = left(module)
    tolerance = 0.0 if exact else CLOSE
    for lanes in widths:
        program().config.lanes = lanes
        for codes in program().compiled:
            codes.forget_modes(lambda mode: True)
        found = left(module)
        for name, values in expected.items():
            message = f"{name}, {lanes} lanes"
            np.testing.assert_allclose(found[name], values, tolerance, tolerance, err_msg=message)


def written(seed: int, *, exact: bool = False) -> str:
    """A program of the command, whose outer loops are parallel. Where it is exact, iterations add
    to elements of their own: loops in which the order of additions matters have no lanes."""
    size = _SIZES[seed % len(_SIZES)]
    writer = Writer(Random(seed), size)
    writer.serial = False
    source = writer.program()
    if exact:
        own = f"e = ti.field(ti.f64, shape={size}, needs_grad=True)\n"
        header, body = source.replace("loss[None] +=", "e[i] +=").split("\n", 1)
        source = f"{header}\n{own}{body}"
        source += f"    for i in range({size}):\n        loss[None] += e[i]\n"
    return source


def main() -> int:
    """Check the programs, in a process of its own each hundred; 1 if any failed."""
    parser = argparse.ArgumentParser(
        prog="python -m programs.in_lanes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("first", type=int, metavar="FIRST", help="number of the first program")
    parser.add_argument("count", type=int, metavar="COUNT", help="how many programs")
    parser.add_argument(
        "--one",
        action="store_true",
        help="one number of lanes per program, in turn, in half the time (default: all three)",
    )
    options = parser.parse_args()
    first, count = options.first, options.count
    start, failures = time.perf_counter(), 0
    for begin in range(first, first + count, 100):
        numbers = range(begin, min(begin + 100, first + count))
        child = os.fork()
        if not child:
            os._exit(_failures(numbers, one=options.one))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status < 0:
            print(f"programs {numbers.start} to {numbers.stop - 1}: died of signal {-status}")
        failures += abs(status)
        so_far = time.perf_counter() - start
        print(f"up to {numbers.stop - 1}: {failures} failures, {so_far:.0f} s", flush=True)
    return 1 if failures else 0


def _failures(numbers: range, *, one: bool) -> int:
    """How many of some programs fail; each is shown."""
    failures = 0
    with tempfile.TemporaryDirectory(prefix="mlirad-lanes-") as folder:
        for seed in numbers:
            exact = seed % 2 == 0
            source = written(seed, exact=exact)
            level = 3 * (seed % 8 < 2)
            widths = (WIDTHS[seed // 24 % len(WIDTHS)],) if one else WIDTHS
            try:
                check(source, Path(folder), exact=exact, opt_level=level, widths=widths)
            except Exception:
                failures += 1
                print(f"program {seed}", source, traceback.format_exc(), sep="\n")
                sys.stdout.flush()
    return failures


if __name__ == "__main__":
    sys.exit(main())
