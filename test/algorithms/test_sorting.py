"""Sorting and running sums of fields and ndarrays."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad as ti


@pytest.mark.parametrize("make", [ti.field, ti.ndarray])
def test_values_follow_their_keys(make: object) -> None:
    ti.init()
    rng = np.random.default_rng(0)
    keys, values = make(ti.i32, shape=1000), make(ti.f32, shape=1000)
    first, second = rng.permutation(1000).astype(np.int32), rng.random(1000).astype(np.float32)
    keys.from_numpy(first)
    values.from_numpy(second)
    ti.algorithms.parallel_sort(keys, values)
    assert (keys.to_numpy() == np.arange(1000)).all()
    assert (values.to_numpy()[first] == second).all()
    keys.from_numpy(first)
    ti.algorithms.parallel_sort(keys)
    assert (keys.to_numpy() == np.arange(1000)).all()


def test_running_sums() -> None:
    ti.init()
    x = ti.field(ti.i32, shape=100)
    x.from_numpy(np.arange(100, dtype=np.int32))
    ti.algorithms.PrefixSumExecutor(100).run(x)
    k = np.arange(100)
    assert (x.to_numpy() == k * (k + 1) // 2).all()


def test_what_is_no_row_of_numbers_is_refused() -> None:
    ti.init()
    x, y = ti.field(ti.i32, shape=4), ti.field(ti.i32, shape=(2, 2))
    with pytest.raises(ti.TaichiTypeError, match="expected keys with one axis"):
        ti.algorithms.parallel_sort(y)
    with pytest.raises(ti.TaichiTypeError, match="got list"):
        ti.algorithms.parallel_sort([3, 2])
    with pytest.raises(ti.TaichiTypeError, match="4 keys, but 3 values"):
        ti.algorithms.parallel_sort(x, ti.ndarray(ti.i32, shape=3))
    with pytest.raises(ti.TaichiTypeError, match="4 numbers, expected 5"):
        ti.algorithms.PrefixSumExecutor(5).run(x)


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(AttributeError, match="no textures"):
        _ = ti.Texture
