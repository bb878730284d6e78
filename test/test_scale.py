"""`benchmarks.scale` at its smallest sizes, and the exponents that it finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.scale.__main__ import row, warnings
from benchmarks.scale.draw import draw
from benchmarks.scale.fit import exponents
from benchmarks.scale.growths import GROWTHS, Growth
from benchmarks.scale.large import run_large
from benchmarks.scale.sample import Sample, measured


def _samples(exponent: float) -> list[Sample]:
    sizes = (1_000, 4_000, 16_000, 64_000)
    times = [1e-9 * size**exponent for size in sizes]
    return [
        Sample(size, size, time, 1e-6, time, time, 8 * size, 0) for size, time in zip(sizes, times)
    ]


def test_exponents_of_powers() -> None:
    counts = [10, 40, 160, 640]
    found = exponents(counts, [count**1.5 for count in counts])
    assert found.upper == pytest.approx(1.5) == found.largest
    found = exponents(counts, [1.0, 1.0, 16.0, 64.0])
    assert (found.largest, found.at) == (pytest.approx(2.0), 1)
    assert found.upper == pytest.approx(1.5)


def test_exponents_above_those_of_the_algorithm_are_told() -> None:
    growth = GROWTHS["saxpy_sum by elements"]
    assert list(warnings(growth, _samples(1.1))) == []
    lines = list(warnings(growth, _samples(1.4)))
    assert len(lines) == 6 and "1.40" in lines[0]
    assert "from 1,000 elements (0.0 MB) to 4,000 (0.0 MB)" in lines[1]
    assert row(growth, _samples(1.4)).startswith(
        "| saxpy_sum | elements | 1,000 | 64,000 | 1 | 1.40 (1.40) | 1.4"
    )


def test_a_figure_has_a_line_for_each_growth(tmp_path: Path) -> None:
    growths: list[Growth] = [GROWTHS["saxpy_sum by elements"], GROWTHS["lbm by steps"]]
    draw({growth: _samples(1.0) for growth in growths}, tmp_path / "scale.svg")
    assert "exponent of the algorithm" in (tmp_path / "scale.svg").read_text()


@pytest.mark.parametrize("name", ["diffusion by steps", "chain, root by steps"])
def test_a_sample_has_the_bytes_of_its_tape(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.scale.sample.SECONDS", 0.0)
    growth = GROWTHS[name]
    sample = measured(growth, 10)
    assert sample.count == 10 and sample.kept > 0 and sample.bytes >= sample.kept
    assert min(sample.primal, sample.clear, sample.forward, sample.reverse) > 0
    assert (sample.again > 0) == bool(growth.plan)


def test_a_large_liquid_has_the_same_gradient_within_a_limit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.scale.large.STREAM", 1 << 12)
    results = []
    for memory, plan in (("1GB", "memory"), ("200kB", "memory"), ("300kB", "checkpointed")):
        run_large(500, 6, memory, plan, 1)
        *lines, last = capsys.readouterr().out.splitlines()
        results.append((last, next(line for line in lines if line.startswith("all:"))))
    gradients, times = zip(*results)
    assert len(set(gradients)) == 1 and "norm of the gradient" in gradients[0]
    assert times[0].endswith("0 of 6 steps again")
    assert not times[1].endswith("0 of 6 steps again")
