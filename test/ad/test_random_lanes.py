"""Random programs with iterations as lanes against the same without."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from programs.in_lanes import check
from programs.plain import Writer

from mlirad.pipeline.runner import VERIFY

COUNT, WIDTHS = 24, (4, 4, 8)  # 6 iterations: 4 and 2 of them, or 6 of 8

pytestmark = pytest.mark.cpu_code("lanes of its vectors")


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_lanes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.delenv(VERIFY, raising=False)  # as users compile
    source = Writer(Random(seed)).program()
    print(source)  # which is shown where it fails
    check(source, tmp_path, WIDTHS[seed % len(WIDTHS)])
