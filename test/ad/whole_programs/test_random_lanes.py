"""Random programs with iterations as lanes against the same without."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs.in_lanes import check, written

from mlirad.analysis.lanes import cost
from mlirad.pipeline.runner import VERIFY

COUNT = 8  # of 6, 11 and 21 iterations, with 4, 8 and 16 lanes each

pytestmark = pytest.mark.cpu_code("lanes of its vectors")


@pytest.mark.rotating
@pytest.mark.parametrize("seed", range(COUNT))
def test_random_lanes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.delenv(VERIFY, raising=False)
    exact = seed % 2 == 0
    if seed % 4 < 2:
        monkeypatch.setattr(cost, "LONG", 0)  # loops are there once, with masks
    source = written(seed, exact=exact)
    print(source)  # which is shown where it fails
    check(source, tmp_path, exact=exact)


@pytest.mark.parametrize(("seed", "width"), [(3000025, 16), (3000057, 4)])
def test_views_in_pieces(tmp_path: Path, seed: int, width: int) -> None:
    """Wrong while pieces of code were told that arrays of which they had views have no other
    pointer."""
    check(written(seed), tmp_path, opt_level=3, widths=[width])
