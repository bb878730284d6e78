"""`qd.types.vector(unpacked=True)`: vectors of dataclasses, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad as ti
import mlirad.quadrants as qd

UNPACKED = qd.types.vector(4, qd.f64, unpacked=True)


@qd.dataclass
class Tile:
    r: UNPACKED
    scale: qd.f64


@qd.dataclass
class Outer:
    tile: Tile


@qd.kernel
def weigh(x: qd.template(), loss: qd.template()):
    for i in range(3):
        outer = Outer()
        outer.tile.scale = 2.0
        for k in qd.static(range(4)):
            outer.tile.r[k] = x[i] * k
        for k in range(4):
            loss[None] += outer.tile.r[k] ** 2 * outer.tile.scale


def test_members_have_derivatives() -> None:
    qd.init(default_fp=qd.f64)
    x, loss = qd.field(qd.f64, 3, needs_grad=True), qd.field(qd.f64, (), needs_grad=True)
    values = np.array([0.5, 1.0, 1.5])
    x.from_numpy(values)
    with qd.ad.Tape(loss=loss):
        weigh(x, loss)
    assert loss[None] == pytest.approx(28 * (values**2).sum())
    np.testing.assert_allclose(x.grad.to_numpy(), 56 * values, rtol=1e-14)


def test_fields_of_structs_hold_vectors() -> None:
    qd.init(default_fp=qd.f64)
    tiles = Tile.field(shape=2)

    @qd.kernel
    def fill():
        for i in range(2):
            for k in qd.static(range(4)):
                tiles[i].r[k] = 10.0 * i + k

    fill()
    expected = np.arange(4) + np.array([[0.0], [10.0]])
    np.testing.assert_array_equal(tiles.r.to_numpy(), expected)


@qd.kernel
def beyond() -> qd.f64:
    tile = Tile()
    return tile.r[7]


def test_refusals() -> None:
    qd.init(default_fp=qd.f64)
    for make in (UNPACKED, UNPACKED.field, UNPACKED.ndarray):
        with pytest.raises(ti.TaichiSyntaxError, match=r"unpacked=True.*@qd.dataclass"):
            make(3)
    with pytest.raises(ti.TaichiCompilationError, match=r"test_unpacked_vectors.py:\d+"):
        beyond()
