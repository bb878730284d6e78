"""`te.Schedule`: what is asked of a definition is done, changes no result, and is refused where it
is none of that definition."""

from __future__ import annotations

import inspect
from itertools import product

import numpy as np
import pytest

import mlirad as ti
from mlirad import te
from mlirad.errors import TaichiTypeError

RANDOM = np.random.default_rng(11)


def _values(*shapes):
    return [RANDOM.standard_normal(shape).astype(np.float32) for shape in shapes]


def _matmul():
    x, w = te.placeholder((37, 29), name="x"), te.placeholder((29, 41), name="w")
    k = te.reduce_axis(29)
    y = te.compute((37, 41), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k), name="y")
    return y, [x, w], "ij", "k", lambda a, b: a @ b


def _convolution():
    x, w = te.placeholder((2, 3, 13, 22), name="x"), te.placeholder((5, 3, 3, 3), name="w")
    c, r, s = te.reduce_axis(3), te.reduce_axis(3), te.reduce_axis(3)
    y = te.compute(
        (2, 5, 11, 20),
        lambda b, k, i, j: te.sum(x[b, c, i + r, j + s] * w[k, c, r, s], axis=(c, r, s)),
        name="y",
    )

    def expected(a, b):
        windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3), (2, 3))
        return np.einsum("nchwrs,kcrs->nkhw", windows, b)

    return y, [x, w], "bkij", "crs", expected


def _softmax():
    x = te.placeholder((9, 33), name="x")
    k, m = te.reduce_axis(33), te.reduce_axis(33)
    highest = te.compute((9,), lambda i: te.max(x[i, k], axis=k))
    total = te.compute((9,), lambda i: te.sum(te.exp(x[i, m] - highest[i]), axis=m))
    y = te.compute((9, 33), lambda i, j: te.exp(x[i, j] - highest[i]) / total[i], name="y")

    def expected(a):
        raised = np.exp(a - a.max(1, keepdims=True))
        return raised / raised.sum(1, keepdims=True)

    return y, [x], "ij", "", expected


def _random_schedule(own, reduced):
    axes = [*own, *reduced]
    tile = {a: int(RANDOM.integers(1, 20)) for a in axes if RANDOM.random() < 0.5}
    short = [a for a in axes if a in "rscb" and RANDOM.random() < 0.3]
    lanes = RANDOM.choice([a for a in axes if a not in short]) if RANDOM.random() < 0.6 else None
    parallel = [a for a in own if RANDOM.random() < 0.5] if RANDOM.random() < 0.6 else None
    return te.Schedule(tile=tile, lanes=lanes, unroll=short, parallel=parallel)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("program", [_matmul, _convolution, _softmax])
def test_random_schedules_give_the_same(program, threads):
    ti.init(cpu_max_num_threads=threads)
    y, inputs, own, reduced, expected = program()
    values = _values(*(one.shape for one in inputs))
    wanted = expected(*(value.astype(np.float64) for value in values))
    for _ in range(5):
        schedule = _random_schedule(own, reduced)
        found = te.build(y, inputs, schedule={y: schedule})(*values)
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5, err_msg=str(schedule))


@pytest.mark.cpu_code("lanes and tiles of its loops")
def test_a_schedule_of_an_adjoint():
    ti.init()
    y, (x, w), *_ = _matmul()
    head = te.placeholder(y.shape, name="head")
    dx, dw = te.differentiate(y, [x, w], head=head)
    a, b, c = _values(x.shape, w.shape, y.shape)
    step = te.build([dx, dw], [x, w, head], schedule={dw: te.Schedule(tile={"i0": 3}, lanes="i1")})
    for found, wanted in zip(step(a, b, c), (c @ b.T, a.T @ c)):
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)
    assert any("tiles of 3 of i0 by" in line and "along i1" in line for line in step.explain())


