"""Every array that a loop writes from one end to the other is written past the caches, however
small it is. A plugin of pytest: `PYTHONPATH=test python -m pytest -p write_buffers test/ad`; what
tests import of it is `buffer_all`.
"""

from __future__ import annotations

import pytest

from mlirad.passes.cpu.insert_write_buffers import written_arrays
from mlirad.pipeline.stages import cpu

_ALL = cpu.WRITE_BUFFERS.replace("{{width={width}}}", "{{width={width} least=1}}")
assert _ALL != cpu.WRITE_BUFFERS


def buffer_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, until the test ends."""
    monkeypatch.setattr(written_arrays, "SHORTEST", 1)
    monkeypatch.setattr(cpu, "WRITE_BUFFERS", _ALL)


@pytest.fixture(autouse=True)
def write_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """In every test."""
    buffer_all(monkeypatch)
