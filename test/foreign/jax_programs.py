"""Programs over fields, and built tensor expressions, under JAX's transformations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from foreign.chain import Chain

import mlirad as ti
from mlirad import te
from mlirad.errors import TaichiRuntimeError, TaichiTypeError

jax: Any = pytest.importorskip("jax")
X, W = np.array([0.1, 0.4, -0.7]), np.array([2.0])


@pytest.fixture(autouse=True)
def in_f64() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def chain() -> Chain:
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    return Chain()


def function_of(chain: Chain) -> Any:
    return ti.ad.program(chain.run, inputs=[chain.x, chain.w], output=[chain.y, chain.z]).jax()


def agree(found: Any, expected: Any) -> None:
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14), found, expected
    )


def loss_of(function: Any) -> Any:
    def loss(x: Any, w: Any) -> Any:
        total, ends = function(x * x, w)
        return total * ends.sum()

    return loss


@pytest.mark.parametrize("under", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_transformations_of_a_program(chain: Chain, under: Any) -> None:
    function = function_of(chain)

    def expected(x: Any, w: Any) -> Any:
        return chain.expected(x, w, jax.numpy)

    agree(under(function)(X, W), expected(X, W))
    for both in (
        lambda f: jax.value_and_grad(loss_of(f), argnums=(0, 1)),
        lambda f: jax.grad(loss_of(f)),
        lambda f: jax.jacfwd(f, argnums=1),
        lambda f: jax.jacrev(f, argnums=(0, 1)),
    ):
        agree(under(both(function))(X, W), both(expected)(X, W))
    rows = np.stack([X, 2 * X, -X])
    by_row = (jax.vmap(jax.grad(loss_of(f)), in_axes=(0, None)) for f in (function, expected))
    agree(*(under(one)(rows, W) for one in by_row))
    moved = (np.ones(3), np.array([0.5]))
    agree(
        under(lambda x, w: jax.jvp(function, (x, w), moved))(X, W),
        jax.jvp(expected, (X, W), moved),
    )


def test_finite_differences_of_a_program(chain: Chain) -> None:
    from jax.test_util import check_grads

    check_grads(function_of(chain), (X, W), order=1, modes=["fwd", "rev"], rtol=1e-6, atol=1e-6)


def test_types_are_jax_s(chain: Chain) -> None:
    jax.config.update("jax_enable_x64", False)
    total, ends = jax.jit(function_of(chain))(X.astype(np.float32), W.astype(np.float32))
    assert total.dtype == ends.dtype == np.float32
    np.testing.assert_allclose(ends, chain.expected(X, W)[1], rtol=1e-6)


def test_a_program_inside_a_loop_of_jax(chain: Chain) -> None:
    """Gradient descent under `lax.scan`."""
    gradient = jax.grad(lambda x: function_of(chain)(x, W)[0])

    def step(x: Any, _: Any) -> Any:
        return x - 0.05 * gradient(x), None

    found, _ = jax.jit(lambda x: jax.lax.scan(step, x, None, length=20))(X)
    assert float(abs(found).max()) < 0.1 * float(abs(X).max())


def test_bad_input(chain: Chain) -> None:
    function = function_of(chain)
    with pytest.raises(TaichiTypeError, match=r"shape \(4,\)"):
        function(np.ones(4), W)
    with pytest.raises(TypeError, match="takes 2 arrays, got 1"):
        function(X)
    with pytest.raises(TypeError, match="argument 0: expected an array of float64, got int64"):
        function(np.ones(3, np.int64), W)
    with (
        pytest.raises(TaichiRuntimeError, match="function of JAX was called in a tape"),
        ti.ad.Tape(chain.y),
    ):
        function(X, W)
    with pytest.raises(TaichiRuntimeError, match=r"second derivatives .* ti\.ad\.hvp"):
        jax.hessian(lambda x: function(x, W)[0])(X)


def test_a_built_function_to_second_order() -> None:
    ti.init(arch=ti.cpu)
    n = te.var("n")
    x, w = te.placeholder((n, 4), "float64", "x"), te.placeholder((4, 2), "float64", "w")
    r = te.reduce_axis(4)
    y = te.compute((n, 2), lambda i, j: te.tanh(te.sum(x[i, r] * w[r, j], axis=r)), "y")
    function = te.build(y, [x, w]).jax()

    def expected(x: Any, w: Any) -> Any:
        return jax.numpy.tanh(x @ w)

    rng = np.random.default_rng(5)
    at = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
    for both in (
        lambda f: f,
        lambda f: jax.grad(lambda x, w: (f(x, w) ** 2).sum(), argnums=(0, 1)),
        lambda f: jax.hessian(lambda x, w: (f(x, w) ** 3).sum(), argnums=1),
        lambda f: jax.jit(jax.jacrev(jax.jacfwd(f, argnums=0), argnums=1)),
    ):
        agree(both(function)(*at), both(expected)(*at))
    weights = np.stack([at[1], -at[1]], axis=-1)
    agree(*(jax.vmap(one, in_axes=(None, -1))(at[0], weights) for one in (function, expected)))


def test_integers_have_no_derivative() -> None:
    ti.init(arch=ti.cpu)
    table = te.placeholder((5, 2), "float64", "table")
    rows = te.placeholder((3,), "int32", "rows")
    taken = te.compute((3, 2), lambda i, j: table[rows[i], j] ** 2, "taken")
    best = te.compute((3,), lambda i: rows[i] + 1, "best")
    function = te.build([taken, best], [table, rows]).jax()
    values, chosen = np.arange(10.0).reshape(5, 2), np.array([0, 3, 3], np.int32)
    found = jax.grad(lambda t: function(t, chosen)[0].sum())(values)
    expected = np.zeros((5, 2))
    np.add.at(expected, chosen, 2 * values[chosen])
    np.testing.assert_allclose(found, expected)
    assert jax.jit(function)(values, chosen)[1].tolist() == [1, 4, 4]
