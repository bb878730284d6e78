"""One program that `mlirad-opt` reads: parsed, run, written, with what is reported on it."""

from __future__ import annotations

import os
import sys

import msgspec
from msgspec.structs import replace

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.placements import conflicting_places
from mlirad.dialect.well_formed import malformed_types
from mlirad.errors import MLIRError
from mlirad.ir.reports.location import source_location
from mlirad.pipeline.opt.diagnostics import Diagnostic, Report, Severity, remarks, reporting
from mlirad.pipeline.opt.emit import emit
from mlirad.pipeline.opt.expectations import parse_expectations, unmet
from mlirad.pipeline.opt.output import write
from mlirad.pipeline.opt.printing import Dumps, Style
from mlirad.pipeline.opt.reproducer import Reproducer, waiting_place
from mlirad.pipeline.opt.settings import Settings
from mlirad.pipeline.opt.source_text import check_text, refused_in_silence
from mlirad.pipeline.opt.supervision import Progress
from mlirad.pipeline.opt.timing import Timing
from mlirad.pipeline.runner import Watcher, compile_pipeline

UNNAMED = "-"  # what upstream calls a text that is not read from a file


class Verdict(msgspec.Struct, frozen=True):
    """The outcome of a chunk; no output if an error was reported."""

    succeeded: bool
    output: str | bytes | None


class Chunk(msgspec.Struct, frozen=True):
    """A program of its own, from a file: text, or bytecode."""

    source: str | bytes
    file: str
    is_whole_file: bool = False

    def run(self, settings: Settings, timing: Timing, progress: Progress) -> Verdict:
        """Parse it, run the pipeline, and report what is wrong."""
        reported: list[Diagnostic] = []

        def report(diagnostic: Diagnostic) -> None:
            reported.append(self._name_file(diagnostic))
            if not settings.verify_diagnostics:
                print(reported[-1], file=sys.stderr)

        output = None
        context().allow_unregistered_dialects = settings.unregistered_dialects
        with reporting(context(), report):
            output = _Run(self, settings, timing, progress).output(report)
        failed = any(diagnostic.severity is Severity.ERROR for diagnostic in reported)
        if not settings.verify_diagnostics:
            return Verdict(not failed, None if failed else output)
        errors = unmet(parse_expectations(str(self.source), self.file), reported)
        for error in errors:
            print(error, file=sys.stderr)
        return Verdict(not errors, None if failed else output)

    def parse(self, implicit_module: bool) -> ir.Operation:
        """The program. Raises MLIRError if it is not one."""
        if isinstance(self.source, bytes):
            return ir.Module.parse(self.source, context()).operation
        check_text(self.source, self.file)
        try:
            if not implicit_module:
                return ir.Operation.parse(
                    self.source, source_name=self.file, context=context()
                ).operation
            if self.is_whole_file:
                return ir.Module.parseFile(
                    self.file, context()
                ).operation  # so that locations name the file
            return ir.Module.parse(self.source, context()).operation
        except ir.MLIRError as error:
            if not error.error_diagnostics:
                raise refused_in_silence(self.source, self.file) from None
            raise

    def first_line(self) -> int:
        """Return where it begins in its file."""
        if isinstance(self.source, bytes):
            return 1
        return 1 + len(self.source) - len(self.source.lstrip("\n"))

    def _name_file(self, diagnostic: Diagnostic) -> Diagnostic:
        """A diagnostic in the file, where upstream has no name for it."""
        place = diagnostic.place
        if place is None or place.file != UNNAMED:
            return diagnostic
        place = replace(place, file=self.file)
        return replace(diagnostic, place=place, details=diagnostic.details or place.excerpt())


class _Run:
    """The way of one chunk from its source to what is written."""

    def __init__(
        self, chunk: Chunk, settings: Settings, timing: Timing, progress: Progress
    ) -> None:
        self.chunk, self.settings, self.timing, self.progress = chunk, settings, timing, progress

    def output(self, report: Report) -> str | bytes:
        """Parse, run, write."""
        settings = self.settings
        self._note("reading")
        with self.timing.section("Parser"):
            root = self.chunk.parse(settings.implicit_module)
            for op, problem in (*malformed_types(root), *conflicting_places(root)):
                raise MLIRError(problem, source_location(op.location))
        self._run_passes(root)
        for item in remarks(root):
            report(item)
        self._note(f"writing {settings.emit}")
        with self.timing.section("Output"):
            style = Style.from_settings(settings)
            return emit(root, settings.emit, chip=settings.chip, style=style)

    def _run_passes(self, root: ir.Operation) -> None:
        settings, pipeline = self.settings, str(self.settings.pipeline)
        run = compile_pipeline(
            root, pipeline, verify=settings.verify_each, is_foreign=True, watchers=self._watchers()
        )
        if settings.reproducer is None:
            return run()
        waiting = waiting_place(settings.reproducer)
        write(Reproducer(pipeline, settings.verify_each).text(root), waiting)
        run()
        os.unlink(waiting)

    def _watchers(self) -> list[Watcher]:
        dumps = Dumps(self.settings).watcher()
        timing = [self.timing.watcher()] if self.settings.timing else []
        note = Watcher(before=lambda name, _: self._note(f"running {name}"), one_by_one=False)
        return [note, *timing, *([dumps] if dumps is not None else [])]

    def _note(self, task: str) -> None:
        self.progress.note(f"{self.chunk.file}:{self.chunk.first_line()}:1: error: {task}: ")
