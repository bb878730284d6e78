"""What a prompt shows of fields, ndarrays and kernels, and what other libraries draw of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import mlirad as ti


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init(default_fp=ti.f64)


def test_shape_and_values_of_a_small_field() -> None:
    x = ti.field(ti.f32, 3)
    x.from_numpy(np.array([1.0, 2.5, -3.0], np.float32))
    assert repr(x) == "<ti.field 'x' f32, shape (3,): [ 1.   2.5 -3. ]>"
    loss = ti.field(ti.i32, ())
    loss[None] = 7
    assert repr(loss) == "<ti.field 'loss' i32, shape (): 7>"
    v = ti.Vector.field(2, ti.i32, 2)
    v[1] = [3, 4]
    assert repr(v) == "<ti.field 'v' i32[2], shape (2,):\n[[0 0]\n [3 4]]>"
    array = ti.ndarray(ti.i32, 2)
    array[1] = 5
    assert repr(array) == "<ti.ndarray i32, shape (2,): [0 5]>"


@pytest.mark.parametrize("shape", [(1000,), (40, 50), (3, 300), (12, 5, 20)])
def test_a_large_field_is_abbreviated_as_numpy_does(shape: tuple[int, ...]) -> None:
    x = ti.field(ti.i32, shape)
    values = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    x.from_numpy(values)
    numbers = re.findall(r"\d+|\.\.\.", repr(x).partition("):")[2])
    expected = re.findall(r"\d+|\.\.\.", np.array2string(values, threshold=0))
    assert numbers == expected and "..." in numbers
    assert len(repr(x)) < 3000


def test_what_has_no_values_yet() -> None:
    x = ti.field(ti.f32)
    assert repr(x) == "<ti.field 'x' f32>"
    ti.root.dense(ti.i, 2).place(x)
    assert repr(x) == "<ti.field 'x' f32, shape (2,): [0. 0.]>"
    y = ti.field(ti.f32)
    ti.root.pointer(ti.i, 4).place(y)
    assert repr(y) == "<ti.field 'y' f32, shape (4,)>"
    ti.init()
    assert repr(x) == "<ti.field 'x' f32>"


def test_looking_is_not_a_read_of_a_tape() -> None:
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += 3.0 * x[i]

    with ti.ad.Tape(loss):
        repr(x)
        total()
        repr(loss)
    assert x.grad.to_numpy().tolist() == [3, 3, 3]


def public(value: object) -> set[str]:
    return {name for name in dir(value) if not name.startswith("__")}


def test_dir_shows_public_names() -> None:
    x, array = ti.field(ti.f64, 3), ti.ndarray(ti.f64, 3)

    @ti.kernel
    def run():
        pass

    @ti.func
    def double(a):
        return 2 * a

    internal = {"find_memory", "program", "note_write", "put_into", "want", "placed_in", "elements"}
    for value in (x, array):
        names = public(value)
        assert {"shape", "dtype", "grad", "dual", "to_numpy", "from_numpy", "fill"} <= names
        assert not internal & names and not {name for name in names if name.startswith("_")}
    assert public(run) == {"amdgpu", "explain", "grad", "ir", "ptx"}
    assert public(double) == {"def_jvp", "def_vjp"}
    for value in (x, array, run, double):
        assert all(hasattr(value, name) for name in public(value))


def test_pictures_of_fields() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot: Any = pytest.importorskip("matplotlib.pyplot")
    x, y = ti.field(ti.f64, 3), ti.field(ti.f64, 3)
    points = np.array([[1.0, 4.0], [2.0, 5.0], [3.0, 7.0]])
    x.from_numpy(points[:, 0])
    y.from_numpy(points[:, 1])
    figure, axes = pyplot.subplots()
    assert np.asarray(axes.scatter(x, y, c=y).get_offsets()).tolist() == points.tolist()
    (line,) = axes.plot(x, y)
    assert line.get_xydata().tolist() == points.tolist()
    pyplot.close(figure)
