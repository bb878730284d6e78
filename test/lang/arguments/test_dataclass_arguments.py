"""Python's dataclasses as arguments of kernels: their members are arguments."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import mlirad as ti


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init()


@dataclasses.dataclass
class Body:
    x: ti.types.ndarray(ti.f32, 1)  # type: ignore[valid-type]
    mass: ti.f32  # type: ignore[valid-type]


@dataclasses.dataclass
class Scene:
    body: Body
    loss: ti.types.ndarray()  # type: ignore[valid-type]
    size: ti.template()  # type: ignore[valid-type]


@ti.func
def energy(body: Body, i: int) -> ti.f32:  # type: ignore[valid-type]
    return body.mass * body.x[i] ** 2


@ti.kernel
def total(scene: Scene):
    for i in range(ti.static(scene.size)):
        scene.loss[0] += energy(scene.body, i)


def array(values: list[float]) -> Any:
    """Return an ndarray with a gradient."""
    made = ti.ndarray(ti.f32, len(values), needs_grad=True)
    made.from_numpy(np.array(values, np.float32))
    return made


def test_members_are_arguments_and_carry_gradients() -> None:
    x, loss = array([1, 2, 3]), array([0])
    scene = Scene(Body(x, 0.5), loss, 3)
    with ti.ad.Tape(loss):
        total(scene)
    assert loss[0] == 7 and x.grad.to_numpy().tolist() == [1, 2, 3]
    scene.body.mass, scene.size = 1.0, 2  # the next launch sees what members are then
    loss.fill(0)
    total(scene)
    assert loss[0] == 5
    scene.body.x = array([2, 2])
    total(scene)
    assert loss[0] == 13


def test_an_array_may_be_two_members() -> None:
    x = array([1, 2])
    scene = Scene(Body(x, 1.0), x, 1)
    total(scene)
    assert x.to_numpy().tolist() == [2, 2]


def test_numpy_arrays_are_members() -> None:
    x, loss = np.ones(4, np.float32), np.zeros(1, np.float32)
    total(Scene(Body(x, 2.0), loss, 4))
    assert loss[0] == 8


def test_another_object_is_refused() -> None:
    with pytest.raises(ti.TaichiRuntimeTypeError, match="Argument scene: expected Scene"):
        total(Body(array([1]), 1.0))
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"Argument scene.body: expected Body"):
        total(Scene(None, array([0]), 1))  # type: ignore[arg-type]


def test_a_member_of_another_type_is_refused() -> None:
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"scene\.body\.x"):
        total(Scene(Body(ti.ndarray(ti.i32, 1), 1.0), array([0]), 1))
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"scene\.body\.mass"):
        total(Scene(Body(array([1]), "heavy"), array([0]), 1))


def test_an_annotation_that_is_none_is_refused() -> None:
    @dataclasses.dataclass
    class Wrong:
        x: str

    @ti.kernel
    def use(wrong: Wrong):
        pass

    with pytest.raises(ti.TaichiSyntaxError, match=r"argument wrong\.x"):
        use(Wrong(""))
