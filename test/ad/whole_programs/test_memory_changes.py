"""Ways that memory changes, places that it has, modes of differentiation: one cell of some of the
table `python -m programs.memory_changes`, which is in docs/memory-changes.md as a whole."""

from __future__ import annotations

import importlib.util
import re
import zlib
from pathlib import Path

import pytest
from programs.memory_changes.cell import Cell, cells, outcome
from programs.memory_changes.document import document
from programs.memory_changes.refusals import explained
from programs.memory_changes.ways import WAYS, Way

DOCUMENT = Path(__file__).parents[3] / "docs/memory-changes.md"
ONE_OF = 25
ONCE_WRONG = ("store, ndarray, hvp, hidden, compiled",)
HAS_TORCH = importlib.util.find_spec("torch") is not None


def _sample(way: Way) -> list[Cell]:
    of_way = [
        cell for cell in cells() if cell.way is way and (HAS_TORCH or cell.place.name != "torch")
    ]
    return [
        cell
        for cell in of_way
        if cell is of_way[0]
        or str(cell) in ONCE_WRONG
        or zlib.crc32(str(cell).encode()) % ONE_OF == 0
    ]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name.replace(" ", "_"))
def test_gradients_are_right_or_refused_by_name(way: Way) -> None:
    results = {cell: outcome(cell) for cell in _sample(way)}
    failures = {
        str(cell): result.reason for cell, result in results.items() if not explained(cell, result)
    }
    assert not failures


def test_the_page_has_the_words_of_its_generator() -> None:
    """Only its table and its counts come from a run of all programs."""
    page, empty = (
        re.sub(r"[\d,]*\d", "N", re.sub(r"^\|.*\n", "", text, flags=re.MULTILINE))
        for text in (DOCUMENT.read_text(), document({}))
    )
    assert " ".join(page.split()) == " ".join(empty.split())
