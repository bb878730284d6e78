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
from mlirad.pipeline.opt.parsing import Reading, named
from mlirad.pipeline.opt.printing import Dumps, Style
from mlirad.pipeline.opt.reproducer import Reproducer, waiting_place
from mlirad.pipeline.opt.settings import Settings
from mlirad.pipeline.opt.supervision import Progress
from mlirad.pipeline.opt.timing import Timing
from mlirad.pipeline.runner import Watcher, compile_pipeline


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
        reading = self.reading()

        def report(diagnostic: Diagnostic) -> None:
            reported.append(self._place(diagnostic, reading))
            if not settings.verify_diagnostics:
                print(reported[-1], file=sys.stderr)

        output = None
        context().allow_unregistered_dialects = settings.unregistered_dialects
        with reporting(context(), report):
            output = _Run(self, reading, settings, timing, progress).output(report)
        failed = any(diagnostic.severity is Severity.ERROR for diagnostic in reported)
        if not settings.verify_diagnostics:
            return Verdict(not failed, None if failed else output)
        errors = unmet(parse_expectations(str(self.source), self.file), reported)
        for error in errors:
            print(error, file=sys.stderr)
        return Verdict(not errors, None if failed else output)

    def reading(self) -> Reading:
        """Return what parses it."""
        return Reading(self.source, self.file, is_whole_file=self.is_whole_file)

    def first_line(self) -> int:
        """Return where it begins in its file."""
        if isinstance(self.source, bytes):
            return 1
        return 1 + len(self.source) - len(self.source.lstrip("\n"))

    def _place(self, diagnostic: Diagnostic, reading: Reading) -> Diagnostic:
        """Return a diagnostic with its place in the file."""
        if diagnostic.place is None:
            return diagnostic
        place = named(reading.place(diagnostic.place), self.file)
        if place == diagnostic.place:
            return diagnostic
        return replace(diagnostic, place=place, details=diagnostic.details or place.excerpt())


class _Run:
    """The way of one chunk from its source to what is written."""

    def __init__(
        self,
        chunk: Chunk,
        reading: Reading,
        settings: Settings,
        timing: Timing,
        progress: Progress,
    ) -> None:
        self.chunk, self.reading = chunk, reading
        self.settings, self.timing, self.progress = settings, timing, progress

    def output(self, report: Report) -> str | bytes:
        """Parse, run, write."""
        settings = self.settings
        self._note("reading")
        with self.timing.section("Parser"):
            root = self.reading.operation(implicit_module=settings.implicit_module)
            for op, problem in (*malformed_types(root), *conflicting_places(root)):
                raise MLIRError(problem, source_location(op.location))
        self._run_passes(root)
        for item in remarks(root):
            report(item)
        self._note(f"writing {settings.emit}")
        with self.timing.section("Output"):
            style = Style.from_settings(settings)
            return emit(root, settings, style)

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
