"""Slices of the tests (`slices.py`): of some that follow one another, each test is in one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from slices import Slice, leave_out, slice_of

NAMES = [f"test/ad/test_{letter}.py::test_it[{k}-f64]" for letter in "abcde" for k in range(200)]


@pytest.mark.parametrize("first", [0, 3, 1234])
def test_five_runs_have_every_test_once(first: int) -> None:
    """Whatever number the first one has; and they are about as long."""
    runs = [
        [name for name in NAMES if Slice(number, 5).has(name)] for number in range(first, first + 5)
    ]
    assert sorted(name for run in runs for name in run) == sorted(NAMES)
    assert all(len(NAMES) // 7 < len(run) < len(NAMES) // 4 for run in runs)


@pytest.mark.parametrize("text", ["", "3", "1/0", "-1/4", "a/4", "1/4/2"])
def test_what_is_no_slice(text: str) -> None:
    with pytest.raises(ValueError, match="two numbers"):
        slice_of(text)


def test_every_run_has_a_slice_of_every_machine() -> None:
    """By the number of its commit."""
    script = (Path(__file__).parent.parent / ".ci" / "run").read_text()
    assert "git rev-list --count HEAD" in script and "slice=$number/10" in script
    simt, orders = "--arch=simt --simt-order=", ("ascending", "descending", "shuffled")
    for machine in ("--arch=cuda --stub", *(simt + order for order in orders)):
        assert f"a_slice_on {machine}" in script
    assert "MLIRAD_PLAIN_HOST=1 a_slice_on --all-sliced" in script
    assert all(f"test/{folder}" in script for folder in ("ad", "frontend", "lang", "te"))


class Item(NamedTuple):
    """A test as pytest has it, with one marker at most."""

    nodeid: str
    marker: str | None

    def get_closest_marker(self, name: str) -> str | None:
        return name if name == self.marker else None


def run_by(number: int, arch: str | None, *, are_all_sliced: bool, kind: str) -> list[Item]:
    """What a run of a slice of two has, of tests of which every other one is of a kind."""
    options = {"--slice": Slice(number, 2), "--arch": arch, "--all-sliced": are_all_sliced}
    nothing = SimpleNamespace(pytest_deselected=lambda items: None)
    config: Any = SimpleNamespace(getoption=options.get, hook=nothing)
    items: Any = [Item(name, kind if k % 2 else None) for k, name in enumerate(NAMES)]
    leave_out(config, items)
    return list(items)


@pytest.mark.parametrize("kind", ["rotating", "slow"])
@pytest.mark.parametrize(("arch", "are_all_sliced"), [(None, False), ("simt", False), (None, True)])
def test_runs_by_slices(arch: str | None, are_all_sliced: bool, kind: str) -> None:
    """On a CPU, quick tests that do not rotate are in every run, unless all are sliced; on other
    machines no test is."""
    even, odd = (
        {*run_by(number, arch, are_all_sliced=are_all_sliced, kind=kind)} for number in (6, 7)
    )
    shared = not arch and not are_all_sliced
    assert len(even | odd) == len(NAMES) and even - odd and odd - even
    assert {item.marker for item in even & odd} == ({None} if shared else set())
    assert len(even & odd) == (len(NAMES) // 2 if shared else 0)
