"""Built functions as functions of torch's autograd: held against torch's own gradients."""

from __future__ import annotations

from collections.abc import Callable
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


def _ours_and_torchs() -> tuple[Any, Any]:
    return _layer().torch(), lambda x, w: torch.tanh(x @ w)


def _transforms() -> dict[str, Callable[[Any, Any, Any], Any]]:
    """Of a function of two matrices; batches of both have a third axis."""
    of = torch.func
    return {
        "vmap": lambda f, x, w: of.vmap(f, (0, None))(_batch(x), w),
        "vmap over both": lambda f, x, w: of.vmap(f, (0, 2), 1)(_batch(x), _batch(w).movedim(0, 2)),
        "vmap of nothing": lambda f, x, w: of.vmap(f, (0, None))(_batch(x)[:0], w),
        "vmap of vmap": lambda f, x, w: of.vmap(of.vmap(f, (None, 0)), (0, None))(
            _batch(x), _batch(w)
        ),
        "jacrev": lambda f, x, w: of.jacrev(f, (0, 1))(x, w),
        "jacfwd": lambda f, x, w: of.jacfwd(f, (0, 1))(x, w),
        "hessian": lambda f, x, w: of.hessian(lambda v: (f(x, v) ** 2).sum())(w),
        "reverse over reverse": lambda f, x, w: of.jacrev(of.jacrev(lambda v: f(x, v).sum()))(w),
        "vmap of grad": lambda f, x, w: of.vmap(of.grad(lambda x: f(x, w).sum()))(_batch(x)),
        "jvp": lambda f, x, w: of.jvp(f, (x, w), (x + 1, w)),
        "vjp": lambda f, x, w: of.vjp(f, x, w)[1](torch.ones(2, 4, dtype=torch.float64)),
    }


def _batch(x: Any) -> Any:
    return torch.stack([x, 2 * x, x - 1])


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_transforms_of_torch() -> None:
    x, w = (one.detach() for one in _tensors((2, 6), (6, 4)))
    for name, transform in _transforms().items():
        found, wanted = (transform(f, x, w) for f in _ours_and_torchs())
        leaves = zip(*(torch.utils._pytree.tree_leaves(one) for one in (found, wanted)))
        for own, expected in leaves:
            np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_transforms_with_integers_and_several_outputs() -> None:
    table, rows = te.placeholder((7, 3), ti.f64), te.placeholder((2,), ti.i64)
    taken = te.compute((2, 3), lambda i, j: table[rows[i], j] ** 2)
    lookup = te.build([taken, te.compute((2,), lambda i: rows[i] + 1)], [table, rows]).torch()
    (x,) = (one.detach() for one in _tensors((7, 3)))
    chosen = torch.tensor([[1, 3], [6, 6]])
    values, behind = torch.func.vmap(lookup, (None, 0))(x, chosen)
    np.testing.assert_allclose(values, x[chosen] ** 2)
    np.testing.assert_array_equal(behind, chosen + 1)
    for transform in (torch.func.jacrev, torch.func.jacfwd):
        found = transform(lambda v: lookup(v, chosen[0])[0])(x)
        wanted = transform(lambda v: v[chosen[0]] ** 2)(x)
        np.testing.assert_allclose(found, wanted)


def test_integers_and_several_outputs() -> None:
    table, rows = te.placeholder((7, 3), ti.f64), te.placeholder((5,), ti.i32)
    k = te.reduce_axis(3)
    taken = te.compute((5, 3), lambda i, j: table[rows[i], j] ** 2)
    best = te.compute((5,), lambda i: te.argmax(table[rows[i], k], axis=k))
    lookup = te.build([taken, best], [table, rows]).torch()
    (x,) = _tensors((7, 3))
    chosen = torch.tensor([1, 3, 3, 0, 6])  # of 64 bits, where 32 are asked for
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
    with pytest.raises(
        TaichiRuntimeTypeError, match=_HERE + "'w' has type f64, but got an array of type f32"
    ):
        layer(x, w.float())
    with pytest.raises(TaichiRuntimeTypeError, match=_HERE + "layer takes 2 arrays"):
        layer(x)
    with pytest.raises(TypeError, match=r"layer: argument 1: expected a torch.Tensor, got ndarray"):
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
