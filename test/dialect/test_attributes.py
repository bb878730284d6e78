"""The page of optional attributes lists all of them, and says which may be lost."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
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
WORDS = "slower|rounding|refused|wrong|no effect|no remark|removed|it is not|debug mode"


@cache
def literals() -> set[str]:
    """Return the texts in the package that could be the name of an attribute."""
    texts = {text for module in read_tree() for text in module.literals}
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


expected = cache(lambda program: PROGRAMS[program]())


def check_without(marks: Collection[str], program: str) -> set[str]:
    """Run a program with marks dropped behind every pass: results and derivatives stay. Return
    which of them there were."""
    with dropped(marks) as seen:
        results = PROGRAMS[program]()
    for array, expected_array in zip(results, expected(program), strict=True):
        np.testing.assert_allclose(array, expected_array, rtol=1e-11, atol=1e-12)
    return seen


@pytest.mark.parametrize(("program", "fewest"), [*zip(PROGRAMS, (10, 9, 8), strict=True)])
def test_all_that_is_safe_to_lose_is_lost(program: str, fewest: int) -> None:
    assert len(check_without(SAFE, program)) >= fewest


ALONE = {
    "kernels": "any_order at_end decision exact plain reduce slab",
    "kernels on a GPU": "elements plain reduce",
    "tensors": "axes own settled",
}
CASES = [(program, f"field.{name}") for program, names in ALONE.items() for name in names.split()]
CASES += [("kernels on a GPU", f"grad.{name}") for name in ("again", "reversed", "undone")]


@pytest.mark.parametrize(("program", "mark"), CASES)
def test_one_that_is_safe_to_lose_is_lost(program: str, mark: str) -> None:
    assert mark in SAFE and check_without({mark}, program) == {mark}
