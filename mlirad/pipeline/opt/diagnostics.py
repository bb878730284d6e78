"""Diagnostics of a program: from upstream through the context, or from an error of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

import msgspec

from mlirad.bindings import ir
from mlirad.errors import SourceLocation, TaichiCompilationError
from mlirad.ir.reports.location import source_location
from mlirad.ir.reports.remarks import take_remarks


class Severity(StrEnum):
    """The severity of a diagnostic."""

    ERROR, WARNING, REMARK, NOTE = "error", "warning", "remark", "note"


class Diagnostic(msgspec.Struct, frozen=True):
    """A message and its place; `details` is what follows the message's line when it is shown."""

    severity: Severity
    place: SourceLocation | None
    message: str
    details: str = ""

    def __str__(self) -> str:
        where = "mlirad-opt" if self.place is None else str(self.place)
        line = f"{where}: {self.severity}: {self.message}"
        return f"{line}\n{self.details}" if self.details else line


Report = Callable[[Diagnostic], None]


@contextmanager
def reporting(context: ir.Context, report: Report) -> Iterator[None]:
    """Report meanwhile what upstream emits, and the error that ends the block, which goes no
    further."""

    def report_upstream(diagnostic: ir.Diagnostic) -> bool:
        for item in _from_upstream(diagnostic):
            report(item)
        return True

    handler = context.attach_diagnostic_handler(report_upstream)
    try:
        yield
    except (TaichiCompilationError, ir.MLIRError) as error:
        for item in diagnostics_of(error):
            report(item)
    finally:
        handler.detach()


def remarks(module: ir.Operation) -> Iterator[Diagnostic]:
    """Yield what passes remarked on the ops of a module, taken away from them."""
    for op, text in take_remarks(module):
        place = source_location(op.location)
        yield Diagnostic(Severity.REMARK, place, text, "" if place is None else place.excerpt())


def diagnostics_of(error: TaichiCompilationError | ir.MLIRError) -> Iterator[Diagnostic]:
    """Yield what an error says: upstream's diagnostics, where it comes from there."""
    upstream = error if isinstance(error, ir.MLIRError) else error.__context__
    if isinstance(upstream, ir.MLIRError) and upstream.error_diagnostics:
        for diagnostic in upstream.error_diagnostics:
            yield from _from_upstream(diagnostic)
    elif isinstance(error, TaichiCompilationError):
        text = str(error)
        details = (
            text.partition("\n")[2] if error.source is not None and "\n" not in error.reason else ""
        )
        yield Diagnostic(Severity.ERROR, error.source, error.reason, details)
    else:
        yield Diagnostic(Severity.ERROR, None, str(error))


def _from_upstream(diagnostic: ir.Diagnostic | ir.DiagnosticInfo) -> Iterator[Diagnostic]:
    """A diagnostic, then its notes."""
    place = source_location(diagnostic.location)
    details = "" if place is None else place.excerpt()
    severity = Severity(diagnostic.severity.name.lower())
    yield Diagnostic(severity, place, diagnostic.message, details)
    for note in diagnostic.notes:
        yield from _from_upstream(note)
