"""The outcomes of all cells as a page of `docs/`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from programs.memory_changes.cell import MODES, Cell, Outcome, Result
from programs.memory_changes.places import PLACES, Place
from programs.memory_changes.refusals import REASONS
from programs.memory_changes.ways import WAYS, Way

LETTERS = dict(zip(MODES, "rlcfht"))
NAMES = {"budget": "reverse with a memory limit"}  # of modes, if readers know another word
HEAD = """# Gradients when memory changes

This page covers every way to change memory, every kind of memory, and every mode of
differentiation, with a gradient that was requested or is hidden, and with kernels compiled before
or after the first derivative: {total} programs. Each program writes to memory, uses it, and then
changes it twice, with a use after each change. Its first and second derivatives are compared with
exact values: {right} are right, {refused} raise an error or warn with the line, and {wrong}
are wrong.

`cd test && PYTHONPATH=.. python -m programs.memory_changes --every 7 --from 1 --document FILE`
writes this page from every seventh program. Without `--every` it runs all programs; `--jobs 2` uses
two processes. The tests run a different sample.

In the table, ✓ means that all modes are right. A letter means that this mode is refused, or, in
parentheses, that it is refused for some programs ({letters}). An empty entry means that there is
no such program.

"""
TAIL = """These are the reasons, with a part of each message. Foreign arrays are NumPy arrays and
torch tensors.

"""


def document(results: Mapping[Cell, Result]) -> str:
    """The page: a table with a row for each way and a column for each place; reasons."""
    counts = Counter(result.outcome for result in results.values())
    letters = "; ".join(f"{letter}: {NAMES.get(mode, mode)}" for mode, letter in LETTERS.items())
    head = HEAD.format(
        total=f"{len(results):,}",
        right=f"{counts[Outcome.RIGHT]:,}",
        refused=f"{counts[Outcome.REFUSED]:,}",
        wrong=counts[Outcome.WRONG],
        letters=letters,
    )
    names = [place.name for place in PLACES]
    rows = [f"| | {' | '.join(names)} |", f"|---{'|---' * len(names)}|"]
    rows += [
        f"| {way.name} | {' | '.join(_entry(results, way, place) for place in PLACES)} |"
        for way in WAYS
    ]
    reasons = "".join(f"- {reason}: `{message}`\n" for message, reason in REASONS.items())
    table = "\n".join(rows)
    return f"{head}{table}\n\n{TAIL}{reasons}"


def _entry(results: Mapping[Cell, Result], way: Way, place: Place) -> str:
    """The modes that are refused; those in parentheses only for one kind of gradient."""
    chosen = {c: r for c, r in results.items() if c.way is way and c.place is place}
    if not chosen:
        return ""
    letters = []
    for mode, letter in LETTERS.items():
        outcomes = [r.outcome for c, r in chosen.items() if c.mode == mode]
        if Outcome.WRONG in outcomes:
            letters.append(f"**{letter}**")
        elif outcomes and all(one is Outcome.REFUSED for one in outcomes):
            letters.append(letter)
        elif Outcome.REFUSED in outcomes:
            letters.append(f"({letter})")
    return " ".join(letters) or "✓"
