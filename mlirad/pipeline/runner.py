"""Run pipelines: runs of upstream passes go to one pass manager, ours are called between them."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mlirad.bindings import PassManager, ir
from mlirad.errors import MLIRError, SourceLocation, TaichiCompilationError
from mlirad.passes._location import source_location
from mlirad.passes._walk import operations
from mlirad.pipeline.registry import find_pass, parse_options
from mlirad.pipeline.text import Step, parse_pipeline

Observer = Callable[[str, ir.Operation], None]


def run_pipeline(module: ir.Operation, text: str, *, verify: bool = False, observer: Observer | None = None) -> None:
    """Run a textual pipeline on a module.

    `observer(pass, op)` is called after every pass. Raises ValueError for a malformed pipeline, TaichiCompilationError
    where a pass refuses the program, and MLIRError, with the op's location, where upstream or a verifier rejects it.
    """
    root = parse_pipeline(text)
    if root.name not in ("builtin.module", "any") and root.name != module.name:
        root = Step("builtin.module", steps=[root], is_anchor=True)
    _run(module, root.steps, verify, observer)


def _run(op: ir.Operation, steps: list[Step], verify: bool, observer: Observer | None) -> None:
    pending: list[Step] = []
    for step in steps:
        if not step.holds_ours:
            pending.append(step)
            if observer is None:
                continue
        _run_upstream(op, pending, verify, observer)
        pending = []
        if step.is_ours:
            _run_ours(op, step, verify, observer)
        elif step.holds_ours:
            for child in [c for c in operations(op) if c.name == step.name]:
                _run(child, step.steps, verify, observer)
    _run_upstream(op, pending, verify, observer)


def _run_ours(op: ir.Operation, step: Step, verify: bool, observer: Observer | None) -> None:
    options = parse_options(step.name, step.options)
    find_pass(step.name)(op, **options)
    if verify:
        with diagnostics(op.context) as messages:
            try:
                valid = op.verify()
            except ir.MLIRError as error:
                raise _as_error(error, messages) from None
            if not valid:
                raise MLIRError(f"{step.name} left invalid IR: {'; '.join(str(m[1]) for m in messages)}")
    if observer is not None:
        observer(step.name, op)


def _run_upstream(op: ir.Operation, steps: list[Step], verify: bool, observer: Observer | None) -> None:
    if not steps:
        return
    text = f"{op.name}({','.join(map(str, steps))})"
    with op.context:
        manager = PassManager.parse(text)
        manager.enable_verifier(verify)
        with diagnostics(op.context) as messages:
            try:
                manager.run(op)
            except ir.MLIRError as error:
                raise _as_error(error, messages) from None
    if observer is not None:
        observer(",".join(map(str, steps)), op)


@contextmanager
def diagnostics(context: ir.Context) -> Iterator[list[tuple[SourceLocation | None, str]]]:
    """Collect what upstream reports meanwhile, as places and messages."""
    messages: list[tuple[SourceLocation | None, str]] = []

    def note(diagnostic: ir.Diagnostic) -> bool:
        messages.append((source_location(diagnostic.location), diagnostic.message))
        return True

    handler = context.attach_diagnostic_handler(note)
    try:
        yield messages
    finally:
        handler.detach()


def _as_error(error: ir.MLIRError, messages: list[tuple[SourceLocation | None, str]]) -> TaichiCompilationError:
    if not messages:
        messages = [(source_location(d.location), d.message) for d in error.error_diagnostics]
    if not messages:
        return MLIRError(str(error))
    place, message = messages[0]
    return MLIRError(message, place)
