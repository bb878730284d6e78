"""Pipelines as text: `anchor(pass{option=value},anchor(pass,...),...)`, ours and upstream's
mixed."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from mlirad.ir.ops import Builtin
from mlirad.pipeline.options import PipelineError
from mlirad.pipeline.registry import is_pass


class Step(msgspec.Struct, frozen=True):
    """A pass with its options, or an anchor with its steps."""

    name: str
    options: str = ""
    steps: tuple[Step, ...] = ()
    is_anchor: bool = False

    @property
    def is_ours(self) -> bool:
        return not self.is_anchor and is_pass(self.name)

    @property
    def holds_ours(self) -> bool:
        return self.is_ours or any(step.holds_ours for step in self.steps)

    def __str__(self) -> str:
        if self.is_anchor:
            return f"{self.name}({','.join(map(str, self.steps))})"
        return f"{self.name}{{{self.options}}}" if self.options else self.name


@lru_cache
def parse_pipeline(text: str) -> Step:
    """Parse a pipeline with its anchor. Raises PipelineError, with the position, for malformed
    text."""
    parser = _Parser(text)
    step = parser.step()
    if parser.position != len(text):
        raise parser.error("expected the end of the pipeline")
    if not step.is_anchor:
        return Step(Builtin.MODULE, steps=(step,), is_anchor=True)
    return step


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def error(self, message: str) -> PipelineError:
        return PipelineError(f"pipeline, character {self.position + 1}: {message} in '{self.text}'")

    def peek(self) -> str:
        return self.text[self.position] if self.position < len(self.text) else ""

    def skip_space(self) -> None:
        while self.peek().isspace():
            self.position += 1

    def step(self) -> Step:
        self.skip_space()
        start = self.position
        ends = [end for mark in "(){}," if (end := self.text.find(mark, start)) >= 0]
        self.position = min(ends, default=len(self.text))
        name = self.text[start : self.position].strip()
        if not name:
            raise self.error("expected a pass name")
        if self.peek() == "{":
            step = Step(name, self.options())
        elif self.peek() == "(":
            step = self.anchor(name)
        else:
            step = Step(name)
        self.skip_space()
        return step

    def anchor(self, name: str) -> Step:
        if name != "any" and "." not in name:
            raise self.error(f"'{name}' is not the name of an operation")
        self.position += 1
        steps: list[Step] = []
        self.skip_space()
        while self.peek() != ")":
            steps.append(self.step())
            if self.peek() == ",":
                self.position += 1
                if self.peek() == ")":
                    raise self.error("expected a pass name")
            elif self.peek() != ")":
                raise self.error("expected ',' or ')'")
        self.position += 1
        return Step(name, steps=tuple(steps), is_anchor=True)

    def options(self) -> str:
        depth, start = 0, self.position + 1
        while (end := self.text.find("}", self.position)) >= 0:
            depth += self.text.count("{", self.position, end) - 1
            self.position = end + 1
            if depth == 0:
                return self.text[start:end]
        self.position = len(self.text)
        raise self.error("expected '}'")
