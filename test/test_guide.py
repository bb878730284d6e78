"""Every program of the guide runs, and prints what the guide says."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import groupby

import pytest
from guide_programs import GUIDE, Block, blocks_of, differences, differences_behind, printed

CHAPTERS = sorted(GUIDE.glob("*.md"))
PROGRAMS = [
    pytest.param(needs, list(blocks), id=f"{chapter.stem}-{needs or 'mlirad'}")
    for chapter in CHAPTERS
    for needs, blocks in groupby(
        sorted(blocks_of(chapter), key=lambda one: one.needs), key=lambda one: one.needs
    )
]


@pytest.mark.parametrize(("needs", "blocks"), PROGRAMS)
def test_a_chapter_prints_what_it_says(needs: str, blocks: list[Block]) -> None:
    if needs and find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed: what is said is of a run where it was")
    for block, found in zip(blocks, printed(blocks), strict=True):
        assert not (differences_behind if needs else differences)(block.said, found)


def test_a_chapter_has_a_program() -> None:
    without = [chapter.stem for chapter in CHAPTERS if not blocks_of(chapter)]
    assert without == ["index"]


@pytest.mark.parametrize(
    ("said", "found", "same"),
    [
        ("x = 1.5", "x =  1.5", True),
        ("[1.25 2.]", "[ 1.2500000001 2.0]", True),
        ("1.5e-3", "0.0017", False),
        ("12 bytes", "13 bytes", False),
        ("a", "b", False),
        ("1.0", "1.0\n1.0", False),
    ],
)
def test_numbers_are_compared(said: str, found: str, same: bool) -> None:
    assert (not differences(said, found)) == same


def test_the_front_leads_to_every_chapter() -> None:
    text = (GUIDE / "index").with_suffix(".md").read_text()
    without = [chapter.stem for chapter in CHAPTERS if f"]({chapter.name})" not in text]
    assert without == ["index"]
