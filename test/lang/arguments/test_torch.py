"""torch tensors as arguments, as inputs of derivatives, and programs as functions of torch's
autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti

torch: Any = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def program() -> Any:
    ti.init(default_fp=ti.f64)
    yield
    ti.reset()


def test_arguments() -> None:
    @ti.kernel
    def square(t: ti.types.ndarray(), s: ti.types.ndarray()):
        for i in t:
            s[i] = t[i] * t[i]

    result = torch.zeros(5)
    square(torch.arange(5, dtype=torch.float32), result)
    assert result.tolist() == [0, 1, 4, 9, 16]


def test_gradients_of_arguments() -> None:
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def cubes(t: ti.types.ndarray()):
        for i in t:
            loss[None] += t[i] ** 3

    t = torch.arange(4, dtype=torch.float64, requires_grad=True)
    with ti.ad.Tape(loss):
        cubes(t)
    assert t.grad.tolist() == [0, 3, 12, 27]


@ti.kernel
def squares(x: ti.types.ndarray(ndim=2), y: ti.types.ndarray(ndim=2)):
    for i, j in x:
        y[i, j] = x[i, j] * x[i, j]


@pytest.mark.parametrize("layout", ["expanded", "rows", "turned", "strided", "sparse"])
def test_gradients_that_are_not_contiguous(layout: str) -> None:
    values = torch.arange(1.0, 7.0).reshape(2, 3)
    given = {
        "expanded": torch.full((), 2.0).expand(2, 3),
        "rows": torch.tensor([1.0, 2.0, 3.0]).expand(2, 3),
        "turned": torch.arange(6.0).reshape(3, 2).T,
        "strided": torch.arange(12.0).reshape(2, 6)[:, ::2],
        "sparse": torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]]).to_sparse(),
    }[layout]
    x, y = values.clone().requires_grad_(), torch.zeros(2, 3, requires_grad=True)
    squares(x, y)
    y.grad = given
    expected = (given.to_dense() * 2 * values).tolist()
    squares.grad(x, y)
    assert x.grad.tolist() == expected


def test_the_gradient_of_a_sum_by_autograd() -> None:
    class Squares(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = torch.zeros_like(x)
            ctx.save_for_backward(x, y)
            squares(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, adjoint: Any) -> Any:
            x, y = (tensor.detach().requires_grad_() for tensor in ctx.saved_tensors)
            y.grad = adjoint
            squares.grad(x, y)
            return x.grad

    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    Squares.apply(x).sum().backward()
    assert x.grad.tolist() == [[0, 2, 4], [6, 8, 10]]


def test_a_tensor_that_is_not_contiguous() -> None:
    x = torch.zeros(3, 2).T.requires_grad_()
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"Argument x: non contiguous tensors"):
        squares(x, torch.zeros(2, 3))


@pytest.mark.parametrize(
    "dtype, cure",
    [
        ("bfloat16", r"x\.float\(\) is a copy that holds the same numbers"),
        ("float8_e4m3fn", r"x\.float\(\) is a copy that holds the same numbers"),
        ("complex64", r"contiguous copies of x\.real and x\.imag can be passed"),
    ],
)
def test_types_that_numpy_has_not(dtype: str, cure: str) -> None:
    x = torch.ones(2, 3).to(getattr(torch, dtype))
    with pytest.raises(ti.TaichiRuntimeTypeError, match=rf"rgument x.*{cure}"):
        squares(x, torch.zeros(2, 3))
    squares(x.real.float().contiguous(), torch.zeros(2, 3))


def test_programs() -> None:
    x, z = (ti.field(ti.f64, 4, needs_grad=True) for _ in range(2))
    p = ti.Vector.field(2, ti.f64, 3, needs_grad=True)
    y = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def run():
        for i in x:
            z[i] = ti.sin(x[i]) * p[0][0]
        for i in x:
            y[None] += z[i] ** 2

    gradient = ti.ad.grad(run, inputs=[x, p], output=y)
    a, b = torch.arange(4, dtype=torch.float64), torch.ones(3, 2, dtype=torch.float64)
    by_hand = 2 * np.sin(a.numpy()) * np.cos(a.numpy())
    in_a, in_b = gradient(a, b)
    assert isinstance(in_a, torch.Tensor) and isinstance(in_b, torch.Tensor)
    np.testing.assert_allclose(in_a.numpy(), by_hand, rtol=1e-14)
    assert in_b[0, 0].item() == pytest.approx(2 * np.sum(np.sin(a.numpy()) ** 2), rel=1e-14)
    value, tangent = ti.ad.jvp(run, inputs=[x, p], output=z)(
        a, b, tangent=(torch.ones_like(a), torch.zeros_like(b))
    )
    np.testing.assert_allclose(value.numpy(), np.sin(a.numpy()), rtol=1e-14)
    np.testing.assert_allclose(tangent.numpy(), np.cos(a.numpy()), rtol=1e-14)

    class Run(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, a: Any, b: Any) -> Any:
            context.save_for_backward(a, b)
            x.from_torch(a.detach())
            p.from_torch(b.detach())
            y[None] = 0
            run()
            return torch.tensor(y[None], dtype=torch.float64)

        @staticmethod
        def backward(context: Any, adjoint: Any) -> Any:
            return tuple(
                adjoint * part for part in gradient(*(t.detach() for t in context.saved_tensors))
            )

    a.requires_grad_(True)
    (3.0 * Run.apply(a, b)).backward()
    np.testing.assert_allclose(a.grad.numpy(), 3.0 * by_hand, rtol=1e-14)


def test_tensors_on_a_tape() -> None:
    x, loss = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    x.from_numpy(np.arange(1.0, 5))

    @ti.kernel
    def weigh(t: ti.types.ndarray()):
        for i in x:
            loss[None] += t[i] * x[i]

    @ti.kernel
    def add_to(t: ti.types.ndarray()):
        for i in x:
            t[i] += x[i]

    refilled = torch.zeros(4, dtype=torch.float64)
    with ti.ad.Tape(loss):
        for k in range(5):
            refilled.fill_(2.0 * k)
            weigh(refilled)
    assert x.grad.to_numpy().tolist() == [20] * 4
    weights = torch.ones(4, dtype=torch.float64, requires_grad=True)
    for epoch in range(1, 4):  # as in torch, gradients add up
        with ti.ad.Tape(loss):
            weigh(weights)
        assert weights.grad.tolist() == [epoch * k for k in (1, 2, 3, 4)]
        assert x.grad.to_numpy().tolist() == [1] * 4
    carrier = torch.zeros(4, dtype=torch.float64)
    with (
        pytest.warns(UserWarning, match="array argument 't' of kernel 'add_to' .* has no gradient"),
        ti.ad.Tape(loss),
    ):
        add_to(carrier)
        weigh(carrier)
    assert x.grad.to_numpy().tolist() == [2, 4, 6, 8]


class CopyingTensor(torch.Tensor):  # type: ignore[misc]
    """As a class of Genesis: what it gives detached is a copy."""

    def detach(self) -> Any:
        return super().detach().clone()


def test_a_subclass_whose_detach_copies() -> None:
    """The kernel writes to the tensor's memory, and the tape reads it there."""

    @ti.kernel
    def square(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in range(a.shape[0]):
            b[i] = a[i] * a[i]

    x = torch.arange(1000, dtype=torch.float64).as_subclass(CopyingTensor).requires_grad_()
    y = torch.zeros(1000, dtype=torch.float64).as_subclass(CopyingTensor)
    for _ in range(3):
        square(x, y)
        torch.zeros(1000, dtype=torch.float64)  # what would be given the memory of a copy
    assert torch.equal(y.as_subclass(torch.Tensor), x.data.as_subclass(torch.Tensor) ** 2)
