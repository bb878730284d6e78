"""Iterations that run through rows, by blocks of threads: what the CPU computes, they compute, for
every layout, type, mode, and order of threads, with equal elements, and with elements that are no
numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs.row_loops import ORDERS, check, machine_with_blocks

import mlirad as ti

ROWS, COLUMNS = 6, 150


def softmax(x: Any, y: Any, r: Any) -> Callable[[], None]:
    @ti.kernel
    def run() -> None:
        for i in range(ROWS):
            most = x[i, 0]
            for j in range(COLUMNS):
                most = ti.max(most, x[i, j])
            total = x[i, 0] * 0.0
            for j in range(COLUMNS):
                total += ti.exp(x[i, j] - most)
            r[i] = total
            for j in range(COLUMNS):
                y[i, j] = ti.exp(x[i, j] - most) / r[i]

    return run


def layer_norm(x: Any, y: Any, r: Any) -> Callable[[], None]:
    @ti.kernel
    def run() -> None:
        for i in range(ROWS):
            mean = x[i, 0] * 0.0
            for j in range(COLUMNS):
                mean += x[i, j] / COLUMNS
            variance = x[i, 0] * 0.0
            for j in range(COLUMNS):
                variance += (x[i, j] - mean) ** 2 / COLUMNS
            scale = 1.0 / ti.sqrt(variance + 1e-5)
            for j in range(1, COLUMNS, 2):
                y[i, j] = (x[i, j] - mean) * scale
            r[i] += scale

    return run


def nearest(x: Any, y: Any, r: Any) -> Callable[[], None]:
    @ti.kernel
    def run() -> None:
        for i in range(ROWS):
            least, at = x[i, 1], 1
            for j in range(COLUMNS):
                if x[i, j] < least:
                    least = x[i, j]
                    at = j
            last, last_at = x[i, 1], 1
            for j in range(COLUMNS):
                if x[i, j] <= last:
                    last = x[i, j]
                    last_at = j
            r[i] = least * 3.0 + x[i, at] + 2.0 * last
            farther = x[i, last_at] * last_at
            for j in range(2, COLUMNS):
                y[i, j] = x[i, j] * farther

    return run


def in_place(x: Any, y: Any, r: Any) -> Callable[[], None]:
    @ti.kernel
    def run() -> None:
        for i in range(ROWS):
            total = x[i, 0] * 0.0
            for j in range(COLUMNS):
                y[i, j] = ti.sin(x[i, j])
                total += y[i, j]
            y[i, COLUMNS - 1] = total
            for j in range(COLUMNS):
                r[i] += x[i, j] * y[i, COLUMNS - 1]

    return run


PROGRAMS = {p.__name__: p for p in (softmax, layer_norm, nearest, in_place)}
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda dtype: ti.field(dtype, (ROWS, COLUMNS), needs_grad=True, needs_dual=True),
    "columns": lambda dtype: ti.field(
        dtype, (ROWS, COLUMNS), order="ji", needs_grad=True, needs_dual=True
    ),
    "blocks": lambda dtype: _in_blocks(dtype),
    "array": lambda dtype: ti.ndarray(dtype, (ROWS, COLUMNS), needs_grad=True),
}


def _in_blocks(dtype: Any) -> Any:
    x = ti.field(dtype, needs_grad=True, needs_dual=True)
    blocks = ti.root.dense(ti.ij, (2, 3)).dense(ti.ij, (3, 50))
    blocks.place(x, x.grad, x.dual)
    return x


def _values(kind: str, dtype: Any) -> np.ndarray:
    values = np.random.default_rng(4).normal(0, 1, (ROWS, COLUMNS))
    if kind != "random":
        values = np.round(values)
    if kind == "no number":
        values[::2, 70] = np.nan
    return values.astype(np.float32 if dtype == ti.f32 else np.float64)


def _left_by(
    arch: Any, name: str, layout: str, dtype: Any, kind: str, mode: str
) -> tuple[list[np.ndarray], bool]:
    """What a program leaves, and whether blocks of threads share its rows."""
    ti.init(arch=arch, default_fp=dtype)
    x, y = (LAYOUTS[layout](dtype) for _ in range(2))
    r = ti.field(dtype, ROWS, needs_grad=True, needs_dual=True)
    loss = ti.field(dtype, (), needs_grad=True, needs_dual=True)
    x.from_numpy(_values(kind, dtype))
    run = PROGRAMS[name](x, y, r)

    @ti.kernel
    def measure() -> None:
        for i, j in ti.ndrange(ROWS, COLUMNS):
            loss[None] += y[i, j] * ((i + 2 * j) % 7)
        for i in range(ROWS):
            loss[None] += r[i] * (i + 1)

    if mode == "reverse":
        with ti.ad.Tape(loss):
            run()
            measure()
        left = [x.grad]
    else:
        seed = np.random.default_rng(5).normal(0, 1, ROWS * COLUMNS)
        with ti.ad.FwdMode(loss=loss, param=x, seed=seed.tolist()):
            run()
            measure()
        left = [loss.dual]
    text = str(run.ir(stage="memref", mode=mode))  # type: ignore[attr-defined]
    return [one.to_numpy() for one in (*left, y, r, loss)], "gpu.all_reduce" in text


CASES = [
    *(
        (name, "rows", ti.f32, kind, mode)
        for name in PROGRAMS
        for kind in ("random", "no number")
        for mode in ("reverse", "forward")
    ),
    *((name, layout, ti.f64, "ties", "reverse") for name in PROGRAMS for layout in LAYOUTS),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_blocks_share_rows(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIRAD_SIMT_ORDER", ORDERS[CASES.index(case) % 3])
    expected, _ = _left_by(ti.x64, *case)
    found, is_shared = _left_by(machine_with_blocks(), *case)
    tolerance = 1e-4 if case[2] == ti.f32 else 1e-11
    for value, wanted in zip(found, expected):
        scale = float(np.abs(np.nan_to_num(wanted)).max(initial=1.0))
        np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance * scale)
    assert is_shared


def _normalized(arch: Any, rows: int, columns: int) -> tuple[list[np.ndarray], str]:
    """Rows of arrays, divided by their lengths: results and gradients, and the code."""
    ti.init(arch=arch)
    array = ti.types.ndarray(dtype=ti.f32, ndim=2)

    @ti.kernel
    def normalize(x: array, y: array, r: ti.types.ndarray(dtype=ti.f32, ndim=1)) -> None:
        for i in range(x.shape[0]):
            total, mixed = 0.0, 0.0
            for j in range(x.shape[1]):
                total += x[i, j] * x[i, j]
                mixed += x[i, j] * y[i, j]
            r[i] = mixed
            for j in range(x.shape[1]):
                y[i, j] = x[i, j] / ti.sqrt(total + 1.0)

    @ti.kernel
    def measure(y: array, r: ti.types.ndarray(), loss: ti.types.ndarray()) -> None:
        for i, j in y:
            loss[0] += y[i, j] * ((i + 3 * j) % 5)
        for i in r:
            loss[0] += r[i] * i

    shapes = [(rows, columns), (rows, columns), (rows,), (1,)]
    x, y, r, loss = (ti.ndarray(ti.f32, shape, needs_grad=True) for shape in shapes)
    random = np.random.default_rng(9)
    for one in (x, y):
        one.from_numpy(random.normal(0, 1, (rows, columns)).astype(np.float32))
    with ti.ad.Tape(loss):
        normalize(x, y, r)
        measure(y, r, loss)
    left = [one.to_numpy() for one in (y, r, x.grad, loss)]
    return left, str(normalize.ir(x, y, r, stage="memref", mode="reverse"))


@pytest.mark.parametrize("shape", [(5, 100), (70, 7), (1, 300), (3, 64)], ids=str)
def test_extents_that_the_launch_knows(shape: tuple[int, int]) -> None:
    """One code has blocks for long rows, and threads for short ones."""
    expected, _ = _normalized(ti.x64, *shape)
    found, code = _normalized(machine_with_blocks(), *shape)
    for value, wanted in zip(found, expected):
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-4)
    assert code.count("gpu.launch ") == 2
    assert "gpu.all_reduce" in code


@pytest.mark.rotating
@pytest.mark.parametrize("block", range(4))
def test_random_programs(block: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # programs lose derivatives
        outcomes = {check(10 * block + k) for k in range(10)}
    assert "right, shared" in outcomes
