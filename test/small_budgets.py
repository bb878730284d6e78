"""A plugin, `-p small_budgets`: every tape keeps a tenth of what it would, or the least that it
can, wherever it may be within a budget: `PYTHONPATH=test python -m pytest -p small_budgets
test/ad/tape/test_versions.py`. Tests of what is kept, and of what has no budget, fail."""

from __future__ import annotations

from typing import Any

import pytest

import mlirad as ti

PART = 0.1


@pytest.fixture(autouse=True)
def small_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    begin, enter = ti.ad.Tape.__init__, ti.ad.Tape.__enter__

    def begin_within(self: Any, *args: Any, **keywords: Any) -> None:
        begin(self, *args, **{"memory": PART, **keywords})

    def enter_within(self: Any) -> Any:
        if not self.order.repeats_steps:  # second derivatives have no budget
            self.memory = None
        return enter(self)

    monkeypatch.setattr(ti.ad.Tape, "__init__", begin_within)
    monkeypatch.setattr(ti.ad.Tape, "__enter__", enter_within)
