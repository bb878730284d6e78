"""`PYTHONPATH=..  python -m random_budgets FIRST COUNT`, in `test/`: random programs in place of
several kernels, each within budgets of 100, 50, 25 and 10 %, equal to the bit to a tape that keeps
everything; those that differ are shown."""

from __future__ import annotations

import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from random import Random

from budgets import check_within_budgets
from programs.inplace import Writer, inputs_of, prepare
from programs.load import load

import mlirad as ti

TOGETHER = 4  # programs that share kernels


def check(seed: int, folder: Path, programs: int) -> int:
    """Write kernels and programs of them, and compare their gradients; how many launches were
    repeated."""
    source = Writer(Random(seed), programs).program()
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1, opt_level=0)
    module = load(source, folder)
    repeated = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in range(programs):
                start = prepare(module, number)
                run = getattr(module, f"run{number}")
                # the first finds what needs a hidden gradient, and sums in another order then
                with ti.ad.Tape(module.loss):
                    run()
                repeated += check_within_budgets(module.loss, run, start.restore, inputs_of(module))
    except Exception:
        print(source)
        raise
    return repeated


def main() -> int:
    """Run the programs; 1 if any differed."""
    first, count = (int(argument) for argument in sys.argv[1:3])
    start, failures, repeated = time.process_time(), 0, 0
    for done, seed in enumerate(range(first, first + -(-count // TOGETHER))):
        with tempfile.TemporaryDirectory() as folder:
            try:
                repeated += check(seed, Path(folder), TOGETHER)
            except Exception:
                failures += 1
                print(f"seed {seed}", flush=True)
                traceback.print_exc(file=sys.stdout)
        if done % 50 == 49:
            print(f"{TOGETHER * (done + 1)} programs, {failures} failures", flush=True)
    print(
        f"{count} programs, {failures} failures, {repeated} launches repeated, "
        f"{time.process_time() - start:.0f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
