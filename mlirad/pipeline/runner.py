"""Run pipelines: runs of upstream passes go to one pass manager, ours are called between them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import msgspec

from mlirad.bindings import PassManager, ir
from mlirad.errors import MLIRError, TaichiCompilationError
from mlirad.ir.graph import forget_graphs, names_in, sharing_graphs, verify_graphs
from mlirad.ir.ops import Builtin
from mlirad.ir.reports.location import source_location
from mlirad.ir.reports.loop_names import name_loop
from mlirad.ir.requirements import COPYING_STAGES, KERNEL_STAGES, Request, Requests
from mlirad.ir.walk import block_operations
from mlirad.pipeline.options import PipelineError, options_of, parse_options, spell
from mlirad.pipeline.registry import (
    dialects_of,
    find_pass,
    looks_for,
    only_marks,
    requirements_of,
    runs_on_modules_only,
)
from mlirad.pipeline.stages.stage import join
from mlirad.pipeline.text import Step, parse_pipeline

Observer = Callable[[str, ir.Operation], None]
Action = Callable[[ir.Operation], None]
MODULE, ANY = Builtin.MODULE, "any"
VERIFY = "MLIRAD_VERIFY_EACH"  # in the environment, as for all tests: verify behind our passes
# Of upstream's passes, those that run often and keep nothing of a module that they have seen:
# `convert-math-to-funcs`, for one, keeps the functions that it made.
_KEPT = frozenset({"canonicalize", "cse", "mem2reg"})


class Watcher(msgspec.Struct, frozen=True):
    """A watcher of every pass of a run, by its name and the op that it runs on."""

    before: Observer | None = None
    after: Observer | None = None
    failed: Observer | None = None
    one_by_one: bool = True  # or runs of upstream's passes as one


def run_pipeline(module: ir.Operation, text: str, *, observer: Observer | None = None) -> None:
    """Run a textual pipeline on a module; nothing runs when any part of it is malformed, except for
    the options of passes that are only loaded where the module has ops that they look for.

    `observer(pass, op)` is called after every pass. Raises PipelineError for a malformed pipeline,
    TaichiCompilationError if a pass refuses the program, and MLIRError, with the op's location,
    where upstream or a verifier rejects it; the upstream error is then its `__context__`.
    """
    watchers = [] if observer is None else [Watcher(after=observer)]
    compile_pipeline(module, text, verify_ours=VERIFY in os.environ, watchers=watchers)()


def compile_pipeline(
    module: ir.Operation,
    text: str,
    *,
    verify: bool = False,
    verify_ours: bool = False,
    is_foreign: bool = False,
    watchers: Sequence[Watcher] = (),
) -> Callable[[], None]:
    """Return what runs a textual pipeline on a module. Raises PipelineError for a malformed one.

    Of a foreign module, one that the frontend did not make, passes check what they take for
    granted. The verifier runs behind every pass, or behind ours only.
    """
    root = parse_pipeline(text)
    if root.name not in (ANY, module.name):
        if module.name != MODULE:
            raise PipelineError(f"a pipeline for '{root.name}' cannot run on '{module.name}'")
        root = Step(module.name, steps=(root,), is_anchor=True)
    with module.context:
        actions = _Compiler(verify, verify or verify_ours, is_foreign, watchers).actions(
            module.name, root.steps
        )

    def run() -> None:
        with module.context, sharing_graphs():
            for action in actions:
                action(module)

    return run


def spelled_pipeline(text: str, context: ir.Context) -> str:
    """A pipeline with every option of every pass. Raises PipelineError for a malformed one."""
    with context:
        return _spell_step(parse_pipeline(text))


def is_upstream(name: str) -> bool:
    """Return whether upstream has a pass of this name; needs a context."""
    try:
        PassManager.parse(f"any({name})")
    except ValueError:
        return False
    return True


class _Compiler:
    """The compiler of steps to actions."""

    def __init__(
        self, verify: bool, verify_ours: bool, is_foreign: bool, watchers: Sequence[Watcher]
    ) -> None:
        self.verify, self.verify_ours = verify, verify_ours
        self.is_foreign, self.watchers = is_foreign, watchers
        self.one_by_one = any(watcher.one_by_one for watcher in watchers)

    def actions(self, anchor: str, steps: Sequence[Step]) -> list[Action]:
        actions: list[Action] = []
        pending: list[Step] = []
        for step in steps:
            if not step.holds_ours and not (self.one_by_one and step.is_anchor):
                pending.append(step)
                if not self.one_by_one:
                    continue
            if pending:
                actions.append(self._compile_upstream(anchor, pending))
                pending = []
            if step.is_ours:
                actions.append(self._compile_ours(anchor, step))
            elif step.is_anchor and (step.holds_ours or self.one_by_one):
                actions.append(self._compile_nested(step))
        if pending:
            actions.append(self._compile_upstream(anchor, pending))
        return actions

    def _compile_ours(self, anchor: str, step: Step) -> Action:
        sought = looks_for(step.name)
        if sought is None or self.is_foreign or anchor != MODULE:
            return self._watch(step.name, self._load(anchor, step, sought))

        def work(op: ir.Operation) -> None:
            if self.verify_ours or not names_in(op).isdisjoint(sought):
                self._load(anchor, step, sought)(op)
            elif self.one_by_one:
                forget_graphs()

        return self._watch(step.name, work)

    def _load(self, anchor: str, step: Step, sought: tuple[str, ...] | None) -> Action:
        """Return what runs a pass of ours, which is loaded here."""
        function = find_pass(step.name)
        for name in dialects_of(step.name):
            _ = ir.Context.current.dialects[name]  # which loads it
        options: dict[str, Any] = parse_options(function, step.name, step.options)
        needs_module = runs_on_modules_only(function)
        keeps = not self.one_by_one  # or a watcher may change ops
        marks = only_marks(step.name) and keeps
        if needs_module and anchor not in (MODULE, ANY):
            raise PipelineError(f"'{step.name}' runs on '{MODULE}', not on '{anchor}'")

        def work(op: ir.Operation) -> None:
            if needs_module and op.name != MODULE:
                raise MLIRError(
                    f"'{step.name}' runs on '{MODULE}', not on '{op.name}'",
                    source_location(op.location),
                )
            for requirement in requirements_of(step.name) if self.is_foreign else ():
                requirement(op)
            if sought is not None and names_in(op).isdisjoint(sought):
                if self.verify_ours:
                    _check_idle(step.name, lambda: function(op, **options), op)
                if not keeps:
                    forget_graphs()
                return
            requests = function(op, **options)
            if requests is not None:
                self._serve_all(requests)
            if not marks:
                forget_graphs()
            if self.verify_ours:
                op.verify()
                verify_graphs()

        return work

    def _serve_all(self, requests: Requests) -> None:
        """Run what a pass asks for, and tell it what is refused."""
        refusal: TaichiCompilationError | None = None
        while True:
            try:
                request = requests.throw(refusal) if refusal is not None else next(requests)
            except StopIteration:
                return
            try:
                self._serve(request)
                refusal = None
            except TaichiCompilationError as error:
                refusal = error

    def _serve(self, request: Request) -> None:
        """Run a pipeline on a program that is no more the frontend's than its own."""
        text = request.pipeline
        if text in (KERNEL_STAGES, COPYING_STAGES):
            from mlirad.pipeline.stages.functions import function_stages  # which few programs need

            text = join(function_stages(copies=text == COPYING_STAGES))
        compile_pipeline(
            request.op, text, verify=self.verify, verify_ours=self.verify_ours, is_foreign=True
        )()

    def _compile_upstream(self, anchor: str, steps: Sequence[Step]) -> Action:
        for step in steps:
            _check_anchors(step)
        text = ",".join(map(str, steps))
        are_kept = all(name in _KEPT for step in steps for name in _names(step))
        make = _kept_manager if are_kept else _manager
        manager = make(f"{anchor}({text})", ir.Context.current)

        def work(op: ir.Operation) -> None:
            manager.enable_verifier(self.verify)
            forget_graphs()
            manager.run(op)

        return self._watch(text, work)

    def _compile_nested(self, step: Step) -> Action:
        _check_anchors(step)
        actions = self.actions(step.name, step.steps)

        def run(op: ir.Operation) -> None:
            children = [
                child
                for region in op.regions
                for block in region.blocks
                for child in block_operations(block)
            ]
            for child in children:
                if step.name == child.name:
                    _check_isolation(child)
                if step.name == child.name or (step.name == ANY and _is_isolated(child)):
                    for action in actions:
                        action(child)

        return run

    def _watch(self, name: str, work: Action) -> Action:
        action = _locate_errors(work)
        if not self.watchers:
            return action

        def run(op: ir.Operation) -> None:
            self._tell("before", name, op)
            outcome = "failed"
            try:
                action(op)
                outcome = "after"
            finally:
                self._tell(outcome, name, op)

        return run

    def _tell(self, when: str, name: str, op: ir.Operation) -> None:
        for watcher in self.watchers:
            observer: Observer | None = getattr(watcher, when)
            if observer is not None:
                observer(name, op)


