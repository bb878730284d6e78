"""JAX's arrays as arguments of kernels, and fields as JAX's arrays."""

from __future__ import annotations

from typing import Any

import pytest

import mlirad as ti
from mlirad.errors import TaichiRuntimeTypeError

jax: Any = pytest.importorskip("jax")


@pytest.fixture(autouse=True)
def on_the_cpu() -> None:
    ti.init(arch=ti.cpu, default_fp=ti.f32)


@ti.kernel
def weighted(a: ti.types.ndarray(), x: ti.template(), loss: ti.template()):
    for i in x:
        loss[None] += a[i] * x[i]


@ti.kernel
def overwrite(a: ti.types.ndarray()):
    for i in a:
        a[i] = 1.0


def test_arrays_are_read_and_seen_by_tapes() -> None:
    x = ti.field(ti.f32, 3, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)
    with ti.ad.Tape(loss):
        weighted(jax.numpy.array([1.0, 2.0, 5.0]), x, loss)
    assert x.grad.to_numpy().tolist() == [1, 2, 5]


@pytest.mark.parametrize("step", [1, 2])
def test_writes_are_refused_by_name(step: int) -> None:
    values = jax.numpy.arange(6.0)[::step]
    with pytest.raises(TaichiRuntimeTypeError, match="is a JAX array"):
        overwrite(values)
    assert values.tolist() == list(range(0, 6, step))


def test_arrays_that_numpy_has_not_are_refused_by_name() -> None:
    with pytest.raises(TaichiRuntimeTypeError, match="Argument a: this"):
        overwrite(jax.numpy.ones(3, jax.numpy.bfloat16))
    with pytest.raises(TaichiRuntimeTypeError, match=r"Argument a: this .*Tracer"):
        jax.jit(overwrite)(jax.numpy.ones(3))


@pytest.mark.parametrize(
    "make",
    [
        lambda: ti.field(ti.f32, (2, 3)),
        lambda: ti.ndarray(ti.f32, (2, 3)),
        lambda: ti.Vector.field(3, ti.f32, 2),
    ],
    ids=["field", "ndarray", "vectors"],
)
def test_copies(make: Any) -> None:
    one, values = make(), jax.numpy.arange(6.0).reshape(2, 3)
    one.from_jax(values)
    copy = one.to_jax()
    one.fill(7)
    assert isinstance(copy, jax.Array) and copy.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert jax.numpy.asarray(one).tolist() == [[7, 7, 7], [7, 7, 7]]


def test_copies_of_structs() -> None:
    body = ti.types.struct(mass=ti.f32, place=ti.types.vector(2, ti.f32)).field(shape=3)
    body.from_jax({"mass": jax.numpy.arange(3.0), "place": jax.numpy.ones((3, 2))})
    found = body.to_jax()
    assert found["mass"].tolist() == [0, 1, 2]
    assert found["place"].shape == (3, 2)
