"""Situations of Enzyme's MLIR tests, each as a program of our own.

A file holds modules, each with comments in front: the tests of Enzyme's that have the situation,
and what it is; the arguments, as `mlirad-run` takes them; the numbers that it gives, in some; what
the message says if it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
FAMILIES = {
    "numbers": "Numbers",
    "loops": "Loops",
    "branches": "Branches, blocks, and slots",
    "memory": "Memory",
    "parallel": "Parallel loops",
    "calls": "Calls",
    "derivatives": "Derivatives within the module",
    "tensors": "Tensors, vectors, and batches",
    "refusals": "Situations without a counterpart",
}
_HEAD = re.compile(
    r"// (?P<tests>[^:]+): (?P<text>.+)\n// run: (?P<values>.*)\n"
    r"(?:// gives: (?P<results>.+)\n)?(?:// refused: (?P<refusal>.+)\n)?"
)


@dataclass(frozen=True)
class Situation:
    """A module with one public function, and arguments for it; `refusal` is in the message."""

    family: str
    name: str
    tests: str
    description: str
    values: tuple[str, ...]
    results: tuple[float, ...]  # if there is more to compare than derivatives
    refusal: str | None
    text: str


def situations() -> Iterator[Situation]:
    """Return all situations, family by family."""
    for family in FAMILIES:
        text = (FOLDER / f"{family}.txt").read_text()
        for module in text.split("\n// -----\n\n"):
            head = _HEAD.match(module)
            assert head is not None, module[:200]
            (name,) = re.findall(r"func\.func @(\w+)", module)
            values = tuple(head["values"].split())
            results = tuple(map(float, (head["results"] or "").split()))
            tests, text, refusal = head["tests"], head["text"], head["refusal"]
            yield Situation(family, name, tests, text, values, results, refusal, module)


def absent() -> Iterator[tuple[str, str, str]]:
    """Return the tests without a program here, what they are about, and what is here instead."""
    for line in (FOLDER / "absent.txt").read_text().splitlines():
        situation, instead = line.split(" | ")
        tests, description = situation.split(": ", 1)
        yield tests, description, instead