def _check_idle(name: str, run: Callable[[], object], op: ir.Operation) -> None:
    """Raise AssertionError if a pass changes an op without any of the ops that it looks for."""
    before = str(op)
    run()
    assert str(op) == before, f"'{name}' does not say all that it looks for"


def _check_anchors(step: Step) -> None:
    """Refuse names that no operation has: nothing would ever run on them."""
    if step.is_anchor:
        if step.name != ANY and not _is_operation(step.name):
            raise PipelineError(f"'{step.name}' is not the name of an operation")
        for inner in step.steps:
            _check_anchors(inner)


def _is_operation(name: str) -> bool:
    """Return whether an operation has this name, which of a dialect that is not used yet is loaded
    now."""
    context = ir.Context.current
    if not context.is_registered_operation(name):
        with suppress(IndexError):  # there is no such dialect
            _ = context.dialects[name.partition(".")[0]]
    return context.is_registered_operation(name)


def _is_isolated(op: ir.Operation) -> bool:
    return bool(op.has_trait(ir.IsIsolatedFromAboveTrait))


def _check_isolation(op: ir.Operation) -> None:
    """Refuse what upstream refuses: a pass on an operation that uses values from outside."""
    if not _is_isolated(op):
        raise MLIRError(
            f"passes cannot run on '{op.name}', which is not isolated from above",
            source_location(op.location),
        )


