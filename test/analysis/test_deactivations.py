"""Parallel loops that deactivate cells in which other iterations read: differentiated where their
order makes no difference, else refused with a cure that works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mlirad as ti

# what is put into elements, by the factor of p
VALUES = {2: 0.7, 3: 0.9, 8: 0.01, 13: 0.02, 20: 0.5, 21: 0.6}
SMALL = 0.06

pytestmark = pytest.mark.filterwarnings("ignore:.*hidden one")


class Program:
    """32 elements, four in a cell of `outer`, two in one of `inner`; a loss adds up squares."""

    def __init__(self) -> None:
        ti.init(default_fp=ti.f64)
        self.x, self.y = ti.field(ti.f64), ti.field(ti.f64)
        self.p, self.loss = (ti.field(ti.f64, (), needs_grad=True) for _ in range(2))
        self.marked = ti.field(ti.i32, 16)
        self.outer = ti.root.pointer(ti.i, 8)
        self.inner = self.outer.pointer(ti.i, 2)
        self.inner.dense(ti.i, 2).place(self.x, self.y)
        self.p[None] = 1.0

    def run(self, kernel: Callable[[], None]) -> None:
        self.outer.deactivate_all()
        self.loss[None] = 0
        for i, factor in VALUES.items():
            put(self.x, i, factor, self.p)
        kernel()
        total(self.x, self.loss)


@ti.kernel
def put(x: ti.template(), i: ti.i32, factor: ti.f64, p: ti.template()):
    x[i] = factor * p[None]


@ti.kernel
def total(x: ti.template(), loss: ti.template()):
    for i in x:
        loss[None] += x[i] ** 2


def elements(made: Program) -> Any:
    x, inner = made.x, made.inner

    @ti.kernel
    def kernel():
        for i in x:
            if x[i] < SMALL:
                ti.deactivate(inner, [i // 2])

    return kernel


def outer_cells(made: Program) -> Any:
    x, outer = made.x, made.outer

    @ti.kernel
    def kernel():
        for i in x:
            if x[i] < SMALL and x[i] > 0.0:
                ti.deactivate(outer, ti.rescale_index(x, outer, [i]))

    return kernel


def second_loop(made: Program) -> Any:
    x, y, inner = made.x, made.y, made.inner

    @ti.kernel
    def kernel():
        for i in x:
            x[i] *= 0.5
            y[i] = x[i]
        for i in x:
            small = ti.max(x[i], y[i]) < SMALL
            if small:
                ti.deactivate(inner, [i >> 1])

    return kernel


def first_elements(made: Program) -> Any:
    """Of cells that are named several times, and in another field."""
    x, inner = made.x, made.inner

    @ti.kernel
    def kernel():
        for k in range(64):
            cell = k % 16
            if x[2 * cell] < SMALL:
                ti.deactivate(inner, [cell])

    return kernel


def everything(made: Program) -> Any:
    x, outer = made.x, made.outer

    @ti.kernel
    def kernel():
        for i in x:
            ti.deactivate(outer, [i // 4])

    return kernel


def marked(made: Program) -> Any:
    """The cure of those that are refused."""
    x, inner, notes = made.x, made.inner, made.marked

    @ti.kernel
    def kernel():
        for i in notes:
            notes[i] = 0
        for i in x:
            if x[i] < SMALL and x[i] + x[i + 1] > 0.0:
                notes[i // 2] = 1
            x[i] = x[i] * x[i]
        for cell in inner:
            if notes[cell] == 1:
                ti.deactivate(inner, [cell])

    return kernel


ACCEPTED: dict[str, tuple[Callable[[Program], Any], dict[int, float], int]] = {
    # what is left, and the power of p that it is
    "elements": (elements, {2: 0.7, 3: 0.9, 20: 0.5, 21: 0.6}, 1),
    "outer_cells": (outer_cells, {2: 0.7, 3: 0.9, 20: 0.5, 21: 0.6}, 1),
    "second_loop": (second_loop, {2: 0.35, 3: 0.45, 20: 0.25, 21: 0.3}, 1),
    "first_elements": (first_elements, {2: 0.7, 3: 0.9, 20: 0.5, 21: 0.6}, 1),
    "everything": (everything, {}, 1),
    "marked": (marked, {2: 0.49, 3: 0.81, 20: 0.25, 21: 0.36}, 2),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_order_makes_no_difference(name: str) -> None:
    make, left, power = ACCEPTED[name]
    made = Program()
    kernel = make(made)
    squares, n = sum(value**2 for value in left.values()), 2 * power
    with ti.ad.FwdMode(made.loss, made.p):
        made.run(kernel)
    assert made.loss.dual[None] == pytest.approx(n * squares)
    with ti.ad.Tape(made.loss):
        made.run(kernel)
    assert made.p.grad[None] == pytest.approx(n * squares)
    assert {i: made.x[i] for i in VALUES if made.x[i]} == pytest.approx(left)
    if name not in ("elements", "marked"):
        return
    second = ti.ad.hvp(lambda: made.run(kernel), loss=made.loss, wrt=made.p, v=1.0)
    assert second == pytest.approx(n * (n - 1) * squares)


def decays(made: Program) -> Any:
    x, inner = made.x, made.inner

    @ti.kernel
    def kernel():
        for i in x:
            x[i] *= 0.5
            if x[i] < SMALL:
                ti.deactivate(inner, [i // 2])

    return kernel


def adds(made: Program) -> Any:
    x, inner, loss = made.x, made.inner, made.loss

    @ti.kernel
    def kernel():
        for i in x:
            loss[None] += x[i]
            if x[i] < SMALL:
                ti.deactivate(inner, [i // 2])

    return kernel


def looks_beside(made: Program) -> Any:
    x, inner = made.x, made.inner

    @ti.kernel
    def kernel():
        for i in range(2, 14):
            if x[i + 1] < SMALL:
                ti.deactivate(inner, [i // 2])

    return kernel


def decides_of_more(made: Program) -> Any:
    """Whether the outer cell goes depends on whether the inner one has gone."""
    x, inner, outer = made.x, made.inner, made.outer

    @ti.kernel
    def kernel():
        for i in x:
            if x[i] > 0.6:
                ti.deactivate(outer, [i // 4])
            if i % 2 == 0:
                ti.deactivate(inner, [i // 2])

    return kernel


def looks_behind(made: Program) -> Any:
    x, inner, loss = made.x, made.inner, made.loss

    @ti.kernel
    def kernel():
        for cell in inner:
            loss[None] += x[2 * cell + 4] * x[2 * cell]
            ti.deactivate(inner, [cell])

    return kernel


@pytest.mark.parametrize("make", [decays, adds, looks_beside, decides_of_more, looks_behind])
def test_an_order_that_matters_is_refused(make: Callable[[Program], Any]) -> None:
    made = Program()
    kernel = make(made)
    refusal = (ti.TaichiRuntimeError, ti.TaichiCompilationError)
    cure = "note in a field which cells are to be deactivated"
    with pytest.raises(refusal, match=cure), ti.ad.Tape(made.loss):
        made.run(kernel)


def test_a_loop_that_activates_is_not_told_to_be_serial_over_active_elements() -> None:
    made = Program()
    x = made.x

    @ti.kernel
    def spread():
        for i in x:
            x[i + 2] += x[i]

    cure = "or write to another field"
    with pytest.raises(ti.TaichiCompilationError, match=cure), ti.ad.Tape(made.loss):
        made.run(spread)


def test_a_tree_too_large_for_a_check_is_refused_where_it_would_be_needed() -> None:
    ti.init()
    x, loss = ti.field(ti.f32, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)
    block = ti.root.pointer(ti.ijk, 64).pointer(ti.ijk, 16)
    block.dense(ti.ijk, 8).place(x)

    @ti.kernel
    def square():
        for i in ti.grouped(x):
            loss[None] += x[i] ** 2

    @ti.kernel
    def decide():
        for i in ti.grouped(x):
            if x[i] < -SMALL:
                ti.deactivate(block, i // 8)

    @ti.kernel
    def add():
        for i in ti.grouped(x):
            loss[None] += x[i] ** 2
            if x[i] < -SMALL:
                ti.deactivate(block, i // 8)

    x[10, 10, 10], x[1000, 10, 10] = 3.0, -1.0
    with ti.ad.Tape(loss):
        decide()
        square()
    assert (x.grad[10, 10, 10], x.grad[1000, 10, 10]) == (6.0, 0.0)
    with pytest.raises(ti.TaichiCompilationError, match="too large to check"), ti.ad.Tape(loss):
        add()
