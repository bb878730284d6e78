"""Ordinary programs, those of the benchmarks and the examples, run no check for iterations that
meet."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import mlirad as ti
from benchmarks.workload import GRADIENT_SIZES
from mlirad.examples import gravity, throw
from mlirad.pipeline.mode import Mode
from mlirad.runtime.executor.executor import Code
from mlirad.runtime.kernels.codes import Codes


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Code | None]]:
    """What was found for the kernels of which derivatives were made."""
    found: dict[str, Code | None] = {}
    original = Codes.collision_check

    def collision_check(codes: Codes, mode: Mode) -> Code | None:
        check = found[codes.stages.kernel.name] = original(codes, mode)
        return check

    monkeypatch.setattr(Codes, "collision_check", collision_check)
    yield found
    ti.reset()


@pytest.mark.parametrize("name", GRADIENT_SIZES)
def test_benchmarks(name: str, asked: dict[str, Code | None]) -> None:
    ti.init(cpu_max_num_threads=2, opt_level=0)
    workload = importlib.import_module(f"benchmarks.workloads.{name}").build(ti, 8)
    with ti.ad.Tape(workload.loss):
        workload.forward()
    assert asked and set(asked.values()) == {None}, asked


def test_throw(asked: dict[str, Code | None]) -> None:
    assert (
        throw.main(
            ["--particles", "60", "--steps", "256", "--iterations", "1", "--memory", "500kB"]
        )
        == 0
    )
    assert asked and set(asked.values()) == {None}, asked


def test_gravity(asked: dict[str, Code | None], tmp_path: Path) -> None:
    assert (
        gravity.main(["--bodies", "8", "--steps", "6", "--output", str(tmp_path / "orbits.png")])
        == 0
    )
    assert asked and set(asked.values()) == {None}, asked