def _spell_step(step: Step) -> str:
    if step.is_anchor:
        _check_anchors(step)
        return f"{step.name}({','.join(map(_spell_step, step.steps))})"
    if step.is_ours:
        function = find_pass(step.name)
        defaults = {
            name: option.default for name, option in options_of(function, step.name).items()
        }
        values = defaults | parse_options(function, step.name, step.options)
        return str(
            Step(step.name, " ".join(f"{name}={spell(value)}" for name, value in values.items()))
        )
    manager = _manager(f"any({step})", ir.Context.current)
    return " ".join(str(manager).removeprefix("any(").removesuffix(")").split())


def _names(step: Step) -> Iterator[str]:
    """The passes of a step."""
    if not step.is_anchor:
        yield step.name
    for inner in step.steps:
        yield from _names(inner)


@lru_cache(64)
def _kept_manager(text: str, context: ir.Context) -> PassManager:
    """The pass manager of a text that runs again and again. One that has run has its patterns,
    which take longer to collect than to apply to a small module."""
    return _manager(text, context)


def _manager(text: str, _: ir.Context) -> PassManager:
    """Upstream's pass manager of a text, in the current context."""
    try:
        return PassManager.parse(text)
    except ValueError as error:
        raise PipelineError(_reason(str(error))) from None


def _reason(report: str) -> str:
    """The sentence in what upstream's pipeline parser says, with the pass whose options are
    wrong."""
    lines = [line for line in report.splitlines() if line.strip()]
    reason = lines[0].partition("error: ")[2] or lines[0].removeprefix("<Pass-Options-Parser>: ")
    wrong = next(
        (line.split("`")[1] for line in lines[1:] if line.startswith("failed to add `")), None
    )
    return reason if wrong is None else f"'{wrong}': {reason}"


def _locate_errors(work: Action) -> Action:
    """Turn upstream's error into ours, with the place of its first diagnostic; name the loop of
    ours."""

    def run(op: ir.Operation) -> None:
        try:
            work(op)
        except TaichiCompilationError as error:
            name_loop(error, op)
            raise
        except ir.MLIRError as error:
            if not error.error_diagnostics:
                raise MLIRError(str(error)) from None
            first = error.error_diagnostics[0]
            raise MLIRError(first.message, source_location(first.location)) from None

    return run
