"""A plugin for pytest: what a test compiles, it compiles for a GPU too, and its assembler has to
take it.

    PYTHONPATH=test python -m pytest -p every_ptx test/ad

Modes are those that tests compile. The environment variable PTX_CHIPS names the chips (sm_90). Of
AMD's (gfx942) LLVM is the assembler, and what is refused by name is counted as taken.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

import pytest

from benchmarks.amdgpu_table import kernels_of
from benchmarks.assembler import assemble
from mlirad.errors import TaichiCompilationError
from mlirad.pipeline.mode import Mode
from mlirad.runtime.kernels.codes import Codes

CHIPS = os.environ.get("PTX_CHIPS", "sm_90").split(",")

REFUSED = ("'__ocml_", "'print' in a kernel for an AMD GPU")  # by name, for AMD


@cache
def assemble_once(text: str) -> int:
    """How many kernels a text has. Raises RuntimeError where ptxas refuses it."""
    return len(assemble(text, disassemble=False))


def _assemble_for(codes: Codes, mode: Mode, chip: str) -> None:
    if not chip.startswith("gfx"):
        assemble_once(codes.stages.ptx(mode, chip))
        return
    try:
        assert kernels_of(codes.stages.amdgpu(mode, chip))
    except TaichiCompilationError as error:
        if not any(reason in str(error) for reason in REFUSED):
            raise


@pytest.fixture(autouse=True)
def every_ptx(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Assemble what is compiled, in the state of the program in which it is."""
    refused: list[str] = []
    original = Codes._compile

    def compile_both(codes: Codes, mode: Mode) -> object:
        found = original(codes, mode)
        for chip in CHIPS:
            try:
                _assemble_for(codes, mode, chip)
            except Exception as error:
                refused.append(f"{codes.stages.kernel.name}, {mode}: {error}")
        return found

    monkeypatch.setattr(Codes, "_compile", compile_both)
    yield
    assert not refused, "\n".join(refused)
