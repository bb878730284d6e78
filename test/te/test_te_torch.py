"""Built functions as functions of torch's autograd: held against torch's own gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad import te
from mlirad.errors import TaichiRuntimeError, TaichiRuntimeTypeError

torch: Any = pytest.importorskip("torch")
_HERE = r"test_te_torch.py:\d+:\d+: .*"


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(default_fp=ti.f64, opt_level=1)


def _layer() -> Any:
    n = te.var("n")
    x, w = te.placeholder((n, 6), ti.f64, "x"), te.placeholder((6, 4), ti.f64, "w")
    k = te.reduce_axis(6)
    product = te.compute((n, 4), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k))
    return te.build(te.compute((n, 4), lambda i, j: te.tanh(product[i, j])), [x, w], "layer")


def _tensors(*shapes: tuple[int, ...]) -> list[Any]:
    generator = torch.Generator().manual_seed(3)
    return [
        torch.randn(s, dtype=torch.float64, generator=generator, requires_grad=True) for s in shapes
    ]


def test_gradients_of_any_order() -> None:
    layer = _layer().torch()
    x, w = _tensors((5, 6), (6, 4))
    np.testing.assert_allclose(layer(x, w).detach(), torch.tanh(x @ w).detach(), rtol=1e-12)
    assert torch.autograd.gradcheck(layer, (x, w))
    assert torch.autograd.gradgradcheck(layer, (x, w))
    third = [_third(function, x, w) for function in (layer, lambda x, w: torch.tanh(x @ w))]
    np.testing.assert_allclose(third[0], third[1], rtol=1e-9)


def _third(function: Any, x: Any, w: Any) -> Any:
    value = function(x, w).sum()
    for _ in range(3):
        (value,) = torch.autograd.grad(value, w, create_graph=True)
        value = (value**2).sum()
    return value.detach()


def test_among_functions_of_torch() -> None:
    """Other sizes, views that are not contiguous, inputs without a gradient."""
    layer = _layer().torch()
    for rows in (3, 7):
        x, w = _tensors((6, rows), (4, 6))
        x.requires_grad_(False)
        loss = (torch.relu(layer(x.T, w.T)) ** 2).sum()
        loss.backward()
        found, w.grad = w.grad, None
        (torch.relu(torch.tanh(x.T @ w.T)) ** 2).sum().backward()
        np.testing.assert_allclose(found, w.grad, rtol=1e-10)
        assert x.grad is None


def test_integers_and_several_outputs() -> None:
    table, rows = te.placeholder((7, 3), ti.f64), te.placeholder((5,), ti.i32)
    k = te.reduce_axis(3)
    taken = te.compute((5, 3), lambda i, j: table[rows[i], j] ** 2)
    best = te.compute((5,), lambda i: te.argmax(table[rows[i], k], axis=k))
    lookup = te.build([taken, best], [table, rows]).torch()
    (x,) = _tensors((7, 3))
    chosen = torch.tensor([1, 3, 3, 0, 6], dtype=torch.int32)
    values, places = lookup(x, chosen)
    assert not places.requires_grad
    np.testing.assert_array_equal(places, x[chosen.long()].argmax(1))
    values.sum().backward()
    expected = np.zeros((7, 3))
    np.add.at(expected, chosen.numpy(), 2 * x.detach().numpy()[chosen.numpy()])
    np.testing.assert_allclose(x.grad, expected, rtol=1e-12)


def test_what_is_refused() -> None:
    layer, loss = _layer().torch(), ti.field(ti.f64, (), needs_grad=True)
    x, w = _tensors((5, 6), (6, 4))
    with pytest.raises(TaichiRuntimeTypeError, match=_HERE + "'w' is of type f64"):
        layer(x, w.float())
    with pytest.raises(TaichiRuntimeTypeError, match=_HERE + "layer takes 2 arrays"):
        layer(x)
    with pytest.raises(TypeError, match="layer: a ndarray is no tensor of torch"):
        layer(x, np.ones((6, 4)))
    y = layer(x, w)
    with torch.no_grad():
        w += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    with (
        pytest.raises(TaichiRuntimeError, match="layer: a function of torch's autograd"),
        ti.ad.Tape(loss),
    ):
        layer(x, w)
