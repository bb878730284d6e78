"""A plugin for pytest: what a test compiles, it compiles for a GPU too, and NVIDIA's assembler has
to take it.

    PYTHONPATH=test python -m pytest -p every_ptx test/ad

Modes are those that tests compile. The environment variable PTX_CHIPS names the chips (sm_90).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

import pytest

from benchmarks.assembler import assemble
from mlirad.pipeline.mode import Mode
from mlirad.runtime.kernels.codes import Codes

CHIPS = os.environ.get("PTX_CHIPS", "sm_90").split(",")


@cache
def assemble_once(text: str) -> int:
    """How many kernels a text has. Raises RuntimeError where ptxas refuses it."""
    return len(assemble(text, disassemble=False))


@pytest.fixture(autouse=True)
def every_ptx(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Assemble what is compiled, in the state of the program in which it is."""
    refused: list[str] = []
    original = Codes._compile

    def compile_both(codes: Codes, mode: Mode) -> object:
        found = original(codes, mode)
        for chip in CHIPS:
            try:
                assemble_once(codes.stages.ptx(mode, chip))
            except Exception as error:
                refused.append(f"{codes.stages.kernel.name}, {mode}: {error}")
        return found

    monkeypatch.setattr(Codes, "_compile", compile_both)
    yield
    assert not refused, "\n".join(refused)
