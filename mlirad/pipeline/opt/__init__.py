"""`mlirad-opt`: run passes and pipelines on textual IR."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from mlirad.bindings import PROVIDER, ir
from mlirad.dialect import context
from mlirad.dialect.irdl_text import irdl_texts
from mlirad.errors import TaichiCompilationError
from mlirad.pipeline.opt.chunk import Chunk
from mlirad.pipeline.opt.command import CommandError, help_text, parse_command
from mlirad.pipeline.opt.diagnostics import diagnostics_of
from mlirad.pipeline.opt.output import write
from mlirad.pipeline.opt.reproducer import parse_reproducer, waiting_place
from mlirad.pipeline.opt.settings import Form, Request, Settings
from mlirad.pipeline.opt.source_text import chunks, decode
from mlirad.pipeline.opt.supervision import Progress, supervise
from mlirad.pipeline.opt.timing import Timing
from mlirad.pipeline.options import PipelineError
from mlirad.pipeline.registry import pass_names
from mlirad.pipeline.runner import spelled_pipeline

SEPARATOR = "// -----"
STANDARD = "-"
BYTECODE = b"ML\xefR"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, in a fork; the exit status."""
    try:
        with context():
            settings = parse_command(sys.argv[1:] if arguments is None else arguments)
    except (CommandError, PipelineError) as error:
        print(f"mlirad-opt: error: {error}", file=sys.stderr)
        return 1
    progress = Progress()
    status = supervise(lambda: run(settings, progress), lambda name: _report_death(name, progress))
    if settings.reproducer is not None and os.path.exists(waiting_place(settings.reproducer)):
        os.replace(waiting_place(settings.reproducer), settings.reproducer)
        print(f"mlirad-opt: note: '{settings.reproducer}' is for --run-reproducer", file=sys.stderr)
    return status


def _report_death(name: str, progress: Progress) -> None:
    print(
        f"{progress.read() or 'mlirad-opt: error: '}MLIR ended the process by {name}",
        file=sys.stderr,
    )


def run(settings: Settings, progress: Progress) -> int:
    """Do what is asked for in this process; the exit status."""
    try:
        if settings.request is not None:
            write(_answer(settings.request), settings.output)
            return 0
        if settings.irdl_file is not None or settings.rules is not None:
            from mlirad.pipeline.opt.extensions import load_extensions

            context().allow_unregistered_dialects = settings.unregistered_dialects
            load_extensions(settings.irdl_file, settings.rules)
        return _run(settings, progress)
    except TaichiCompilationError as error:
        for diagnostic in diagnostics_of(error):
            print(diagnostic, file=sys.stderr)
    except (CommandError, PipelineError, OSError) as error:
        print(f"mlirad-opt: error: {error}", file=sys.stderr)
    return 1


def _run(settings: Settings, progress: Progress) -> int:
    raw = (
        sys.stdin.buffer.read() if settings.input == STANDARD else Path(settings.input).read_bytes()
    )
    programs = _chunks(raw, settings)
    if settings.dump_pipeline:
        print(spelled_pipeline(str(settings.pipeline), context()), file=sys.stderr)
    timing = Timing()
    verdicts = [program.run(settings, timing, progress) for program in programs]
    succeeded = all(verdict.succeeded for verdict in verdicts)
    outputs = [verdict.output for verdict in verdicts if verdict.output is not None]
    if succeeded or settings.output == STANDARD:
        write(_join(outputs), settings.output)
    if settings.timing:
        print(timing.report(), file=sys.stderr)
    return 0 if succeeded else 1


def _chunks(raw: bytes, settings: Settings) -> list[Chunk]:
    """The programs of a file, and the pipeline that a reproducer brings."""
    is_bytecode = raw.startswith(BYTECODE)
    if is_bytecode:
        for asked, option in (
            (settings.split_input_file, "--split-input-file"),
            (settings.verify_diagnostics, "--verify-diagnostics"),
            (settings.run_reproducer, "--run-reproducer"),
            (not settings.implicit_module, "--no-implicit-module"),
        ):
            if asked:
                raise CommandError(f"'{option}' is for text, and '{settings.input}' is bytecode")
        return [Chunk(raw, settings.input)]
    text = decode(raw, settings.input)
    if settings.run_reproducer:
        reproducer = parse_reproducer(text)
        settings.pipeline, settings.verify_each = reproducer.pipeline, reproducer.verify_each
    if settings.split_input_file:
        if settings.emit is Form.BYTECODE:
            raise CommandError(
                "bytecode is one program: '--emit-bytecode' excludes '--split-input-file'"
            )
        return [Chunk(program, settings.input) for program in chunks(text, SEPARATOR)]
    return [Chunk(text, settings.input, is_whole_file=Path(settings.input).is_file())]


def _join(outputs: Sequence[str | bytes]) -> str | bytes:
    if len(outputs) == 1:
        return outputs[0]
    return f"{SEPARATOR}\n".join(map(str, outputs))


def _answer(request: Request) -> str:
    if request is Request.HELP:
        return help_text()
    if request is Request.PASSES:
        return "".join(f"{name}\n" for name in pass_names())
    if request is Request.DIALECTS:
        return "Available Dialects: " + ",".join(_dialects()) + "\n"
    if request is Request.IRDL:
        return "\n".join(irdl_texts().values())
    return _version()


def _dialects() -> list[str]:
    """The names of all dialects, which upstream tells to who asks for one that there is not."""
    try:
        ir.Module.parse("no.op", context())
    except ir.MLIRError as error:
        notes = [
            note.message for diagnostic in error.error_diagnostics for note in diagnostic.notes
        ]
        listed = "".join(notes).partition(":")[2].partition("(* ")[0]
        return re.findall(r"[\w.]+", listed.partition(";")[0])
    raise AssertionError("there is a dialect 'no'")


def _version() -> str:
    from importlib.metadata import version  # takes a while to load

    distribution = PROVIDER.replace("_", "-")
    return (
        f"mlirad-opt {version('mlirad')}, with MLIR from {distribution} {version(distribution)}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
