"""Types of ours as text may spell them: the parser takes parameters that make no type."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlirad.bindings import ir

_ELEMENT = r"(?:f16|f32|f64|i1|i8|i16|i32|i64|index)"
_EXTENTS = r"\[(?:(?:-1|\d{1,18})(?:, (?:-1|\d{1,18}))*)?\]"
_OURS = re.compile(r"!(?:field|grad)\.")
_WELL_FORMED = re.compile(
    rf"!field\.array<{_ELEMENT}, {_EXTENTS}>|!field\.word|!grad\.stack<{_ELEMENT}>"
    rf"|!grad\.log<{_ELEMENT}, \d{{1,2}}(?: : i64)?>"
)


def malformed_types(root: ir.Operation) -> Iterator[tuple[ir.Operation, str]]:
    """Yield what is wrong with our types, with the op that has a value of such a type."""
    problems: dict[ir.Type, str | None] = {}
    for op, type_ in _types(root):
        if type_ not in problems:
            problems[type_] = _problem(str(type_))
        problem = problems[type_]
        if problem is not None:
            yield op, problem


def _problem(text: str) -> str | None:
    if not _OURS.match(text) or _WELL_FORMED.fullmatch(text):
        return None
    kind = "an array" if text.startswith("!field.array<") else "a"
    return f"{text} is not {kind} type"


def _types(root: ir.Operation) -> Iterator[tuple[ir.Operation, ir.Type]]:
    pending = [root]
    while pending:
        op = pending.pop()
        yield from ((op, result.type) for result in op.results)
        for region in op.regions:
            for block in region.blocks:
                yield from ((op, argument.type) for argument in block.arguments)
                pending += [child.operation for child in block.operations]
