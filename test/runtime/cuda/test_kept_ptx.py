"""PTX in the cache: what one program made, the next one loads, for the same chip and by the same
LLVM only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runtime.cuda.machine import stub_the_driver

import mlirad as ti
from mlirad.pipeline import ptx
from mlirad.runtime.cuda import kept_ptx
from mlirad.runtime.executors import EXECUTORS


@pytest.fixture
def chips(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The chips that PTX of kernels was made for, memory's own services left out."""
    monkeypatch.setitem(EXECUTORS, "cuda", EXECUTORS["cuda"])
    made: list[str] = []
    make = ptx.to_ptx

    def counted(module: Any, chip: str) -> str:
        made.extend([chip] if "@energy" in str(module) else [])
        return make(module, chip)

    monkeypatch.setattr("mlirad.pipeline.ptx.to_ptx", counted)
    yield made
    ti.reset()


def program(folder: Path, capability: tuple[int, int] = (9, 0), factor: float = 3.0) -> None:
    """One with a gradient, whose numbers are right."""
    stub = stub_the_driver(capability)
    ti.init(arch=ti.cuda, default_fp=ti.f64, offline_cache=True, offline_cache_file_path=folder)
    x, loss = ti.field(ti.f64, 10, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def energy():
        for i in x:
            loss[None] += factor * x[i] * x[i]

    for i in range(10):
        x[i] = i
    with ti.ad.Tape(loss):
        energy()
    assert loss[None] == factor * sum(i * i for i in range(10))
    assert [x.grad[i] for i in range(10)] == [2 * factor * i for i in range(10)]
    assert stub.mistakes == []


def test_the_next_program_finds_it(chips: list[str], tmp_path: Path) -> None:
    """And makes none; one whose kernel is another makes its own."""
    program(tmp_path)
    made = len(chips)
    assert made == 2 and {*chips} == {"sm_90"}
    program(tmp_path)
    assert len(chips) == made
    program(tmp_path, factor=2.0)
    assert len(chips) > made


def test_another_chip_has_its_own(chips: list[str], tmp_path: Path) -> None:
    """What is kept is for the chip that it was made for last."""
    program(tmp_path)
    made = len(chips)
    program(tmp_path, (8, 0))
    assert chips[made:] == ["sm_80"] * made
    program(tmp_path, (8, 0))
    assert len(chips) == 2 * made


def test_another_compiler_makes_it_anew(
    chips: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another llvmlite, or another libdevice."""
    program(tmp_path)
    made = len(chips)
    monkeypatch.setattr(kept_ptx, "_makers", lambda: "llvmlite 0.0")
    program(tmp_path)
    assert len(chips) == 2 * made


def test_nothing_is_kept_without_the_cache(chips: list[str], tmp_path: Path) -> None:
    """Where the folder cannot be used, programs run."""
    (tmp_path / "file").write_text("")
    for _ in range(2):
        with pytest.warns(UserWarning, match="is not used"):
            program(tmp_path / "file" / "folder")
    assert len(chips) == 4
