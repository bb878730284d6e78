"""A decision comes out the same in the primal, the reverse and the tangents of a launch, also with
`fast_math`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from programs.load import load
from programs.tied import FIELDS, SIZE, TiedWriter, fill

import mlirad as ti
from mlirad.pipeline.stages import cpu, gpu

PROGRAMS = 10
RECORDED = 8


@pytest.fixture(params=["f32", "f64"])
def dtype(request: pytest.FixtureRequest) -> Iterator[Any]:
    yield getattr(ti, request.param)
    ti.reset()


def write(
    seed: int, folder: Path, dtype: Any, *, fast_math: bool = True, longest_sum: int = 3
) -> ModuleType:
    """A tied program, in a program of its own."""
    ti.init(default_fp=dtype, fast_math=fast_math, cpu_max_num_threads=1)
    return load(TiedWriter(Random(seed), longest_sum).program(), folder)


def gradients(program: ModuleType, seed: int) -> dict[str, np.ndarray[Any, Any]]:
    """What a tape makes of it, and what it leaves in the primal fields."""
    fill(program, seed)
    with ti.ad.Tape(program.loss):
        program.run()
    found = {f"{name}.grad": getattr(program, name).grad.to_numpy() for name in FIELDS[:-1]}
    return found | {name: getattr(program, name).to_numpy() for name in FIELDS}


def tangent(program: ModuleType, seed: int) -> float:
    """The derivative of the loss along a direction of x and y, by forward mode."""
    fill(program, seed)
    directions = [np.cos(np.arange(SIZE)), np.sin(np.arange(SIZE) + 0.5)]
    with ti.ad.FwdMode(program.loss, [program.x, program.y], [d[None] for d in directions]) as mode:
        program.run()
    return float(mode.tangents(program.loss).reshape(-1)[0])


def rounding(program: ModuleType, seed: int, found: dict[str, np.ndarray[Any, Any]]) -> float:
    """How far rounding alone moves a gradient. That of a multiple of the loss is the multiple, made
    by the same decisions; what large terms that cancel leave of it differs."""
    multiple = ti.field(float, (), needs_grad=True)

    @ti.kernel
    def scale(by: float):
        multiple[None] += by * program.loss[None]

    moved = 0.0
    for by in (1 / 3, 0.7, 1.3):
        fill(program, seed)
        multiple.fill(0)
        with ti.ad.Tape(multiple):
            program.run()
            scale(by)
        for name in FIELDS[:-1]:
            change = getattr(program, name).grad.to_numpy() / by - found[f"{name}.grad"]
            moved = max(moved, float(np.abs(change).max()))
    return moved


def compare(seed: int, folder: Path, dtype: Any) -> None:
    """Gradients with and without `fast_math`, forward mode beside reverse."""
    tolerance = 2e-4 if dtype is ti.f32 else 1e-11
    program = write(seed, folder, dtype, fast_math=False)
    plain = gradients(program, seed)
    moved = rounding(program, seed, plain)
    program = write(seed, folder, dtype)
    found = gradients(program, seed)
    for name, expected in plain.items():
        # both may have moved
        allowed = tolerance * (1.0 + np.abs(expected).max()) + 2 * moved * name.endswith("grad")
        np.testing.assert_allclose(
            found[name], expected, rtol=0, atol=allowed, err_msg=f"{seed}: {name}"
        )
    along = sum(
        (found[f"{name}.grad"] * direction).sum()
        for name, direction in (
            ("x", np.cos(np.arange(SIZE))),
            ("y", np.sin(np.arange(SIZE) + 0.5)),
        )
    )
    sizes = 1.0 + sum(np.abs(found[f"{name}.grad"]).sum() for name in "xy")
    assert abs(tangent(program, seed) - along) <= tolerance * sizes + SIZE * moved, seed


@pytest.mark.rotating
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_ties_of_random_programs(seed: int, tmp_path: Path, dtype: Any) -> None:
    compare(seed, tmp_path, dtype)


def decisions(capfd: pytest.CaptureFixture[str]) -> set[str]:
    """What `insert-decision-prints` wrote since it was last asked."""
    import ctypes

    ti.sync()
    ctypes.CDLL(None).fflush(None)
    return {line for line in capfd.readouterr().out.splitlines() if line.startswith("decision ")}


@pytest.mark.parametrize("seed", range(1000, 1000 + RECORDED))
def test_decisions_of_all_modes(
    seed: int,
    tmp_path: Path,
    dtype: Any,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A decision has the same operands, to the bit, in every mode that makes it."""
    for stages in (cpu, gpu):
        monkeypatch.setattr(stages, "_LOWER", f"insert-decision-prints,{stages._LOWER}")
    program = write(seed, tmp_path, dtype, longest_sum=20)
    fill(program, seed)
    program.run()
    primal = decisions(capfd)
    assert primal
    fill(program, seed)
    with ti.ad.Tape(program.loss):
        program.run()
        assert decisions(capfd) == primal
    # of the reverse, which makes those that a derivative depends on
    assert decisions(capfd) <= primal
    tangent(program, seed)
    assert decisions(capfd) == primal
    fill(program, seed)
    ti.ad.hvp(program.run, program.loss, program.x, np.ones(SIZE))
    assert decisions(capfd) == primal