@pytest.mark.cpu_code("lanes and tiles of its loops")
def test_explain_says_what_was_asked():
    ti.init()
    y, inputs, *_ = _convolution()
    asked = te.Schedule(tile={"k": 5, "j": 16}, lanes="j", unroll=("r", "s"), parallel=("b",))
    lines = te.build(y, inputs, schedule={y: asked}).explain()
    said = next(line for line in lines if "'y'" in line)
    for part in ("(b, k, i, j; c, r, s)", "r, s written out", "b parallel", "j in lanes", "k 5"):
        assert part in said
    assert any("of 5 of k by" in line and "along j" in line for line in lines)


@pytest.mark.cpu_code("lanes and tiles of its loops")
def test_lanes_along_another_axis_are_made():
    ti.init(cpu_max_num_threads=1)
    x = te.placeholder((64, 64), name="x")
    y = te.compute((64, 64), lambda i, j: te.sin(x[i, j]) * 2.0, name="y")
    lines = te.build(y, [x], schedule={y: te.Schedule(lanes="i")}).explain()
    assert any("iterations of i run as lanes" in line for line in lines)


def test_inline_and_materialise():
    ti.init()
    x = te.placeholder((6, 7), name="x")
    k = te.reduce_axis(7)
    total = te.compute((6,), lambda i: te.sum(x[i, k] * x[i, k], axis=k), name="total")
    y = te.compute((6, 7), lambda i, j: x[i, j] / total[i], name="y")
    z = te.compute((6, 7), lambda i, j: y[i, j] + 1.0, name="z")
    (value,) = _values((6, 7))
    wanted = value / (value**2).sum(1, keepdims=True) + 1.0
    inlined = te.build(z, [x], inline=[total])
    kept = te.build(z, [x], materialise=[y])
    for step, arrays in ((inlined, 1), (kept, 3)):
        np.testing.assert_allclose(step(value), wanted, rtol=1e-5)
        assert sum("schedule found" in line for line in step.explain()) == arrays


def test_what_is_no_schedule_is_refused():
    y, (x, w), *_ = _matmul()
    line = inspect.currentframe().f_lineno
    for asked, why in [
        (te.Schedule(tile={"q": 4}), "no axis 'q': axes of 'y' are i, j, k"),
        (te.Schedule(tile={"i": 0}), "a tile of 0"),
        (te.Schedule(lanes="x"), "no axis 'x'"),
        (te.Schedule(parallel=("k",)), "axis 'k' is reduced"),
        (te.Schedule(unroll=("i", "j")), "1517 points are unrolled"),
        (te.Schedule(unroll=("k",), lanes="k"), "axis 'k' is written out"),
    ]:
        with pytest.raises(TaichiTypeError, match=why) as caught:
            te.build(y, [x, w], schedule={y: asked})
        assert caught.value.source.line > line
        assert caught.value.source.column == 10
    with pytest.raises(TaichiTypeError, match=r"tile is {'i': 2.5}, expected a dictionary"):
        te.Schedule(tile={"i": 2.5})
    with pytest.raises(TaichiTypeError, match="expected a dictionary from tensors to Schedules"):
        te.build(y, [x, w], schedule={y: "tiled"})
    with pytest.raises(TaichiTypeError, match="'x' is not computed here"):
        te.build(y, [x, w], schedule={x: te.Schedule()})
    with pytest.raises(TaichiTypeError, match="'y' cannot be inlined"):
        te.build(y, [x, w], inline=[y])


def test_every_pair_of_lanes_and_tile_of_a_product():
    ti.init(cpu_max_num_threads=1)
    y, inputs, *_ = _matmul()
    values = _values(*(one.shape for one in inputs))
    for lanes, tiled in product("ijk", "ij"):
        asked = te.Schedule(lanes=lanes, tile={tiled: 7})
        found = te.build(y, inputs, schedule={y: asked})(*values)
        np.testing.assert_allclose(found, values[0] @ values[1], rtol=2e-5, atol=2e-5)
