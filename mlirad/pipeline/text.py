"""Pipelines as text: `anchor(pass{option=value},anchor(pass,...),...)`, ours and upstream's mixed."""
from __future__ import annotations

from dataclasses import dataclass, field

from mlirad.pipeline.registry import pass_names


@dataclass
class Step:
    """A pass with its options, or an anchor with its steps."""

    name: str
    options: str = ""
    steps: list[Step] = field(default_factory=list)
    is_anchor: bool = False

    @property
    def is_ours(self) -> bool:
        return not self.is_anchor and self.name in pass_names()

    @property
    def holds_ours(self) -> bool:
        return self.is_ours or any(step.holds_ours for step in self.steps)

    def __str__(self) -> str:
        if self.is_anchor:
            return f"{self.name}({','.join(map(str, self.steps))})"
        return f"{self.name}{{{self.options}}}" if self.options else self.name


def parse_pipeline(text: str) -> Step:
    """Parse a pipeline with its anchor. Raises ValueError, with the position, for malformed text."""
    parser = _Parser(text)
    step = parser.step()
    if parser.position != len(text):
        raise parser.error("expected the end of the pipeline")
    if not step.is_anchor:
        return Step("builtin.module", steps=[step], is_anchor=True)
    return step


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def error(self, message: str) -> ValueError:
        return ValueError(f"pipeline, character {self.position + 1}: {message} in '{self.text}'")

    def peek(self) -> str:
        return self.text[self.position] if self.position < len(self.text) else ""

    def step(self) -> Step:
        start = self.position
        while self.peek() and self.peek() not in "(){},":
            self.position += 1
        name = self.text[start:self.position].strip()
        if not name:
            raise self.error("expected a pass name")
        if self.peek() == "{":
            return Step(name, self.options())
        if self.peek() != "(":
            return Step(name)
        self.position += 1
        steps: list[Step] = []
        while self.peek() != ")":
            steps.append(self.step())
            if self.peek() == ",":
                self.position += 1
            elif self.peek() != ")":
                raise self.error("expected ',' or ')'")
        self.position += 1
        return Step(name, steps=steps, is_anchor=True)

    def options(self) -> str:
        depth, start = 0, self.position + 1
        while self.peek():
            depth += {"{": 1, "}": -1}.get(self.peek(), 0)
            self.position += 1
            if depth == 0:
                return self.text[start:self.position - 1]
        raise self.error("expected '}'")
