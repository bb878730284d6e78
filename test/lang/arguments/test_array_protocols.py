"""Fields and ndarrays where other libraries want arrays."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.errors import TaichiRuntimeTypeError
from mlirad.ir.memory.large_arrays import LEAST

LARGE = 2 * LEAST // 4  # f32s, of which a gradient is cleared later


@pytest.fixture(autouse=True)
def on_the_cpu() -> None:
    ti.init(arch=ti.cpu, default_fp=ti.f32)


@ti.kernel
def double(x: ti.template()):
    for i in ti.grouped(x):
        x[i] *= 2


def dense() -> Any:
    return ti.field(ti.f32, (3, 4))


def vectors() -> Any:
    return ti.Vector.field(4, ti.f32, 3)


def in_turns() -> Any:
    one, other = ti.field(ti.f32), ti.field(ti.i16)
    ti.root.dense(ti.ij, (3, 4)).place(one, other)
    return one


def ndarray() -> Any:
    return ti.ndarray(ti.f32, (3, 4))


def blocked() -> Any:
    found = ti.field(ti.f32)
    ti.root.dense(ti.ij, (3, 2)).dense(ti.j, 2).place(found)
    return found


def sparse() -> Any:
    found = ti.field(ti.f32)
    ti.root.pointer(ti.i, 3).dense(ti.j, 4).place(found)
    return found


VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("make", [dense, vectors, in_turns, ndarray])
def test_views_show_what_is_there(make: Any) -> None:
    x = make()
    view, other = np.asarray(x), np.from_dlpack(x)
    x.from_numpy(VALUES)
    for one in (view, other):
        assert np.shares_memory(one, np.asarray(x))
        assert not one.flags.writeable
        np.testing.assert_array_equal(one, VALUES)
    assert np.array(x, copy=True).flags.writeable
    assert np.asarray(x, np.float64).dtype == np.float64


@pytest.mark.parametrize("make", [blocked, sparse])
def test_what_is_no_array_in_memory_is_copied(make: Any) -> None:
    x = make()
    for i in range(3):
        for j in range(4):
            x[i, j] = VALUES[i, j]
    np.testing.assert_array_equal(np.asarray(x), VALUES)
    np.testing.assert_array_equal(np.from_dlpack(x), VALUES)
    with pytest.raises(BufferError, match=r"not one array in host memory"):
        x.__dlpack__(max_version=(1, 0), copy=False)
    with pytest.raises(ValueError, match="not one array in host memory"):
        x.__array__(copy=False)


def test_a_gpu_s_memory_is_copied() -> None:
    ti.init(arch=ti.simt)
    x = dense()
    x.from_numpy(VALUES)
    found = np.asarray(x)
    x.fill(0)
    np.testing.assert_array_equal(found, VALUES)
    assert x.__dlpack_device__() == (1, 0)


def test_consumers_that_do_not_know_of_read_only_arrays_get_copies() -> None:
    x = dense()
    assert x.__dlpack__()  # as before DLPack 1.0
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__(copy=False)
    with pytest.raises(BufferError, match="only available in host memory"):
        x.__dlpack__(dl_device=(2, 0), max_version=(1, 0))


def test_views_outlive_programs() -> None:
    x = ti.field(ti.f32, LARGE)
    x.fill(3)
    view = np.asarray(x)
    ti.reset()
    del x
    gc.collect()
    assert (view == 3).all()


def test_views_of_gradients_show_that_they_are_cleared() -> None:
    x, loss = ti.field(ti.f32, LARGE, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def total(scale: ti.f32):
        for i in x:
            loss[None] += scale * x[i]

    for scale in (1.0, 2.0):
        with ti.ad.Tape(loss):
            total(scale)
        view = np.asarray(x.grad)
        assert (view == scale).all()
    ti.ad.clear_all_gradients()
    assert not view.any()
    with ti.ad.Tape(loss):
        total(4.0)
    assert (view == 4).all()


def test_libraries_take_fields(tmp_path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    x = dense()
    x.from_numpy(VALUES)
    np.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), VALUES)
    np.testing.assert_array_equal(plt.imshow(x).get_array(), VALUES)
    assert np.sum(x) == VALUES.sum()
    plt.close("all")


def test_a_field_is_no_array_argument() -> None:
    """Of a view of it, a tape would not know the gradient."""
    x = ti.field(ti.f32, 3, needs_grad=True)

    @ti.kernel
    def first(x: ti.types.ndarray()) -> ti.f32:
        return x[0]

    @ti.kernel
    def sum_of(x: ti.types.vector(3, ti.f32)) -> ti.f32:
        return x.sum()

    with pytest.raises(TaichiRuntimeTypeError, match="expected an array"):
        first(x)
    with pytest.raises(TaichiRuntimeTypeError, match="pass one element of the array"):
        sum_of(x)


def test_torch_shares_memory() -> None:
    torch = pytest.importorskip("torch")
    x = dense()
    found = torch.from_dlpack(x)
    double(x)
    x.from_numpy(VALUES)
    assert (found.numpy() == VALUES).all()
