"""Programs in which data decide what is read: tables, gathers, scatters, samples of images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from te.derivatives import check, given, reduced

import mlirad as ti
from mlirad import te

RANDOM = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(default_fp=ti.f64, opt_level=1)


def _integers(*shape: int, name: str = "rows", dtype: Any = ti.i32) -> te.Tensor:
    return te.placeholder(shape, dtype, name)


def test_rows_of_a_table() -> None:
    table, rows = given(50, 8), _integers(3, 7)
    picked = RANDOM.integers(0, 10, (3, 7)).astype(np.int32)  # with repeats
    values = RANDOM.normal(size=(50, 8))
    y = te.compute((3, 7, 8), lambda b, t, j: te.sin(table[rows[b, t], j]))
    found = check(y, [table, rows], [values, picked], second=True)
    np.testing.assert_allclose(found, np.sin(values[picked]))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gathers(axis: int) -> None:
    x, rows = given(4, 5, 6), _integers(4, 5, 6, dtype=ti.i64)
    picked = RANDOM.integers(0, x.shape[axis], (4, 5, 6))
    values = RANDOM.normal(size=(4, 5, 6))

    def element(*at: Any) -> Any:
        place = list(at)
        place[axis] = rows[at]
        return x[tuple(place)] * x[at]

    found = check(te.compute((4, 5, 6), element), [x, rows], [values, picked])
    np.testing.assert_allclose(found, np.take_along_axis(values, picked, axis) * values)


def test_sums_by_where_data_says() -> None:
    """Scattered rows, sums of segments, a histogram with weights."""
    x, rows, weight = given(9, 4), _integers(9), given(9, name="weight")
    k = te.reduce_axis(9)
    to = np.array([0, 2, 2, 5, 0, 1, 1, 1, 5], np.int32)
    values, weights = RANDOM.normal(size=(9, 4)), RANDOM.normal(size=9)
    added = te.compute((6, 4), lambda i, j: te.sum(x[k, j] ** 2, axis=k, where=rows[k] == i))
    wanted = np.zeros((6, 4))
    np.add.at(wanted, to, values**2)
    np.testing.assert_allclose(check(added, [x, rows], [values, to], second=True), wanted)
    counts = te.compute(
        (6,), lambda i: te.sum(te.select(rows[k] == i, weight[k] * weight[k], 0.0), axis=k)
    )
    found = check(counts, [weight, rows], [weights, to])
    np.testing.assert_allclose(found, np.bincount(to, weights**2, 6))
    most = te.compute((3, 4), lambda i, j: te.max(x[k, j], axis=k, where=rows[k] == i))
    found = check(most, [x, rows], [values, to])
    np.testing.assert_allclose(found, [values[to == i].max(0) for i in range(3)])


def test_the_entropy_of_labels() -> None:
    x, labels = given(5, 7), _integers(5, name="labels")
    k, m, row = reduced(7, 7, 5)
    picked = np.array([6, 0, 3, 3, 1], np.int32)
    values = RANDOM.normal(size=(5, 7))
    top = te.compute((5,), lambda i: te.max(x[i, m], axis=m))
    whole = te.compute((5,), lambda i: top[i] + te.log(te.sum(te.exp(x[i, k] - top[i]), axis=k)))
    read = te.compute((), lambda: te.sum(whole[row] - x[row, labels[row]], axis=row) / 5)
    hot = te.compute(
        (),
        lambda: te.sum(te.select(labels[row] == k, whole[row] - x[row, k], 0.0), axis=(row, k)) / 5,
    )
    wanted = np.log(np.exp(values).sum(1)).mean() - values[np.arange(5), picked].mean()
    for loss in (read, hot):
        found = check(loss, [x, labels], [values, picked], second=True)
        np.testing.assert_allclose(found, wanted)


def _bilinear(x: te.Tensor, channel: Any, y: Any, z: Any, high: int, wide: int) -> Any:
    """Of an image between its pixels, at whose borders it goes on."""
    top, left = (
        te.clip(te.floor(at), 0.0, float(extent - 2)) for at, extent in ((y, high), (z, wide))
    )
    i, j = te.cast(top, ti.i32), te.cast(left, ti.i32)
    a, b = y - te.cast(i, ti.f64), z - te.cast(j, ti.f64)
    return (
        x[channel, i, j] * (1 - a) * (1 - b)
        + x[channel, i, j + 1] * (1 - a) * b
        + x[channel, i + 1, j] * a * (1 - b)
        + x[channel, i + 1, j + 1] * a * b
    )


def test_samples_between_pixels() -> None:
    x, at = given(2, 6, 7), given(5, 2, name="at")
    y = te.compute((2, 5), lambda c, p: _bilinear(x, c, at[p, 0], at[p, 1], 6, 7))
    places = RANDOM.uniform(0.1, 4.9, (5, 2))
    values = RANDOM.normal(size=(2, 6, 7))
    found = check(y, [x, at], [values, places], second=True)
    i, j = places.astype(int).T
    a, b = (places % 1).T
    np.testing.assert_allclose(
        found,
        values[:, i, j] * (1 - a) * (1 - b)
        + values[:, i, j + 1] * (1 - a) * b
        + values[:, i + 1, j] * a * (1 - b)
        + values[:, i + 1, j + 1] * a * b,
    )


def test_regions_of_interest() -> None:
    """He, Gkioxari, Dollár and Girshick, 2017: means of four samples in each cell of a region."""
    x, box, image = given(2, 3, 8, 8), given(4, 4, name="box"), _integers(4, name="image")
    s, t = reduced(2, 2)
    flat = te.compute((6, 8, 8), lambda n, i, j: x[n // 3, n % 3, i, j])

    def element(r: Any, c: Any, i: Any, j: Any) -> Any:
        high, wide = (box[r, 2] - box[r, 0]) / 3, (box[r, 3] - box[r, 1]) / 3
        y = box[r, 0] + high * (te.cast(i, ti.f64) + (te.cast(s, ti.f64) + 0.5) / 2)
        z = box[r, 1] + wide * (te.cast(j, ti.f64) + (te.cast(t, ti.f64) + 0.5) / 2)
        return te.sum(
            _bilinear(flat, image[r] * 3 + te.cast(c, ti.i32), y, z, 8, 8) / 4, axis=(s, t)
        )

    y = te.compute((4, 3, 3, 3), element)
    corners = np.sort(RANDOM.uniform(0.3, 6.7, (4, 2, 2)), axis=1).reshape(4, 4)
    images = np.array([0, 1, 1, 0], np.int32)
    check(y, [x, box, image], [RANDOM.normal(size=(2, 3, 8, 8)), corners, images])


def test_indices_of_all_integers() -> None:
    x, y = given(6), []
    kinds = (ti.i8, ti.i16, ti.i32, ti.i64, ti.u8, ti.u16, ti.u32)
    rows = [_integers(4, dtype=kind, name=f"rows{k}") for k, kind in enumerate(kinds)]
    y = te.compute(
        (4,),
        lambda i: (
            te.minimum(x[rows[0][i]], 9.0) * x[rows[1][i] % 6] + sum(x[one[i]] ** 2 for one in rows)
        ),
    )
    picked = [np.array([5, 0, 3, 3], kind.numpy) for kind in kinds]
    check(y, [x, *rows], [RANDOM.normal(size=6), *picked])


@pytest.mark.parametrize("stride", [1, 2])
def test_derivatives_of_derivatives_under_bounds_of_their_own(stride: int) -> None:
    x, v, head, k = given(10), given(5, name="v"), given(4), te.reduce_axis(3)
    rows = _integers(8)
    y = te.compute((4,), lambda i: te.sum(x[stride * i + k] * v[rows[i + k]] ** 2, axis=k))
    (slope,) = te.differentiate(y, [x], head)
    values = [RANDOM.normal(size=one.shape) for one in (x, v, head)]
    picked = np.array([0, 4, 4, 2, 1, 1, 0, 3], np.int32)
    check(slope, [x, v, head, rows], [*values, picked], second=True)


@pytest.mark.parametrize("kind", [ti.i8, ti.u8, ti.i16, ti.u32, ti.i32, ti.i64], ids=str)
def test_indices_of_any_integers(kind: Any) -> None:
    """NumPy makes them of 64 bits, and they may be given so."""
    x, rows, head = given(7, 2), te.placeholder((4,), kind, "rows"), given(4, 2, name="head")
    y = te.nn.embedding(rows, x)
    step = te.build([y, *te.differentiate(y, [x], head)], [x, rows, head])
    values, chosen = np.arange(14.0).reshape(7, 2), np.array([6, 0, 3, 3])
    found, slope = step(values, chosen, np.ones((4, 2)))
    again, _ = step(values, chosen.astype(kind.numpy), np.ones((4, 2)))
    np.testing.assert_array_equal(found, values[chosen])
    np.testing.assert_array_equal(again, found)
    np.testing.assert_array_equal(slope[:, 0], np.bincount(chosen, minlength=7))


def test_integers_that_a_type_has_not() -> None:
    rows = te.placeholder((2,), ti.i32, "rows")
    f = te.build(te.compute((2,), lambda i: rows[i] * 2), [rows], "f")
    np.testing.assert_array_equal(f(np.array([1, -3])), [2, -6])
    assert f(np.array([5, 6], np.uint8)).dtype == np.int32
    for far in (1 << 31, -(1 << 40)):
        with pytest.raises(ti.TaichiRuntimeTypeError, match=f"f: 'rows' is of type i32, .*{far}"):
            f(np.array([1, far]))
    for others in (np.ones(2), np.ones(2, bool), ti.ndarray(ti.i64, 2)):
        with pytest.raises(ti.TaichiRuntimeTypeError, match="'rows' has type i32, but got"):
            f(others)
