"""The command line of `mlirad-run`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from mlirad.dialect import context
from mlirad.lang.start import cpu, cuda, simt
from mlirad.mlir.run.values import KINDS
from mlirad.pipeline.opt.command import parse_command
from mlirad.pipeline.opt.settings import Settings

ARCHES = {"cpu": cpu, "simt": simt, "cuda": cuda}
_EPILOG = f"""A VALUE is {KINDS}.
Passes and pipelines are named as for mlirad-opt, and run before the function:
mlirad-run FILE --hoist-loads --pass-pipeline=... The output is the results, and then the contents
of the arrays and fields that the function changed."""
_FIELD = (
    "initial value of a field, or of arg0.grad, the adjoint of an array argument; * stands for "
    "all others (default: zeros); may be repeated"
)
_COMPARE = (
    "compare with a run without the named passes, or without those from PASS on; the gradients "
    "too, if no pass differentiates the function (default: no comparison)"
)
_RULES = "Python file that registers derivatives and lowerings of ops"
_SAVE = "also write results and gradients to FOLDER/*.npy (default: only print)"


class Options(argparse.Namespace):
    """The settings of a command line."""

    file: str
    values: list[str]
    entry: str | None
    irdl_file: str | None
    rules: str | None
    arch: str
    grad: bool
    check: bool
    compare: str | None
    optimize: bool
    time: bool
    seed: int
    save: Path | None
    fields: dict[str, str]
    pipeline: str  # of the passes that are named
    pipeline_before: str  # of those that both of two modules to compare have


def parse_options(arguments: Sequence[str] | None) -> Options:
    """Read a command line. Raises CommandError or PipelineError for passes that make no sense."""
    parser = _parser()
    options, named_passes = parser.parse_known_intermixed_args(arguments, Options())
    options.fields = dict(_name_and_value(parser, text) for text in options.field)
    options.pipeline = _pipeline(parser, named_passes)
    first = options.compare or ""
    options.pipeline_before = _pipeline(parser, _in_front_of(parser, first, named_passes))
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mlirad-run",
        description="Run a function or a kernel of an MLIR file, and its derivatives.",
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("file", help="file with a module in MLIR, as text")
    add("values", nargs="*", help="arguments of the function", metavar="VALUE")
    add("--entry", help="function to run, required if the file has several")
    add("--irdl-file", help="load the dialects that FILE defines in IRDL", metavar="FILE")
    add("--rules", help=_RULES, metavar="FILE.py")
    add("--arch", default="cpu", choices=ARCHES, help="target (default: %(default)s)")
    add("--field", "-f", action="append", default=[], metavar="NAME=VALUE", help=_FIELD)
    add("--grad", action="store_true", help="also print the gradients of the sum of all results")
    add("--check", action="store_true", help="compare all derivatives with central differences")
    add("--compare", nargs="?", const="", metavar="PASS", help=_COMPARE)
    add(
        "--optimize",
        action="store_true",
        help="lower a kernel in the same way as a launch from Python",
    )
    add("--time", action="store_true", help="also print the time of a run")
    add("--seed", type=int, default=0, help="seed of --check and --compare (default: %(default)s)")
    add("--save", type=Path, help=_SAVE, metavar="FOLDER")
    return parser


def _name_and_value(parser: argparse.ArgumentParser, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        parser.error(f"--field {text}: expected NAME=VALUE")
    return name, value


def _in_front_of(
    parser: argparse.ArgumentParser, name: str, named_passes: Sequence[str]
) -> Sequence[str]:
    """Return the passes in front of the last one of a name; none for no name."""
    if not name:
        return []
    names = [text.lstrip("-").partition("=")[0] for text in named_passes]
    if name not in names:
        parser.error(f"--compare={name}: that pass is not among {' '.join(named_passes) or 'none'}")
    return named_passes[: len(names) - 1 - names[::-1].index(name)]


def _pipeline(parser: argparse.ArgumentParser, named_passes: Sequence[str]) -> str:
    """Return the passes that the other options name, as the text of a pipeline."""
    with context():
        settings = parse_command(named_passes)
    plain = Settings(pipeline=settings.pipeline)
    for name in Settings.__struct_fields__:
        if getattr(settings, name) != getattr(plain, name):
            parser.error(f"{' '.join(named_passes)}: expected passes and pipelines of mlirad-opt")
    return str(settings.pipeline)
