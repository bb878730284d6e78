"""Every derivative waits to be cleared, however small, and whatever an `hvp` overwrote to be put
back; floats hold NaNs meanwhile: what looks at one too early finds them. A plugin of pytest:
`PYTHONPATH=test python -m pytest -p waiting_memory test/ad`; what tests import of it is
`wait_always`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from mlirad.ir.memory import waiting
from mlirad.passes.memory import insert_first_updates, mark_set_boxes
from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.host import host_waiting
from mlirad.runtime.memory.host.host_waiting import HostWaiting
from mlirad.runtime.memory.values import part
from mlirad.runtime.memory.waiting import Clearing, KeptValues

_clear, _put_back = HostWaiting.clear, HostWaiting.put_back
_clear_box = HostWaiting.clear_later


def _clear_later(self: HostWaiting, clearing: Clearing) -> bool:
    waits = _clear(self, clearing)
    if waits:
        self._memory[...] = np.nan
    return waits


def _clear_box_later(self: HostWaiting, box: Box, clearing: Clearing) -> bool:
    waits = _clear_box(self, box, clearing)
    if waits:
        part(self._memory, box)[...] = np.nan
    return waits


def _put_back_later(
    self: HostWaiting, copies: Sequence[tuple[Box, KeptValues]], clearing: Clearing
) -> None:
    _put_back(self, copies, clearing)
    if self._copies is not None and self._memory.dtype.kind == "f":
        for box, _ in self._copies:
            part(self._memory, box)[...] = np.nan


def wait_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, until the test ends."""
    monkeypatch.setattr(HostWaiting, "clear", _clear_later)
    monkeypatch.setattr(HostWaiting, "clear_later", _clear_box_later)
    monkeypatch.setattr(HostWaiting, "put_back", _put_back_later)
    for module in (insert_first_updates, mark_set_boxes, host_waiting, waiting):
        monkeypatch.setattr(module, "LEAST", 1)
    for rows in ("LEAST_ROW", "LEAST_KEPT_ROW"):
        monkeypatch.setattr(waiting, rows, 1)


@pytest.fixture(autouse=True)
def waiting_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """In every test."""
    wait_always(monkeypatch)
