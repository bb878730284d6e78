"""The command line of `mlirad-opt`: what to read, which passes to run in which order, what to write."""
from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from mlirad.pipeline import pipelines
from mlirad.pipeline.registry import PipelineError, find_pass, options_of, parse_options, pass_names, summary

FORMS = ("mlir", "llvm", "ptx")

_DESCRIPTION = """Run passes on textual IR.

--NAME or --NAME=OPTION=VALUE runs a pass, ours or upstream's, in the order given; several options are written
--NAME="OPTION=VALUE OPTION=VALUE".
"""


_ARGUMENTS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("-o",), {"dest": "output", "metavar": "FILE", "default": "-",
               "help": "the file to write, - for the standard output"}),
    (("-p", "--pass-pipeline"), {"dest": "pipeline", "metavar": "TEXT", "help":
                                 'the pipeline as text, "builtin.module(pass{option=value},func.func(pass))"'}),
    (("--emit",), {"choices": FORMS, "default": "mlir", "help": "what to write"}),
    (("--chip",), {"default": "sm_90", "help": "the processor for --emit=ptx"}),
    (("--split-input-file",), {"action": "store_true", "help":
                               "run on every chunk between lines '// -----' by itself"}),
    (("--verify-diagnostics",), {"action": "store_true", "help":
                                 "fail unless what is reported is what comments expect, "
                                 "expected-error @+1 {{part of the message}}"}),
    (("--print-ir-after-all",), {"action": "store_true", "help":
                                 "show the IR after every pass, on the standard error"}),
    (("--mlir-print-debuginfo",), {"action": "store_true", "help": "write locations"}),
    (("--list-passes",), {"action": "store_true", "help": "write the names of our passes"}),
)


class CommandError(Exception):
    """A command line that makes no sense."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CommandError(message)


def parse_command(arguments: Sequence[str]) -> argparse.Namespace:
    """The settings of a command line, its passes joined to one text in `pipeline`.

    Raises CommandError for an option that is not known, PipelineError for a wrong option of a pipeline.
    """
    known = {name for names, _ in _ARGUMENTS for name in names} | {"--help"}
    flags = [a for a in arguments if a.startswith("--") and a.partition("=")[0] not in known]
    parser = _make_parser(with_passes="--help" in arguments or "-h" in arguments)
    settings = parser.parse_args([a for a in arguments if a not in flags])
    steps = [_step(*_split_flag(flag)) for flag in flags]
    if settings.pipeline is None:
        settings.pipeline = f"builtin.module({','.join(steps)})"
    elif steps:
        raise CommandError(f"passes are given by '{flags[0]}' and by --pass-pipeline, expected one of the two")
    return settings


def _make_parser(with_passes: bool) -> _Parser:
    parser = _Parser(prog="mlirad-opt", description=_DESCRIPTION, epilog=_epilog() if with_passes else "", allow_abbrev=False,
                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", nargs="?", default="-", help="the file to read, - for the standard input")
    for names, settings in _ARGUMENTS:
        parser.add_argument(*names, **settings)
    return parser


def _split_flag(flag: str) -> tuple[str, str]:
    name, _, options = flag.removeprefix("--").partition("=")
    return name, options


def _step(name: str, options: str) -> str:
    """A flag as a part of the pipeline's text."""
    stages = _named_pipelines().get(name)
    if stages is None:
        if not name or set(name) & set("(){},"):
            raise CommandError(f"'--{name}' is not the name of a pass")
        return f"{name}{{{options}}}" if options else name
    function, fixed = stages
    values = parse_options(function, name, options)
    clash = sorted(set(values) & set(fixed))
    if clash:
        raise PipelineError(f"'{name}' has no option '{clash[0]}'")
    text = pipelines.join(function(**fixed, **values))
    return text.removeprefix("builtin.module(").removesuffix(")")


def _named_pipelines() -> dict[str, tuple[Callable[..., list[tuple[str, str]]], dict[str, Any]]]:
    """`x-pipeline` for every function `x_stages`, and `x-reverse-pipeline` where it can be reversed."""
    found: dict[str, tuple[Callable[..., list[tuple[str, str]]], dict[str, Any]]] = {}
    for name, function in vars(pipelines).items():
        target = name.removesuffix("_stages").replace("_", "-")
        if name.startswith("_") or not name.endswith("_stages"):
            continue
        reversible = "reverse" in options_of(function)
        found[f"{target}-pipeline"] = (function, {"reverse": False} if reversible else {})
        if reversible:
            found[f"{target}-reverse-pipeline"] = (function, {"reverse": True})
    return found


def _epilog() -> str:
    """One line for every pass and every named pipeline, with its options."""
    lines = ["passes:"]
    lines += [_entry(name, find_pass(name), {}) for name in pass_names()]
    lines += ["", "pipelines:"]
    lines += [_entry(name, function, fixed) for name, (function, fixed) in _named_pipelines().items()]
    return "\n".join(lines)


def _entry(name: str, function: Callable[..., Any], fixed: dict[str, Any]) -> str:
    options = "".join(f" {key}={str(value).lower() if isinstance(value, bool) else value}"
                      for key, value in options_of(function).items() if key not in fixed)
    return f"  --{name:<28} {summary(function)}" + (f" Options:{options}" if options else "")
