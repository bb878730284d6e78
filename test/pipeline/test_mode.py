"""Modes as text, which is written and read in one place."""

import pytest

from mlirad.pipeline.mode import ANOMALY_REVERSE, PRIMAL, REVERSE, parse_mode, with_tangents

NAMES = (
    "primal",
    "reverse",
    "clearing",
    "validation",
    "anomaly",
    "validation-anomaly",
    "anomaly-reverse",
    "stored-reverse",
    "collisions",
    "collisions-tangents",
    "forward",
    "forward3",
    "constant12",
    "forward-reverse",
    "forward3-reverse",
)


@pytest.mark.parametrize("name", NAMES)
def test_every_mode_is_read_as_it_is_written(name: str) -> None:
    mode = parse_mode(name)
    assert str(mode) == name
    assert parse_mode(str(mode)) == mode


@pytest.mark.parametrize("name", ["", "sideways", "forward0", "3", "forward3-x", "reverse-anomaly"])
def test_other_texts_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"unknown mode '{name}'"):
        parse_mode(name)


def test_equal_modes_find_the_same_code() -> None:
    code = {PRIMAL: 1, REVERSE: 2, ANOMALY_REVERSE: 3, with_tangents(2, is_reverse=True): 4}
    assert code[parse_mode("forward2-reverse")] == 4
    assert code[parse_mode("anomaly-reverse")] == 3
    assert parse_mode("forward2") not in code
