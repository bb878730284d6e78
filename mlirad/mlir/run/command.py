"""The command line of `mlirad-run`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mlirad.errors import TaichiCompilationError, TaichiRuntimeError
from mlirad.lang.start import cpu, cuda, init, simt
from mlirad.mlir.function import MlirFunction
from mlirad.mlir.run.derivatives import Program
from mlirad.mlir.run.values import KINDS, argument, shown
from mlirad.mlir.source import load
from mlirad.pipeline.opt.extensions import load_extensions
from mlirad.runtime.memory.values import Values

_ARCHES = {"cpu": cpu, "simt": simt, "cuda": cuda}
ROUNDS = 5  # of `--time`, of which the fastest counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 1 if something is wrong, said on the standard error."""
    options = _parser().parse_intermixed_args(arguments)
    try:
        return _run(options)
    except (TaichiCompilationError, TaichiRuntimeError, OSError, ValueError) as error:
        print(f"mlirad-run: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mlirad-run",
        description="Run a function of a file in MLIR, and its derivatives.",
        epilog=f"An argument is {KINDS}. It prints the results, and then what the function left "
        "in arrays that it wrote to.",
    )
    parser.add_argument("file", help="a module, as text")
    parser.add_argument("values", nargs="*", help="the arguments of the function", metavar="VALUE")
    parser.add_argument("--entry", help="the function, if there are several")
    parser.add_argument(
        "--irdl-file", help="load the dialects that a file defines in IRDL", metavar="FILE"
    )
    parser.add_argument(
        "--rules", help="a program that gives ops derivatives and lowerings", metavar="FILE.py"
    )
    parser.add_argument("--arch", default="cpu", choices=_ARCHES, help="the machine")
    parser.add_argument(
        "--grad", action="store_true", help="print the gradients of the sum of all results"
    )
    parser.add_argument(
        "--check", action="store_true", help="compare all derivatives with central differences"
    )
    parser.add_argument("--time", action="store_true", help="print the time of a run")
    parser.add_argument("--seed", type=int, default=0, help="of the directions of --check")
    parser.add_argument(
        "--save", type=Path, help="write results and gradients to FOLDER/*.npy", metavar="FOLDER"
    )
    return parser


def _run(options: argparse.Namespace) -> int:
    init(arch=_ARCHES[options.arch], log_level="error", enable_fallback=False)
    if options.irdl_file is not None or options.rules is not None:
        load_extensions(options.irdl_file, options.rules)
    function = load(options.file, options.entry)
    count = len(function.arguments)
    if len(options.values) != count:
        raise ValueError(f"@{function.__name__} takes {count} arguments, not {len(options.values)}")
    values = [
        argument(text, number, parameter)
        for number, (text, parameter) in enumerate(zip(options.values, function.arguments))
    ]
    outputs = _outputs(function, values)
    if options.time:
        print(f"time: {_time(function, values) * 1e3:.3f} ms")
    if options.grad:
        program = Program(function, values)
        gradients = program.gradients(program.heads())
        outputs |= {f"gradient {k}": g for k, g in zip(program.active, gradients)}
    for name, array in outputs.items():
        print(shown(name, array))
    if options.save is not None:
        options.save.mkdir(parents=True, exist_ok=True)
        for name, array in outputs.items():
            np.save(options.save / f"{name.replace(' ', '_')}.npy", array)
    return _check(function, values, options.seed) if options.check else 0


def _outputs(function: MlirFunction, values: Sequence[Values | int]) -> dict[str, Values]:
    """Run the function on copies; the results, and the arrays that changed."""
    copies = [value.copy() if isinstance(value, np.ndarray) else value for value in values]
    results = function(*copies)
    listed = results if isinstance(results, list) else [] if results is None else [results]
    outputs = {f"result {number}": array for number, array in enumerate(listed)}
    for number, (value, copy) in enumerate(zip(values, copies)):
        if isinstance(copy, np.ndarray) and np.asarray(value).tobytes() != copy.tobytes():
            outputs[f"argument {number}"] = copy
    return outputs


def _time(function: MlirFunction, values: Sequence[Values | int]) -> float:
    seconds = []
    for _ in range(ROUNDS):
        copies = [value.copy() if isinstance(value, np.ndarray) else value for value in values]
        start = time.perf_counter()
        function(*copies)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _check(function: MlirFunction, values: Sequence[Values | int], seed: int) -> int:
    comparisons = Program(function, values).compare(seed)
    for comparison in comparisons:
        print(comparison)
    wrong = sum(not comparison.agrees for comparison in comparisons)
    if not comparisons:
        print("no argument of floats: nothing to check")
    elif wrong:
        print(f"{wrong} of {len(comparisons)} derivatives differ")
    else:
        print(f"all {len(comparisons)} derivatives agree")
    return int(wrong > 0)
