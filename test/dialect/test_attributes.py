"""The page of attributes that no op demands: it has all of them, and those that may be lost may."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from dropped_marks import PROGRAMS, dropped
from sources import read_tree

from mlirad.dialect.field import Field
from mlirad.dialect.grad import Grad
from mlirad.dialect.snode import Snode
from mlirad.dialect.te import Te

PAGE = (Path(__file__).parents[2] / "docs" / "dialects" / "attributes").with_suffix(".md")
OPS = {op.OPERATION_NAME for dialect in (Field, Grad, Snode, Te) for op in dialect.operations}
# row by row: the name, and what happens if it is lost
ROWS = re.findall(r"^\| `([\w.]+)` \|.*\| ([^|]*) \|$", PAGE.read_text(), re.MULTILINE)
LOST = dict(ROWS)
SAFE = {
    name
    for name, happens in ROWS
    if re.match(r"slower|rounding|nothing happens|nothing is said", happens)
    and not re.search("wrong|NaN", happens)
}
WORDS = "slower|rounding|refused|wrong|nothing|does not leave|it is not"


def literals() -> set[str]:
    """Return the texts in the package that could be the name of an attribute."""
    texts = {
        node.value
        for module in read_tree()
        for node in module.nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {text for text in texts if re.fullmatch(r"[a-z_]+(\.[a-z_]+)?", text)}


def test_the_page_has_every_attribute() -> None:
    of_dialects = {name for name in literals() if re.match(r"(field|grad|snode|te)\.", name)}
    assert of_dialects - OPS - LOST.keys() == set()


def test_an_attribute_of_the_page_is_one() -> None:
    assert LOST.keys() - literals() == set()


def test_an_attribute_is_documented_once() -> None:
    names = [name for name, _ in ROWS]
    assert len(names) == len({*names}) > 60


def test_the_page_says_what_happens() -> None:
    assert [name for name, happens in ROWS if not re.match(WORDS, happens)] == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_safe_to_lose_is_lost(program: str) -> None:
    """All of it at once, behind every pass: results and derivatives stay."""
    expected = PROGRAMS[program]()
    with dropped(SAFE) as seen:
        results = PROGRAMS[program]()
    assert len(seen) > (3 if program == "tensors" else 6), seen
    for array, wanted_array in zip(results, expected, strict=True):
        np.testing.assert_allclose(array, wanted_array, rtol=1e-11, atol=1e-12)
