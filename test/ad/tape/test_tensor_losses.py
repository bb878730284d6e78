"""Tapes whose loss is a tensor of torch."""

from __future__ import annotations

from typing import Any

import pytest

import mlirad as ti

torch: Any = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init()


@ti.kernel
def cubes(x: ti.types.ndarray(), y: ti.types.ndarray()):  # type: ignore[valid-type]
    for i in x:
        y[0] += x[i] ** 3


def test_gradients_of_a_tensor() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = torch.full((1,), 7.0, requires_grad=True)
    for count in 1, 2:  # gradients of tensors are added to
        with ti.ad.Tape(loss) as tape:
            cubes(x, loss)
        assert loss.item() == 9 and loss.grad.item() == 1
        assert x.grad.tolist() == [3 * count, 12 * count]
    tape.grad()
    assert x.grad.tolist() == [9, 36]


def test_gradients_pass_through_fields_and_ndarrays() -> None:
    w, y = ti.field(ti.f32, (), needs_grad=True), ti.ndarray(ti.f32, 2, needs_grad=True)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = torch.zeros((), requires_grad=True)
    w[None] = 3

    @ti.kernel
    def scale(x: ti.types.ndarray(), y: ti.types.ndarray()):  # type: ignore[valid-type]
        for i in x:
            y[i] = w[None] * x[i] ** 2

    @ti.kernel
    def total(y: ti.types.ndarray(), loss: ti.types.ndarray()):  # type: ignore[valid-type]
        for i in y:
            loss[None] += y[i] ** 2

    with ti.ad.Tape(loss):
        scale(x, y)
        total(y, loss)
    assert loss.item() == 153
    assert x.grad.tolist() == [36, 288] and w.grad[None] == 102


def test_what_cannot_be_a_loss_is_refused() -> None:
    with pytest.raises(RuntimeError, match="must be a tensor only contains one element, not 2"):
        ti.ad.Tape(torch.zeros(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="please set requires_grad=True"):
        ti.ad.Tape(torch.zeros(1))
    loss = torch.zeros(1, requires_grad=True)
    with pytest.raises(
        ti.TaichiTypeError, match="expected a field or an ndarray as the loss, got a tensor"
    ):
        ti.ad.Tape(loss, grad_check=[ti.field(ti.f64, (), needs_grad=True)])
    outer = ti.field(ti.f32, (), needs_grad=True)
    with ti.ad.Tape() as tape:
        outer.fill(0)
        with (
            pytest.raises(ti.TaichiRuntimeError, match="a tape inside"),
            ti.ad.Tape(loss),
        ):
            pass
    assert not tape.is_broken_off


def test_a_loss_that_nothing_writes_to() -> None:
    x, loss = torch.ones(2, requires_grad=True), torch.zeros(1, requires_grad=True)
    other = torch.zeros(1, requires_grad=True)
    said = "writes to its loss, a tensor of torch"
    with pytest.warns(UserWarning, match=said), ti.ad.Tape(loss):
        cubes(x, other)
    assert x.grad.tolist() == [0, 0]
