"""Random kernels over all scalar types, whose iterations run as lanes, against the same one by one:
without `fast_math`, to the bit."""

from __future__ import annotations

from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from programs.load import load
from programs.typed import SIZES, SUMMED, TYPES, Writer

import mlirad as ti
from mlirad.runtime.program import program

WIDTHS = (4, 8, 16)
pytestmark = pytest.mark.cpu_code("lanes of its vectors")
Values = np.ndarray[Any, Any]


def numbers(name: str, shape: int | tuple[()], seed: int) -> Values:
    """Of floats small ones, many of which are whole; of integers small and any, many 0."""
    random, dtype = np.random.default_rng(seed), getattr(ti, name).numpy
    if dtype.kind == "f":
        whole = random.integers(-3, 4, shape)
        found = np.where(random.random(shape) < 0.5, random.uniform(-4, 4, shape), whole)
    else:
        ends = np.iinfo(dtype)
        small = np.where(random.random(shape) < 0.5, random.integers(0, 10, shape), 0).astype(dtype)
        every = random.integers(ends.min, ends.max, shape, dtype=dtype, endpoint=True)
        found = np.where(random.random(shape) < 0.4, every, small)
    return found.astype(dtype)


def left(module: ModuleType, *, with_gradients: bool) -> dict[str, Values]:
    """What a program leaves in its fields, or what it adds to gradients."""
    for seed, name in enumerate(TYPES):
        getattr(module, f"a_{name}").from_numpy(numbers(name, module.N, seed))
        getattr(module, f"b_{name}").from_numpy(numbers(name, module.N, seed + 100))
        if name in SUMMED:
            getattr(module, f"s_{name}").from_numpy(numbers(name, (), seed + 200))
    if with_gradients:
        with ti.ad.Tape() as tape:
            module.run()
        weights = np.linspace(0.5, 1, module.N)
        tape.grad({module.b_f32: weights.astype(np.float32), module.b_f64: weights[::-1].copy()})
    else:
        module.run()
    found = {f"b_{name}": getattr(module, f"b_{name}").to_numpy() for name in TYPES}
    found |= {f"s_{name}": getattr(module, f"s_{name}").to_numpy() for name in SUMMED}
    if with_gradients:
        fields = {name: getattr(module, f"a_{name}") for name in ("f32", "f64")}
        found |= {f"a_{name}.grad": field.grad.to_numpy() for name, field in fields.items()}
    return found


def check(seed: int, folder: Path, *, with_gradients: bool = False) -> None:
    """Compare a program with some number of lanes, as LLVM compiles for users or fast, with the
    same without; sums of adjoints are taken in another order."""
    source = Writer(Random(seed), SIZES[seed % len(SIZES)]).program()
    ti.init(lanes=1, fast_math=False, opt_level=0, cpu_max_num_threads=1, offline_cache=False)
    module = load(source, folder)
    expected = left(module, with_gradients=with_gradients)
    config = program().config
    config.lanes, config.opt_level = WIDTHS[seed % 5 % 3], 3 * (seed % 4 == 0)
    for codes in program().compiled:
        codes.forget_modes(lambda mode: True)
    found = left(module, with_gradients=with_gradients)
    for name, values in expected.items():
        message = f"{name}\n{source}"
        if name.endswith(".grad") and np.isfinite(values).all():
            close = 1e-5 * max(1.0, np.abs(values).max())
            np.testing.assert_allclose(found[name], values, 1e-5, close, err_msg=message)
        else:
            np.testing.assert_array_equal(found[name], values, message)


@pytest.mark.parametrize("part", range(2))
def test_programs(part: int, tmp_path: Path) -> None:
    for seed in range(15 * part, 15 * part + 15):
        check(seed, tmp_path)


def test_gradients(tmp_path: Path) -> None:
    for seed in range(40, 46):
        check(seed, tmp_path, with_gradients=True)


@pytest.mark.parametrize("fast_math", [False, True])
@pytest.mark.parametrize("lanes", [1, 8])
def test_double_to_half_precision_rounds_once(lanes: int, fast_math: bool) -> None:
    """As NumPy does, between all neighbours, and beside what lies half-way."""
    ti.init(lanes=lanes, fast_math=fast_math, cpu_max_num_threads=1)
    halves = np.arange(1 << 15, dtype=np.uint16).view(np.float16)  # that are not negative
    halves = halves[np.isfinite(halves)]
    above = np.append(halves[1:].astype(np.float64), 65536.0)
    middle = (halves.astype(np.float64) + above) / 2
    rows = [middle * (1 + step * 2.0**-52) for step in (-1, 0, 1)]
    rows += [middle * (1 - 2.0**-30), middle * (1 + 2.0**-30), -middle, above, -above]
    given = np.concatenate([*rows, [np.inf, -np.inf, np.nan, 0.0, -0.0, 5e-324, 1e308]])
    x, y = ti.field(ti.f64, len(given)), ti.field(ti.f16, len(given))

    @ti.kernel
    def convert():
        for i in x:
            y[i] = ti.cast(x[i], ti.f16)

    x.from_numpy(given)
    convert()
    with np.errstate(over="ignore"):
        expected = given.astype(np.float16)
    found = y.to_numpy()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
