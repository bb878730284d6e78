"""`mlirad-opt`: run passes and pipelines on textual IR."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.pipeline.command import CommandError, parse_command
from mlirad.pipeline.diagnostics import Diagnostic, Report, remarks, reporting
from mlirad.pipeline.emit import emit
from mlirad.pipeline.expectations import parse_expectations, unmet
from mlirad.pipeline.registry import PipelineError, pass_names
from mlirad.pipeline.runner import run_pipeline

SEPARATOR = "// -----"
UNNAMED = "-"  # what upstream calls a text that is not read from a file


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    try:
        settings = parse_command(sys.argv[1:] if arguments is None else arguments)
        if settings.list_passes:
            return _write("".join(f"{name}\n" for name in pass_names()), settings.output)
        return _run(settings)
    except (CommandError, PipelineError, OSError, UnicodeDecodeError) as error:
        print(f"mlirad-opt: error: {error}", file=sys.stderr)
        return 1


def _run(settings: argparse.Namespace) -> int:
    text = sys.stdin.read() if settings.input == UNNAMED else Path(settings.input).read_text(encoding="utf-8")
    whole = _Chunk(text, settings.input, is_whole_file=Path(settings.input).is_file())
    chunks = list(_chunks(text, settings.input)) if settings.split_input_file else [whole]
    verdicts = [chunk.run(settings) for chunk in chunks]
    outputs = [verdict.output for verdict in verdicts if verdict.output is not None]
    _write(f"{SEPARATOR}\n".join(outputs), settings.output)
    return 0 if all(verdict.succeeded for verdict in verdicts) else 1


def _write(text: str, file: str) -> int:
    if file == "-":
        sys.stdout.write(text)
    else:
        Path(file).write_text(text, encoding="utf-8")
    return 0


def _chunks(text: str, file: str) -> Iterator[_Chunk]:
    """The parts between separators, each behind as many empty lines as keep the numbers of its lines."""
    start, lines = 0, text.split("\n")
    for number, line in enumerate([*lines, SEPARATOR]):
        if line.rstrip() == SEPARATOR:
            yield _Chunk("\n" * start + "\n".join(lines[start:number]) + "\n", file)
            start = number + 1


@dataclass(frozen=True)
class _Verdict:
    """What came of a chunk; no output where an error was reported."""

    succeeded: bool
    output: str | None


@dataclass(frozen=True)
class _Chunk:
    """A program of its own, from a file."""

    text: str
    file: str
    is_whole_file: bool = False

    def run(self, settings: argparse.Namespace) -> _Verdict:
        """Parse it, run the pipeline, and report what is wrong."""
        reported: list[Diagnostic] = []

        def report(diagnostic: Diagnostic) -> None:
            reported.append(self._named(diagnostic))
            if not settings.verify_diagnostics:
                print(reported[-1], file=sys.stderr)

        output = None
        with reporting(context(), report):
            output = self._compile(settings, report)
        failed = any(diagnostic.severity == "error" for diagnostic in reported)
        if not settings.verify_diagnostics:
            return _Verdict(not failed, None if failed else output)
        errors = unmet(parse_expectations(self.text, self.file), reported)
        for error in errors:
            print(error, file=sys.stderr)
        return _Verdict(not errors, None if failed else output)

    def _compile(self, settings: argparse.Namespace, report: Report) -> str:
        module = self._parse()
        observer = _show if settings.print_ir_after_all else None
        run_pipeline(module.operation, settings.pipeline, verify=True, observer=observer)
        for item in remarks(module.operation):
            report(item)
        return emit(module.operation, settings.emit, chip=settings.chip, locations=settings.mlir_print_debuginfo)

    def _parse(self) -> ir.Module:
        if self.is_whole_file:
            return ir.Module.parseFile(self.file, context())  # so that locations name the file
        return ir.Module.parse(self.text, context())

    def _named(self, diagnostic: Diagnostic) -> Diagnostic:
        """A diagnostic in the file, where upstream has no name for it."""
        place = diagnostic.place
        if place is None or place.file != UNNAMED:
            return diagnostic
        place = replace(place, file=self.file)
        return replace(diagnostic, place=place, details=diagnostic.details or place.excerpt())


def _show(name: str, op: ir.Operation) -> None:
    print(f"// -----// IR Dump After {name} //----- //\n{op}\n", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