def test_springs_at_rest(dtype: Any) -> None:
    """`x / x` is 1 where it is compared, where it is stored and where it is computed again."""
    count = 1000
    ti.init(default_fp=dtype)
    x, k, q = (ti.field(float, count, needs_grad=True) for _ in range(3))
    rest, loss = ti.field(float, count), ti.field(float, (), needs_grad=True)

    @ti.kernel
    def within():
        for i in x:
            r = x[i] / rest[i]
            if r >= 1.0:
                loss[None] += k[i] * r

    @ti.kernel
    def store():
        for i in x:
            q[i] = x[i] / rest[i]

    @ti.kernel
    def compare_stored():
        for i in x:
            if q[i] >= 1.0:
                loss[None] += k[i] * q[i]

    lengths = np.random.default_rng(0).uniform(0.1, 3, count)
    for run in (within, lambda: (store(), compare_stored())):
        for field in (x, rest):
            field.from_numpy(lengths)
        k.fill(1.0)
        with ti.ad.Tape(loss):
            run()
        np.testing.assert_array_equal(k.grad.to_numpy(), np.ones(count))
        np.testing.assert_allclose(x.grad.to_numpy(), 1 / rest.to_numpy(), rtol=1e-6)
        loss.fill(0)
        with ti.ad.FwdMode(loss, x, seed=[1.0] * count):
            run()
        np.testing.assert_allclose(loss.dual[None], (1 / lengths).sum(), rtol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_sum_that_decides(dtype: Any, threads: int) -> None:
    """Elements above their own mean, which the kernel adds up before."""
    count = 40_000
    ti.init(default_fp=dtype, cpu_max_num_threads=threads)
    x, w, loss = (
        ti.field(float, count, needs_grad=True),
        ti.field(float, count, needs_grad=True),
        ti.field(float, (), needs_grad=True),
    )

    @ti.kernel
    def above():
        total = 0.0
        for i in x:
            total += x[i] * x[i]
        for i in x:
            if x[i] * x[i] * count >= total:
                loss[None] += w[i] * x[i]

    x.fill(0.7)  # all are equal: which of them are above is a matter of how the sum was rounded
    w.fill(1.0)
    with ti.ad.Tape(loss):
        above()
    chosen = w.grad.to_numpy() != 0
    assert chosen.sum() * 0.7 == pytest.approx(loss[None], rel=1e-3)
    np.testing.assert_array_equal(x.grad.to_numpy() != 0, chosen)


def test_the_iteration_that_supplied_a_maximum(dtype: Any) -> None:
    """Found by comparing with what is in memory, so what is computed again must be what was
    stored."""
    count = 1000
    ti.init(default_fp=dtype)
    x, y, loss = (ti.field(float, shape, needs_grad=True) for shape in (count, count, ()))

    @ti.kernel
    def highest():
        for i in x:
            ti.atomic_max(loss[None], x[i] * y[i] - x[i] / y[i])

    values = np.random.default_rng(1).uniform(0.5, 1.5, (2, count))
    for trial in range(50):
        x.from_numpy(np.roll(values[0], trial))
        y.from_numpy(np.roll(values[1], 3 * trial))
        loss.fill(-100.0)
        with ti.ad.Tape(loss):
            highest()
        assert (x.grad.to_numpy() != 0).sum() == 1
