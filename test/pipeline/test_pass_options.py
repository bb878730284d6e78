"""What the options of passes may be is part of their signatures."""

from __future__ import annotations

from typing import Annotated

import pytest

import mlirad as ti
from mlirad.ir.limits import Letters, OneOf, Range, SomeOf
from mlirad.pipeline.options import PipelineError, options_of, parse_options
from mlirad.pipeline.registry import find_pass, pass_names
from mlirad.runtime.program import program


@pytest.mark.parametrize("name", pass_names())
def test_every_option_has_limits(name: str) -> None:
    """Integers have a range, words a list; the default is within."""
    for option in options_of(find_pass(name), name).values():
        assert option.kind is bool or option.limit is not None
        assert option.limit is None or option.limit.admits(option.default)


def _pass(
    module: object,
    *,
    count: Annotated[int, Range(1, 4)] = 1,
    way: Annotated[str, OneOf(("up", "down"))] = "up",
    flags: Annotated[str, SomeOf(("a", "b"))] = "a",
    loud: bool = False,
    name: Annotated[str, Letters(4)] = "",
) -> None:
    """Do nothing."""


def test_values_are_typed() -> None:
    """Dashes are as good as underscores; a boolean that is named is true."""
    assert parse_options(_pass, "p", "count=4 way=down flags=a+b loud") == {
        "count": 4,
        "way": "down",
        "flags": "a+b",
        "loud": True,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("count=5", "option 'count' of 'p' is 1 to 4, not 5"),
        ("count=" + "9" * 5000, "has values of type int"),
        ("way=left", "option 'way' of 'p' is one of up, down, not 'left'"),
        ("flags=a+c", "option 'flags' of 'p' is some of a, b, joined by '\\+', not 'a\\+c'"),
        ("loud=1", "option 'loud' of 'p' is true or false, not '1'"),
        ("name=a/b", "option 'name' of 'p' is at most 4 letters, digits, .* not 'a/b'"),
        ("name=abcde", "not 'abcde'"),
        ("size=1", "'p' has no option 'size' \\(options: count, way, flags, loud, name\\)"),
    ],
)
def test_other_values_are_refused(text: str, message: str) -> None:
    """By the name of the option."""
    with pytest.raises(PipelineError, match=message):
        parse_options(_pass, "p", text)


def test_an_integer_without_a_range_is_a_mistake_of_the_pass() -> None:
    """So that nobody forgets one."""

    def unlimited(module: object, *, count: int = 1) -> None:
        """Do nothing."""

    with pytest.raises(AssertionError, match="option 'count' has no range"):
        options_of(unlimited, "unlimited")


def test_a_program_asks_for_no_more_threads_than_passes_take() -> None:
    """`cpu_max_num_threads` is an upper bound, whatever it is."""
    ti.init(arch=ti.cpu, cpu_max_num_threads=100_000)
    assert program().config.cpu_max_num_threads == 1024
    ti.reset()
