"""The command line of `mlirad-opt`: what to read, which passes to run in which order, what to
write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mlirad.ir.ops import Builtin
from mlirad.pipeline.named import PIPELINES
from mlirad.pipeline.opt.settings import FLAGS, Flag, Settings
from mlirad.pipeline.options import PipelineError, options_of, parse_options, spell
from mlirad.pipeline.registry import find_pass, is_pass, pass_names, summary
from mlirad.pipeline.runner import is_upstream
from mlirad.pipeline.stages.stage import Stage

Stages = tuple[Callable[..., list[Stage]], dict[str, Any]]

_DESCRIPTION = """usage: mlirad-opt [options] [passes] [FILE]

Run passes on IR, as text or bytecode, from FILE or from the standard input (-, the default).

--NAME or --NAME=OPTION=VALUE runs a pass of mlirad or of MLIR; passes run in the order in which
they are named. Several options are written --NAME="OPTION=VALUE OPTION=VALUE". After the summary
of a pass, "Options:" lists its options with their defaults and, in parentheses, the values that
they take. Options may be written with one dash or two.
"""
_SWITCH = {"": True, "true": True, "1": True, "false": False, "0": False}


class CommandError(Exception):
    """A command line that makes no sense."""


def parse_command(arguments: Sequence[str]) -> Settings:
    """The settings of a command line, its passes joined to one text in `pipeline`; needs a context.

    Raises CommandError for an option that is not known, PipelineError for a wrong option of a pass.
    """
    command = _Command(list(arguments))
    command.read()
    return command.settings


class _Command:
    """Arguments on their way into settings."""

    def __init__(self, arguments: list[str]) -> None:
        self.left = arguments
        self.settings = Settings()
        self.given: dict[str, str] = {}
        self.steps: list[tuple[str, str]] = []  # the text of each pass, and how it was asked for

    def read(self) -> None:
        """Take all arguments, then join the passes."""
        only_files = False
        while self.left:
            argument = self.left.pop(0)
            if argument == "--" and not only_files:
                only_files = True
            elif only_files or argument == "-" or not argument.startswith("-"):
                self._set("input", argument, argument)
            else:
                self._option(argument)
        self._join()

    def _option(self, argument: str) -> None:
        name, equals, value = argument.removeprefix("-").removeprefix("-").partition("=")
        flag = next((flag for flag in FLAGS if name in flag.names), None)
        if flag is None:
            self.steps.append((_step(name, value, argument), argument))
        elif flag.kind is bool:
            if value not in _SWITCH or (equals and not value):
                raise CommandError(
                    f"'{argument.partition('=')[0]}' is true or false, not '{value}'"
                )
            if flag.value is True:
                self._set(flag.setting, _SWITCH[value], argument)
            elif _SWITCH[value]:
                self._set(flag.setting, flag.value, argument)
        else:
            if not equals and not self.left:
                raise CommandError(f"'{argument}' needs a value, {flag.metavar}")
            self._set(
                flag.setting,
                _value(flag, value if equals else self.left.pop(0), argument),
                argument,
            )

    def _set(self, setting: str, value: object, argument: str) -> None:
        if setting in self.given:
            raise CommandError(
                f"'{argument}' comes after '{self.given[setting]}', expected one of the two"
            )
        self.given[setting] = argument
        setattr(self.settings, setting, value)

    def _join(self) -> None:
        settings, passes = self.settings, [text for text, _ in self.steps]
        by_name = self.given.get("pipeline")
        if self.steps and by_name is not None:
            raise CommandError(
                f"passes are given by '{self.steps[0][1]}' and by --pass-pipeline, expected one "
                f"of the two"
            )
        if settings.run_reproducer and (self.steps or by_name is not None):
            raise CommandError(
                "the pipeline of '--run-reproducer' is in the file, and cannot be given on the "
                "command line too"
            )
        if settings.run_reproducer and settings.split_input_file:
            raise CommandError(
                "a reproducer is one program: '--run-reproducer' excludes '--split-input-file'"
            )
        if by_name is None:
            anchor = Builtin.MODULE if settings.implicit_module else "any"
            settings.pipeline = f"{anchor}({','.join(passes)})"


def _value(flag: Flag, text: str, argument: str) -> Any:
    name = argument.partition("=")[0]
    if flag.words and text not in flag.words:
        raise CommandError(f"'{name}' is one of {', '.join(flag.words)}, not '{text}'")
    if flag.kind is int and not (text.isascii() and text.isdigit() and len(text) < 10):
        raise CommandError(f"'{name}' is a number, not '{text}'")
    if flag.kind is frozenset:
        for item in text.split(","):
            _check_pass(item, f"'{name}' names passes, and")
        return frozenset(text.split(","))
    if not text:
        raise CommandError(f"'{name}' needs a value, {flag.metavar}")
    return flag.kind(text)


def _step(name: str, options: str, argument: str) -> str:
    """An option that names a pass, or a pipeline of ours, as a part of the pipeline's text."""
    stages = _named_pipelines().get(name)
    if stages is None:
        _check_pass(name, f"'{argument.partition('=')[0]}' is not an option:")
        return f"{name}{{{options}}}" if options else name
    function, fixed = stages
    values = parse_options(function, name, options)
    clash = sorted(set(values) & set(fixed))
    if clash:
        raise PipelineError(f"'{name}' has no option '{clash[0]}'")
    return ",".join(stage.passes for stage in function(**fixed, **values))


def _check_pass(name: str, context: str) -> None:
    """Refuse a name that no pass has, with the nearest one that something has."""
    if is_pass(name) or (name and not set(name) & set('(){},=" ') and is_upstream(name)):
        return
    flags = (flag_name for flag in FLAGS for flag_name in flag.names)
    names = [*pass_names(), *_named_pipelines(), *flags, "canonicalize", "cse"]
    from difflib import get_close_matches  # for this message only

    near = get_close_matches(name, names, 1)
    raise CommandError(
        f"{context} there is no pass '{name}'" + (f"; did you mean '{near[0]}'?" if near else "")
    )


def _named_pipelines() -> dict[str, Stages]:
    """`x-pipeline` for every function `x`, and `x-reverse-pipeline` where it can be reversed."""
    pipelines: dict[str, Stages] = {}
    for function in PIPELINES:
        target = function.__name__
        reversible = "reverse" in options_of(function, target)
        pipelines[f"{target}-pipeline"] = (function, {"reverse": False} if reversible else {})
        if reversible:
            pipelines[f"{target}-reverse-pipeline"] = (function, {"reverse": True})
    return pipelines


def help_text() -> str:
    """Return what `--help` shows: options, passes, pipelines."""
    flags = [f"  {flag!s:<42} {flag.help}" for flag in FLAGS]
    return "\n".join([_DESCRIPTION, "options:", *flags, "", *_entries(), ""])


def _entries() -> Iterator[str]:
    """One line for every pass and every named pipeline, with its options."""
    yield "passes:"
    for name in pass_names():
        yield _entry(name, find_pass(name), {})
    yield from ("", "pipelines:")
    for name, (function, fixed) in _named_pipelines().items():
        yield _entry(name, function, fixed)


def _entry(name: str, function: Callable[..., object], fixed: Mapping[str, object]) -> str:
    options = "".join(
        f" {key}={spell(option.default)}"
        + (f" ({option.limit})" if option.limit is not None else "")
        for key, option in options_of(function, name).items()
        if key not in fixed
    )
    return f"  --{name:<28} {summary(function)}" + (f" Options:{options}" if options else "")
