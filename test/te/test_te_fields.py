"""Built functions on fields: every layout of dense ones, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad import te
from mlirad.errors import TaichiRuntimeError, TaichiRuntimeTypeError


@pytest.fixture(autouse=True, params=["x64", "simt"])
def arch(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    ti.init(arch=name, default_fp=ti.f64, opt_level=1)
    return name


def _bells() -> Any:
    """A function of vectors of three components at (8, 6) places."""
    x, c = te.placeholder((8, 6, 3), ti.f64, "x"), te.reduce_axis(3)
    squares = te.compute((8, 6), lambda i, j: te.sum(x[i, j, c] ** 2, axis=c))
    return te.build(te.compute((8, 6), lambda i, j: te.exp(-squares[i, j])), [x], "bells")


def _scaled() -> Any:
    n = te.var("n")
    x = te.placeholder((n,), ti.f64, "x")
    return te.build(te.compute((n,), lambda i: 2 * x[i]), [x], "scaled")


def _own(place: Any) -> tuple[Any, Any]:
    x, y = ti.Vector.field(3, ti.f64), ti.field(ti.f64)
    place(x, y)
    ti.root.lazy_grad()
    return x, y


def _flat(x: Any, y: Any) -> None:
    ti.root.dense(ti.ij, (8, 6)).place(x)
    ti.root.dense(ti.ij, (8, 6)).place(y)


def _together(x: Any, y: Any) -> None:
    ti.root.dense(ti.ij, (4, 3)).dense(ti.ij, 2).place(x, y)


def _columns(x: Any, y: Any) -> None:
    ti.root.dense(ti.j, 6).dense(ti.i, 8).place(x, y)


def _moved(x: Any, y: Any) -> None:
    ti.root.dense(ti.ij, (8, 6)).place(x, offset=(-3, 5))
    ti.root.dense(ti.ij, (8, 6)).place(y, offset=(2, -1))


@pytest.mark.parametrize("place", [_flat, _together, _columns, _moved])
def test_layouts(place: Any) -> None:
    x, y = _own(place)
    loss = ti.field(ti.f64, (), needs_grad=True)
    given = np.random.default_rng(1).normal(size=(8, 6, 3))
    x.from_numpy(given)
    bells = _bells()

    @ti.kernel
    def add_up() -> None:
        for place in ti.grouped(y):
            loss[None] += y[place] ** 2

    with ti.ad.Tape(loss):
        bells(x, out=y)
        add_up()
    expected = np.exp(-(given**2).sum(-1))
    np.testing.assert_allclose(y.to_numpy(), expected, rtol=1e-12)
    slopes = -4 * given * (expected**2)[..., np.newaxis]
    np.testing.assert_allclose(x.grad.to_numpy(), slopes, rtol=1e-11, atol=1e-300)


def test_fields_and_arrays_together() -> None:
    n = te.var("n")
    x, w, k = te.placeholder((n, 3), ti.f64), te.placeholder((3, 4), ti.f64), te.reduce_axis(3)
    product = te.build(te.compute((n, 4), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k)), [x, w])
    for rows in (2, 5):  # other fields, other sizes
        field, weights = ti.field(ti.f64, (rows, 3)), ti.Matrix.field(3, 4, ti.f64, ())
        a, c = np.random.default_rng(rows).normal(size=(rows, 3)), np.arange(12.0).reshape(3, 4)
        field.from_numpy(a)
        weights.from_numpy(c)
        np.testing.assert_allclose(product(field, weights), a @ c, rtol=1e-12)
        np.testing.assert_allclose(product(field, c), a @ c, rtol=1e-12)
        found = ti.ndarray(ti.f64, (rows, 4))
        assert product(a, weights, out=found) is found
        np.testing.assert_allclose(found.to_numpy(), a @ c, rtol=1e-12)


def test_one_field_for_two_inputs() -> None:
    x, y = te.placeholder((4,), ti.f64), te.placeholder((4,), ti.f64)
    product = te.build(te.compute((4,), lambda i: x[i] * y[3 - i]), [x, y])
    a = np.arange(4.0)
    field = ti.field(ti.f64, 4)
    field.from_numpy(a)
    np.testing.assert_array_equal(product(field, field), a * a[::-1])
    np.testing.assert_array_equal(product(a, a), a * a[::-1])


def test_what_does_not_fit() -> None:
    scaled, out = _scaled(), ti.field(ti.f64, 5)
    with pytest.raises(TaichiRuntimeTypeError, match=r"an array of shape \(2, 2\)"):
        scaled(ti.field(ti.f64, (2, 2)), out=out)
    with pytest.raises(TaichiRuntimeTypeError, match="type f64, but got an array of type f3"):
        scaled(ti.field(ti.f32, 5), out=out)
    with pytest.raises(TaichiRuntimeTypeError, match=r"an array of shape \(4,\)"):
        scaled(ti.field(ti.f64, 5), out=ti.field(ti.f64, 4))
    with pytest.raises(TaichiRuntimeTypeError, match="field 'out' in out= shares memory"):
        scaled(out, out=out)
    with pytest.raises(
        TaichiRuntimeTypeError, match="or a field with its own memory, got StructField"
    ):
        scaled(ti.Struct.field({"a": ti.f64}, shape=5))
    with pytest.raises(
        TaichiRuntimeTypeError, match="or a field with its own memory, got ComponentField"
    ):
        scaled(ti.Vector.field(2, ti.f64, 5).get_scalar_field(0))


def test_sparse_fields_are_refused() -> None:
    x = ti.field(ti.f64)
    ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(x)
    with pytest.raises(TaichiRuntimeTypeError, match="field 'x' is sparse"):
        _scaled()(x)


def test_fields_that_are_gone(arch: str) -> None:
    scaled = _scaled()
    x, y = ti.field(ti.f64), ti.field(ti.f64)
    with pytest.raises(TaichiRuntimeError, match="field 'x' is not placed"):
        scaled(x)
    builder = ti.FieldsBuilder()
    builder.dense(ti.i, 3).place(x)
    tree = builder.finalize()
    x.fill(1.0)
    np.testing.assert_array_equal(scaled(x), 2)
    tree.destroy()
    with pytest.raises(TaichiRuntimeError, match="layout tree that was destroyed"):
        scaled(x)
    builder = ti.FieldsBuilder()
    builder.dense(ti.i, 3).place(y)
    builder.finalize()
    ti.reset()
    with pytest.raises(TaichiRuntimeError, match=r"ti\.init"):
        scaled(y)
    ti.init(arch=arch, default_fp=ti.f64, opt_level=1)
    with pytest.raises(TaichiRuntimeError, match="belongs to a program that"):
        scaled(y)
    again = ti.field(ti.f64, 2)
    again.fill(3.0)
    np.testing.assert_array_equal(scaled(again), 6)
