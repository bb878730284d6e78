"""Every derivative waits to be cleared, however small, and holds NaNs meanwhile: what looks at one
that was not cleared finds them. A plugin of pytest: `PYTHONPATH=test python -m pytest -p
waiting_memory test/ad`; what tests import of it is `wait_always`.
"""

from __future__ import annotations

import numpy as np
import pytest

from mlirad.passes.memory import insert_first_updates, mark_touched_rows
from mlirad.runtime.memory import host_elements
from mlirad.runtime.memory.host_elements import HostElements
from mlirad.runtime.memory.waiting import Clearing

_clear = HostElements.clear


def _clear_later(self: HostElements, clearing: Clearing) -> None:
    _clear(self, clearing)
    if self._waiting is not None:
        self._memory[...] = np.nan


def wait_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, until the test ends."""
    monkeypatch.setattr(HostElements, "clear", _clear_later)
    for module in (insert_first_updates, mark_touched_rows, host_elements):
        monkeypatch.setattr(module, "LEAST", 1)
    monkeypatch.setattr(mark_touched_rows, "LEAST_ROW", 1)


@pytest.fixture(autouse=True)
def waiting_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """In every test."""
    wait_always(monkeypatch)
