"""Random functions in textual MLIR, against upstream's own lowering and central differences
(`python -m programs.foreign_functions`)."""

from __future__ import annotations

import pytest
from programs.foreign_functions import KINDS
from programs.foreign_functions.check import outcome

from mlirad.pipeline.runner import VERIFY

QUICK, EACH = 3, 12
COUNTS = {"loops": 180, "mixed": 96, "tensors": 108}  # of all that the generators make
PARTS = [
    pytest.param(kind, part, marks=[pytest.mark.slow] if part >= QUICK else [])
    for kind, count in COUNTS.items()
    for part in range(count // EACH)
]
UNCLEAR = 0.05  # of the functions, at most; as many may be refused


@pytest.mark.rotating
@pytest.mark.parametrize(("kind", "part"), PARTS)
def test_random_foreign_functions(kind: str, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VERIFY, raising=False)  # as users compile
    doubtful = 0
    for number in range(part * EACH, (part + 1) * EACH):
        function = KINDS[kind](number)
        result = outcome(function, number)
        assert result.kind not in ("wrong", "invalid"), f"{number}: {result}\n{function.text}"
        doubtful += result.kind in ("refused", "unclear")
    assert doubtful <= max(2, EACH * UNCLEAR)
