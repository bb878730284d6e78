"""Random programs in which features meet, against a reference in plain Python on dual numbers
(`python -m programs.meeting`). A failing program is printed."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs.meeting.check import outcome
from programs.meeting.host import Program

from mlirad.pipeline.runner import VERIFY
from mlirad.runtime.memory.sparse import touched

PARTS, EACH = 15, 20
REFUSED = 0.05  # of the programs, at most


@pytest.mark.rotating
@pytest.mark.parametrize("part", range(PARTS))
def test_random_meetings(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VERIFY, raising=False)  # as users compile
    for name in ("WHOLE", "PAGE"):  # which the check of a program sets
        monkeypatch.setattr(touched, name, getattr(touched, name))
    refused = 0
    for number in range(part * EACH, (part + 1) * EACH):
        source = Program(number).text
        result = outcome(source, tmp_path, number)
        assert result.kind not in ("wrong", "invalid"), f"program {number}: {result}\n{source}"
        refused += result.kind in ("refused", "unclear")
    assert refused <= max(2, EACH * REFUSED)
