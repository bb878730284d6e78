"""Every feature on every target, and the table of `docs/gpu.md` that says so.

`MLIRAD_WRITE_TABLES=1 python -m pytest test/runtime/test_targets.py` writes the table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from programs.features import FEATURES
from runtime.cuda.machine import stub_the_driver

import mlirad as ti
from mlirad.runtime.executors import EXECUTORS

DOCUMENT = Path(__file__).parents[2] / "docs/gpu.md"
HEAD = ("", "CPU", "simt", "cuda, on a stub")
MARKS = "<!-- features -->\n", "<!-- end of features -->\n"
PATTERN = re.compile(f"(?<={MARKS[0]}).*(?={MARKS[1]})", re.DOTALL)
WRITES = "MLIRAD_WRITE_TABLES" in os.environ


def line(cells: Iterable[str]) -> str:
    """A row of the table."""
    return "| " + " | ".join(cells) + " |\n"


@pytest.fixture(scope="module")
def table() -> Iterator[list[str]]:
    """The lines of the document's table; what is added to them is written where that is asked
    for."""
    text = DOCUMENT.read_text()
    found = PATTERN.search(text)
    assert found is not None
    lines = [line(HEAD), line(["---"] * len(HEAD))] if WRITES else found[0].splitlines(True)
    yield lines
    if WRITES:
        DOCUMENT.write_text(PATTERN.sub(lambda _: "".join(lines), text))


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_on_every_target(
    name: str, table: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program checks its result on the CPU, as a GPU would run it, in descending order, and as
    PTX whose launches a stub of the driver runs. The document says so."""
    monkeypatch.setitem(EXECUTORS, "cuda", EXECUTORS["cuda"])
    stub = stub_the_driver()
    for arch in (ti.cpu, ti.simt, ti.cuda):
        ti.init(
            arch=arch,
            default_fp=ti.f64,
            debug="debug" in name,
            cpu_max_num_threads=2,
            simt_order="descending",
        )
        FEATURES[name]()
    assert stub.counts["cuLaunchKernel"] and not stub.mistakes
    row = line([name, "yes", "yes", "yes"])
    if WRITES:
        table.append(row)
    assert row in table


def test_the_document_has_no_other_feature(table: list[str]) -> None:
    """Its lines are those of features."""
    assert len(table) == 2 + len(FEATURES)
