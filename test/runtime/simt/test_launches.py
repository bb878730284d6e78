"""What a GPU would run, run on the CPU one thread after the other: the same memory as the CPU's own
code leaves, in any order."""

from __future__ import annotations

import pytest
from programs.machines import CASES, assert_alike, left_by

import mlirad as ti


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_launches_leave_what_the_cpu_leaves(name: str, mode: str) -> None:
    """Fields, arrays and results."""
    expected = left_by(ti.cpu, name, mode)
    for order in ("descending", "shuffled"):
        assert_alike(expected, left_by(ti.simt, name, mode, simt_order=order, opt_level=0))


def test_an_order_that_there_is_not() -> None:
    """Named, with those that there are."""
    with pytest.raises(ValueError, match=r"simt_order.*ascending, descending.*'sideways'"):
        ti.init(arch=ti.simt, simt_order="sideways")
