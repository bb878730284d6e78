"""`python -m programs.in_lanes FIRST COUNT`, in `test/`: random programs of several sizes with 4, 8
and 16 iterations as lanes against the same without."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import mlirad as ti
from programs.load import load
from programs.plain import SIZE, Writer, inputs

CLOSE = 1e-9  # sums are taken in another order
_WIDTHS, _SIZES = (4, 8, 16), (SIZE, 11, 21)  # some of all, a few left over, one more than all


def left(source: str, folder: Path, lanes: int) -> dict[str, Any]:
    """What a program leaves in its fields, and its gradients."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1, lanes=lanes, offline_cache=False)
    program = load(source, folder)
    for seed, field in enumerate((program.x, program.y, program.w)):
        field.from_numpy(inputs(field.to_numpy().shape, seed))
    size = program.n.shape[0]
    program.n.from_numpy(np.array(Random(1).choices(range(6), k=size), np.int32))
    with ti.ad.Tape(program.loss):
        program.run()
    names = ("x", "y", "u", "z", "w", "n", "c", "loss")
    found = {name: getattr(program, name).to_numpy() for name in names}
    slopes = {name: getattr(program, name).grad.to_numpy() for name in ("x", "y", "w")}
    return found | {f"{name}.grad": slope for name, slope in slopes.items()}


def check(source: str, folder: Path, lanes: int) -> None:
    """Run a program both ways."""
    expected, found = left(source, folder, 1), left(source, folder, lanes)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, CLOSE, CLOSE, err_msg=name)


def written(seed: int) -> tuple[str, int]:
    """A program of the command, and its lanes."""
    size = _SIZES[seed // len(_WIDTHS) % len(_SIZES)]
    return Writer(Random(seed), size).program(), _WIDTHS[seed % len(_WIDTHS)]


def main() -> int:
    """Check the programs, in a process of its own each hundred; 1 if any failed."""
    first, count = (int(argument) for argument in sys.argv[1:3])
    start, failures = time.perf_counter(), 0
    for begin in range(first, first + count, 100):
        numbers = range(begin, min(begin + 100, first + count))
        child = os.fork()
        if not child:
            os._exit(_failures(numbers))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status < 0:
            print(f"programs {numbers.start} to {numbers.stop - 1}: died of signal {-status}")
        failures += abs(status)
        so_far = time.perf_counter() - start
        print(f"up to {numbers.stop - 1}: {failures} failures, {so_far:.0f} s", flush=True)
    return 1 if failures else 0


def _failures(numbers: range) -> int:
    """How many of some programs fail; each is shown."""
    failures = 0
    with tempfile.TemporaryDirectory(prefix="mlirad-lanes-") as folder:
        for seed in numbers:
            source, lanes = written(seed)
            try:
                check(source, Path(folder), lanes)
            except Exception:
                failures += 1
                print(f"program {seed}, {lanes} lanes", source, traceback.format_exc(), sep="\n")
                sys.stdout.flush()
    return failures


if __name__ == "__main__":
    sys.exit(main())
