"""Random programs whose reverses load what their launches stored, against the same without."""

from __future__ import annotations

import warnings

import pytest
from programs.stored_values import check

BLOCKS, PROGRAMS = 4, 10


@pytest.mark.rotating
@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_stored_values(block: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # programs lose derivatives
        outcomes = {check(PROGRAMS * block + k) for k in range(PROGRAMS)}
    assert "right, loaded" in outcomes
