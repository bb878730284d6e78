"""A program without mistakes, and the types that checkers give to what is in it."""

from __future__ import annotations

from typing import Annotated, Any, assert_type

import numpy as np

import mlirad as ti

ti.init(default_fp=ti.f64)
Pair = Annotated[ti.Vector, ti.types.vector(2, ti.f64)]
Rows = Annotated[ti.types.ndarray, ti.f64, 1]
Source = Annotated[ti.ScalarField[ti.f64], ti.template]
x = ti.field(ti.f64, shape=3, needs_grad=True)
flow = ti.Vector.field(2, ti.f64, shape=(2, 2), needs_grad=True)
loss = ti.field(ti.f64, shape=(), needs_grad=True)
placed: ti.ScalarField[ti.i32] = ti.field(ti.i32)
ti.root.dense(ti.i, 4).place(placed)
array: ti.Ndarray[ti.f64] = ti.ndarray(ti.f64, shape=3, needs_grad=True)


@ti.func
def double(v: Pair) -> Pair:
    return v * 2.0


@ti.kernel
def run(v: Pair, a: Rows, source: Source, scale: ti.f64 = 2.0) -> Pair:
    for i in x:
        a[i] = v[0] * source[i] * scale
    for i, j in flow:
        flow[i, j] = double(v)
        assert_type(flow[i, j].x, Any)
    for I in ti.grouped(flow):
        loss[None] += flow[I].norm()
    return double(v)


@ti.data_oriented
class Counter:
    def __init__(self) -> None:
        self.count = ti.field(ti.i32, shape=())

    @ti.kernel
    def add(self, number: ti.i32) -> ti.i32:
        self.count[None] += number
        return self.count[None]


def scalars() -> None:
    assert_type(x[0], float)
    assert_type(placed[0], int)
    assert_type(x.grad[0], float)
    assert_type(array.grad[0], float)
    assert_type(loss[None], float)
    assert_type(flow[0, 0], ti.Vector)
    assert_type(flow.grad[0, 0] * 2.0, ti.Vector)


def calls() -> None:
    assert_type(Counter().add(2), int)
    assert_type(ti.sin(0.5), float)
    assert_type(ti.sin(flow[0, 0]), ti.Vector)
    assert_type(ti.cast(2.5, ti.i32), int)
    assert_type(ti.max(1, 2), int)
    assert_type(ti.Vector.zero(ti.f64, 2), ti.Vector)
    assert_type(ti.math.clamp(0.5, 0.0, 1.0), float)
    assert_type(ti.math.normalize(flow[0, 0]), ti.Vector)
    assert_type(ti.math.dot(flow[0, 0], ti.math.vec2(1.0, 2.0)), float)
    for i, j in ti.ndrange(2, (1, 3)):
        assert_type(i + j, int)


x.fill(1.0)
target = np.zeros(3)
assert run(ti.Vector([1.0, 2.0]), target, x).to_numpy().tolist() == [2.0, 4.0]
assert target.tolist() == [2.0, 2.0, 2.0]
run(ti.Vector([1.0, 2.0]), array, x, scale=3.0)
assert array.to_numpy().tolist() == [3.0, 3.0, 3.0]
assert Counter().add(2) == 2
placed.fill(3)
scalars()
calls()
