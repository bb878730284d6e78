"""The command `mlirad-run`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from mlirad.bindings import ir
from mlirad.errors import TaichiCompilationError, TaichiRuntimeError
from mlirad.lang.start import init
from mlirad.mlir.run.comparison import Comparison, Distance
from mlirad.mlir.run.function_command import FunctionCommand
from mlirad.mlir.run.kernels import KernelCommand, copied, is_kernel, label_arguments
from mlirad.mlir.run.options import ARCHES, Options, parse_options
from mlirad.mlir.run.values import shown
from mlirad.mlir.source import function_of, read_module
from mlirad.pipeline.opt.command import CommandError
from mlirad.pipeline.opt.extensions import load_extensions
from mlirad.pipeline.opt.supervision import supervise
from mlirad.pipeline.runner import compile_pipeline

_LOWERS = "lower-field-to-memref"  # makes a kernel of a function of numbers
_ERRORS = (CommandError, TaichiCompilationError, TaichiRuntimeError, OSError, ValueError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, in a fork; 1 if something is wrong, said on the standard error."""
    try:
        options = parse_options(arguments)
    except _ERRORS as error:
        return _say(str(error))
    return supervise(
        lambda: _run(options),
        lambda name: _report_death(options.file, name),
    )


def _report_death(file: str, signal: str) -> None:
    _say(f"{file}: the program ended the process by {signal}")


def _say(problem: str) -> int:
    print(f"mlirad-run: {problem}", file=sys.stderr)
    return 1


def _run(options: Options) -> int:
    try:
        return _answer(options)
    except _ERRORS as error:
        return _say(str(error))


def _answer(options: Options) -> int:
    arch = ARCHES[options.arch]
    init(arch, debug=options.check, log_level="error", enable_fallback=False)
    if options.irdl_file is not None or options.rules is not None:
        load_extensions(options.irdl_file, options.rules)
    module = read_module(options.file)
    if is_kernel(module.operation) or _LOWERS in options.pipeline:
        label_arguments(module.operation)
    before = copied(module)
    _run_passes(module, options.pipeline)
    if not is_kernel(module.operation):
        if options.fields or options.compare is not None:
            raise CommandError(f"{options.file}: --field and --compare are for kernels")
        function = function_of(module, options.file, options.entry)
        return _report(FunctionCommand(function, options.values), options)
    command = KernelCommand(module, options)
    if options.compare is None:
        return _report(command, options)
    _run_passes(before, options.pipeline_before)
    return _report_distances(command.distances(KernelCommand(before, options)))


def _run_passes(module: ir.Module, pipeline: str) -> None:
    """Run the passes of the command line on a module."""
    with module.context:
        compile_pipeline(module.operation, pipeline, verify=True, is_foreign=True)()


def _report(command: FunctionCommand | KernelCommand, options: Options) -> int:
    """Print and save what is asked for; 1 if a derivative is wrong."""
    outputs = command.outputs()
    if options.time:
        print(f"time: {command.seconds() * 1e3:.3f} ms")
    if options.grad:
        outputs |= command.gradients()
    for name, array in outputs.items():
        print(shown(name, array))
    if options.save is not None:
        options.save.mkdir(parents=True, exist_ok=True)
        for name, array in outputs.items():
            np.save(options.save / f"{name.replace(' ', '_')}.npy", array)
    return _report_comparisons(command.compare(options.seed)) if options.check else 0


def _report_comparisons(comparisons: Sequence[Comparison]) -> int:
    for comparison in comparisons:
        print(comparison)
    wrong = sum(not comparison.agrees for comparison in comparisons)
    if not comparisons:
        print("there are no float arrays to check")
    elif wrong:
        print(f"{wrong} of {len(comparisons)} derivatives differ")
    else:
        print(f"all {len(comparisons)} derivatives agree")
    return int(wrong > 0)


def _report_distances(distances: Sequence[Distance]) -> int:
    for distance in distances:
        print(distance)
    return int(not all(distance.agrees for distance in distances))
