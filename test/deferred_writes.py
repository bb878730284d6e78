"""Every write that may be deferred is, however small the array, and floats hold NaNs meanwhile:
what looks at one too early finds them. A plugin of pytest:
`PYTHONPATH=test python -m pytest -p deferred_writes test/ad`; what tests import of it is
`defer_all`.
"""

from __future__ import annotations

import numpy as np
import pytest

from mlirad.ir.memory import large_arrays
from mlirad.passes.memory import defer_zeros, insert_first_updates, mark_touched_rows
from mlirad.runtime.boxes import KnownBox
from mlirad.runtime.memory.deferred_writes import Backlog, Copies, DeferredWrites, later_writes
from mlirad.runtime.memory.deferred_writes.pending import Pending
from mlirad.runtime.memory.device.deferred_zeros import DeferredZeros
from mlirad.runtime.memory.values import part

_clear, _put_back = DeferredWrites.clear, DeferredWrites._put_back
_leave = DeferredWrites.defer_zeros
_clear_on_device = DeferredZeros.clear


def _defer_zeros(self: DeferredWrites, backlog: Backlog) -> bool:
    is_deferred = _clear(self, backlog)
    if is_deferred:
        self._memory[...] = np.nan
    return is_deferred


def _leave_zeros(
    self: DeferredWrites, backlog: Backlog, box: KnownBox, expected: Pending, after: Pending | None
) -> None:
    _leave(self, backlog, box, expected, after)
    if self.pending is after:
        part(self._memory, box)[...] = np.nan


def _defer_on_device(self: DeferredZeros, backlog: Backlog) -> bool:
    is_deferred = _clear_on_device(self, backlog)
    if is_deferred:
        driver, place = self._transfers.driver, self._place
        driver.fill(place.address, 0xFF, place.nbytes)  # of floats, NaNs
    return is_deferred


def _defer_copies(self: DeferredWrites, copies: Copies) -> None:
    _put_back(self, copies)
    if self._memory.dtype.kind == "f":
        for box in copies.values:
            part(self._memory, box)[...] = np.nan


def defer_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, until the test ends."""
    monkeypatch.setattr(DeferredWrites, "clear", _defer_zeros)
    monkeypatch.setattr(DeferredWrites, "defer_zeros", _leave_zeros)
    monkeypatch.setattr(DeferredWrites, "_put_back", _defer_copies)
    monkeypatch.setattr(DeferredZeros, "clear", _defer_on_device)
    modules = defer_zeros, insert_first_updates, mark_touched_rows, later_writes, large_arrays
    for module in modules:
        monkeypatch.setattr(module, "LEAST", 1)
    monkeypatch.setattr(large_arrays, "LEAST_ROW", 1)
    monkeypatch.setattr(defer_zeros, "LEAST_BOX", 1)


@pytest.fixture(autouse=True)
def deferred_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """In every test."""
    defer_all(monkeypatch)
