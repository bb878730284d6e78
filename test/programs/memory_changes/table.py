"""The outcomes of all cells as a table of `docs/`."""

from __future__ import annotations

from collections.abc import Mapping

from programs.memory_changes.cell import MODES, Cell, Outcome, Result
from programs.memory_changes.places import PLACES, Place
from programs.memory_changes.ways import WAYS, Way

LETTERS = dict(zip(MODES, "rlcfht"))


def table(results: Mapping[Cell, Result]) -> str:
    """A row for each way, a column for each place."""
    names = [place.name for place in PLACES]
    rows = [f"| | {' | '.join(names)} |", f"|---{'|---' * len(names)}|"]
    rows += [
        f"| {way.name} | {' | '.join(_entry(results, way, place) for place in PLACES)} |"
        for way in WAYS
    ]
    return "\n".join(rows) + "\n"


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
