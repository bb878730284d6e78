"""Run pipelines: runs of upstream passes go to one pass manager, ours are called between them."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mlirad.bindings import PassManager, ir
from mlirad.errors import MLIRError
from mlirad.passes._location import source_location
from mlirad.passes._walk import block_operations
from mlirad.pipeline.registry import PipelineError, find_pass, parse_options
from mlirad.pipeline.text import Step, parse_pipeline

Observer = Callable[[str, ir.Operation], None]
Action = Callable[[ir.Operation], None]


def run_pipeline(module: ir.Operation, text: str, *, verify: bool = False, observer: Observer | None = None) -> None:
    """Run a textual pipeline on a module; nothing runs when any part of it is malformed.

    `observer(pass, op)` is called after every pass. Raises PipelineError for a malformed pipeline,
    TaichiCompilationError where a pass refuses the program, and MLIRError, with the op's location, where upstream or a
    verifier rejects it; the upstream error is then its `__context__`.
    """
    root = parse_pipeline(text)
    if root.name not in ("any", module.name):
        root = Step(module.name, steps=[root], is_anchor=True)
    with module.context:
        for action in _Compiler(verify, observer).actions(module.name, root.steps):
            action(module)


class _Compiler:
    """What to do for each step, in order."""

    def __init__(self, verify: bool, observer: Observer | None) -> None:
        self.verify, self.observer = verify, observer

    def actions(self, anchor: str, steps: Sequence[Step]) -> list[Action]:
        actions: list[Action] = []
        pending: list[Step] = []
        for step in steps:
            if not step.holds_ours and (self.observer is None or not step.is_anchor):
                pending.append(step)
                if self.observer is None:
                    continue
            if pending:
                actions.append(self._upstream(anchor, pending))
                pending = []
            if step.is_ours:
                actions.append(self._ours(step))
            elif step.is_anchor:
                actions.append(self._nested(step))
        if pending:
            actions.append(self._upstream(anchor, pending))
        return actions

    def _ours(self, step: Step) -> Action:
        function = find_pass(step.name)
        options: dict[str, Any] = parse_options(function, step.name, step.options)

        def run(op: ir.Operation) -> None:
            with _located_errors():
                function(op, **options)
                if self.verify:
                    op.verify()
            self._observe(step.name, op)

        return run

    def _upstream(self, anchor: str, steps: Sequence[Step]) -> Action:
        text = ",".join(map(str, steps))
        try:
            manager = PassManager.parse(f"{anchor}({text})")
        except ValueError as error:
            raise PipelineError(_reason(str(error))) from None
        manager.enable_verifier(self.verify)

        def run(op: ir.Operation) -> None:
            with _located_errors():
                manager.run(op)
            self._observe(text, op)

        return run

    def _nested(self, step: Step) -> Action:
        actions = self.actions(step.name, step.steps)

        def run(op: ir.Operation) -> None:
            children = [child for region in op.regions for block in region.blocks for child in block_operations(block)]
            for child in children:
                if step.name in ("any", child.name):
                    for action in actions:
                        action(child)

        return run

    def _observe(self, name: str, op: ir.Operation) -> None:
        if self.observer is not None:
            self.observer(name, op)


def _reason(report: str) -> str:
    """The sentence in what upstream's pipeline parser says."""
    lines = [line for line in report.splitlines() if line.strip()]
    return lines[0].partition("error: ")[2] or lines[0].removeprefix("<Pass-Options-Parser>: ")


@contextmanager
def _located_errors() -> Iterator[None]:
    """Turn upstream's error into ours, with the place of its first diagnostic."""
    try:
        yield
    except ir.MLIRError as error:
        found = error.error_diagnostics
        if not found:
            raise MLIRError(str(error)) from None
        raise MLIRError(found[0].message, source_location(found[0].location)) from None
