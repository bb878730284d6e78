"""Derivatives of programs over fields, as functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradients import scalar, slope, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")


class Chain:
    """x -> h -> y: a hidden state without a gradient of its own, and an output of three
    elements."""

    def __init__(self) -> None:
        self.x, self.w = variable(4), variable(4, seed=1)
        self.h = ti.field(ti.f64, 4, needs_grad=True, name="h")
        self.y = ti.field(ti.f64, 3, needs_grad=True, name="y")
        self.steps = ti.field(ti.i32, ())
        self.inputs = [self.x, self.w]

    def run(self) -> None:
        self.hide()
        self.read()

    @ti.kernel
    def hide(self):
        self.steps[None] += 1
        for i in self.x:
            self.h[i] = ti.sin(self.x[i]) * self.w[i]

    @ti.kernel
    def read(self):
        for k in self.y:
            for i in range(4):
                self.y[k] += self.h[i] ** (k + 1)

    @staticmethod
    def value(x: np.ndarray[Any, Any], w: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What the program computes, in NumPy."""
        h = np.sin(x) * w
        return np.array([h.sum(), (h**2).sum(), (h**3).sum()])


Chain = ti.data_oriented(Chain)  # type: ignore[misc]


@pytest.fixture
def chain(f64: int) -> Any:
    return Chain()


def points() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Inputs for the chain."""
    random = np.random.default_rng(3)
    return random.uniform(0.2, 1.2, 4), random.uniform(-1.0, 1.0, 4)


def jacobian(f: Callable[..., Any], at: tuple[Any, ...], number: int) -> np.ndarray[Any, Any]:
    """Rows of outputs, columns of the elements of one input, by finite differences of NumPy."""
    columns = []
    for unit in np.eye(at[number].size):

        def moved(h: float, unit: Any = unit) -> Any:
            return f(*[a + h * unit if k == number else a for k, a in enumerate(at)])

        columns.append([slope(lambda h, j=j: moved(h)[j]) for j in range(3)])  # type: ignore[misc]
    return np.array(columns).T


def test_the_program_of_seed_003() -> None:
    x1, x2, x3, y = scalar(), scalar(), scalar(), scalar()

    @ti.kernel
    def f():
        y[None] += x1[None] ** 3 + 2 * x2[None] ** 2 - 3 * x3[None] + 1

    dfdx = ti.ad.grad(f, inputs=[x1, x2, x3], output=y)
    assert dfdx(1.0, 2.0, 3.0) == (3.0, 8.0, -3.0)
    assert dfdx(1.0, 2.0, 3.0) == (3.0, 8.0, -3.0)  # nothing is left over from the first call
    value, gradients = ti.ad.value_and_grad(f, inputs=[x1, x2, x3], output=y)(2.0, 1.0, 0.0)
    assert (value, gradients) == (11.0, (12.0, 4.0, -3.0))


def test_one_input_gives_one_array() -> None:
    x, y = variable(5), scalar()

    @ti.kernel
    def f():
        for i in x:
            y[None] += x[i] ** 2

    numbers = np.arange(5.0)
    found = ti.ad.grad(f, inputs=x, output=y)(numbers)
    assert isinstance(found, np.ndarray)
    assert found == pytest.approx(2 * numbers)


def test_adjoints_and_tangents_of_a_program(chain: Any) -> None:
    x, w = points()
    in_x, in_w = (jacobian(chain.value, (x, w), k) for k in (0, 1))
    head, v, u = (
        np.array([0.5, -2.0, 1.5]),
        np.array([1.0, 0.0, -1.0, 2.0]),
        np.array([0.3, 0.1, 0.0, -1.0]),
    )
    value, adjoints = ti.ad.vjp(chain.run, inputs=chain.inputs, output=chain.y)(x, w, head)
    assert value == pytest.approx(chain.value(x, w))
    assert adjoints[0] == pytest.approx(head @ in_x, rel=1e-8)
    assert adjoints[1] == pytest.approx(head @ in_w, rel=1e-8)
    again = ti.ad.grad(chain.run, inputs=chain.inputs, output=chain.y, head=head)(x, w)
    assert [list(a) for a in again] == [list(a) for a in adjoints]
    value, tangent = ti.ad.jvp(chain.run, inputs=chain.inputs, output=chain.y)(x, w, tangent=(v, u))
    assert value == pytest.approx(chain.value(x, w))
    assert tangent == pytest.approx(in_x @ v + in_w @ u, rel=1e-8)
    assert head @ tangent == pytest.approx(adjoints[0] @ v + adjoints[1] @ u, rel=1e-12)


def test_a_call_leaves_other_fields_alone(chain: Any) -> None:
    chain.steps[None] = 7
    chain.h.fill(0.25)
    x, w = points()
    for derivative in (
        ti.ad.vjp(chain.run, inputs=chain.inputs, output=chain.y),
        lambda a, b, _: ti.ad.jvp(chain.run, inputs=chain.inputs, output=chain.y)(a, b, (x, w)),
    ):
        derivative(x, w, np.ones(3))
        assert chain.steps[None] == 7
        assert list(chain.h.to_numpy()) == [0.25] * 4
        assert list(chain.x.to_numpy()) == list(x)
        assert chain.y.to_numpy() == pytest.approx(chain.value(x, w))


def test_several_outputs() -> None:
    x, y, z = variable(3), scalar(), variable(3)

    @ti.kernel
    def f():
        for i in x:
            y[None] += x[i] ** 2
            z[i] = ti.exp(x[i])

    v = np.array([0.1, 0.5, -0.3])
    head = np.array([1.0, 2.0, 3.0])
    (sum_of_squares, _), gradient = ti.ad.vjp(f, inputs=x, output=[y, z])(v, [2.0, head])
    assert sum_of_squares == pytest.approx((v**2).sum())
    assert gradient == pytest.approx(4 * v + head * np.exp(v))


def test_vectors_matrices_and_ndarrays() -> None:
    m, v = (
        ti.Matrix.field(2, 2, ti.f64, shape=(), needs_grad=True),
        ti.ndarray(ti.f64, 2, needs_grad=True),
    )
    y = scalar()

    @ti.kernel
    def f(v: ti.types.ndarray(ti.f64, ndim=1)):
        w = m[None] @ ti.Vector([v[0], v[1]])
        y[None] += w.norm_sqr()

    a, b = np.array([[1.0, 2.0], [-0.5, 0.3]]), np.array([0.7, -1.1])
    in_m, in_v = ti.ad.grad(lambda: f(v), inputs=[m, v], output=y)(a, b)
    assert in_m == pytest.approx(2 * np.outer(a @ b, b))
    assert in_v == pytest.approx(2 * a.T @ (a @ b))


def test_state_overwritten_in_place() -> None:
    """Twenty steps of the logistic map on the input itself."""
    x, y = scalar(), scalar()

    @ti.kernel
    def step():
        x[None] = 3.5 * x[None] * (1 - x[None])

    @ti.kernel
    def read():
        y[None] += x[None] ** 2

    def run() -> None:
        for _ in range(20):
            step()
        read()

    def reference(h: float) -> float:
        state = 0.3 + h
        for _ in range(20):
            state = 3.5 * state * (1 - state)
        return state**2

    assert ti.ad.grad(run, inputs=x, output=y)(0.3) == pytest.approx(
        slope(lambda h: reference(h * 1e-3) * 1e3), rel=1e-6
    )


# Adjoints replaced on their way.


def test_overrides(chain: Any) -> None:
    x, w = points()
    head = np.array([0.5, -2.0, 1.5])
    arrived = []

    def clipped(adjoint: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        arrived.append(adjoint)
        return np.clip(adjoint, -0.4, 0.4)

    gradient = ti.ad.grad(
        chain.run, inputs=chain.inputs, output=chain.y, head=head, override={chain.h: clipped}
    )
    in_x, in_w = gradient(x, w)
    h = np.sin(x) * w
    at_h = head[0] + 2 * head[1] * h + 3 * head[2] * h**2
    assert arrived[0] == pytest.approx(at_h)
    assert np.abs(at_h).max() > 0.4
    assert in_x == pytest.approx(np.clip(at_h, -0.4, 0.4) * np.cos(x) * w)
    assert in_w == pytest.approx(np.clip(at_h, -0.4, 0.4) * np.sin(x))


def test_overrides_of_inputs_and_outputs(chain: Any) -> None:
    x, w = points()
    plain = ti.ad.grad(
        chain.run, inputs=chain.inputs, output=chain.y, head=np.array([0.0, 2.0, 0.0])
    )(x, w)
    found = ti.ad.grad(
        chain.run,
        inputs=chain.inputs,
        output=chain.y,
        head=np.ones(3),
        override={
            chain.y: lambda adjoint: adjoint * [0.0, 2.0, 0.0],
            chain.x: lambda adjoint: adjoint + 1,
        },
    )(x, w)
    assert found[0] == pytest.approx(plain[0] + 1)
    assert found[1] == pytest.approx(plain[1])


def refused(function: Any, *args: Any, **named: Any) -> str:
    with pytest.raises((ti.TaichiTypeError, ti.TaichiRuntimeError)) as error:
        function(*args, **named)
    return str(error.value)


def test_overrides_that_have_no_one_place(chain: Any) -> None:
    x, w = points()
    plain = ti.field(ti.f64, 4, name="plain")

    def twice() -> None:
        chain.run()
        chain.hide()

    @ti.kernel
    def both():
        for i in chain.x:
            chain.h[i] = chain.x[i] * chain.w[i]
        for i in chain.x:
            chain.y[0] += chain.h[i]

    def attempt(run: Any, override: Any) -> str:
        return refused(
            ti.ad.grad(
                run, inputs=chain.inputs, output=chain.y, head=np.ones(3), override=override
            ),
            x,
            w,
        )

    def unchanged(adjoint: Any) -> Any:
        return adjoint

    assert "'hide'" in attempt(twice, {chain.h: unchanged})
    assert "writes it and reads it" in attempt(both, {chain.h: unchanged})
    assert "it has no gradient" in attempt(chain.run, {plain: unchanged})
    assert "dictionary of functions by field" in attempt(chain.run, {chain.h: 3.0})
    assert "gave an array of shape (2,)" in attempt(
        chain.run, {chain.h: lambda adjoint: adjoint[:2]}
    )


# What is refused.


def test_what_is_refused_before_anything_is_written(chain: Any) -> None:
    x, w = points()
    before = chain.x.to_numpy()
    named = {"inputs": chain.inputs, "output": chain.y}
    gradient = ti.ad.grad(chain.run, head=np.ones(3), **named)
    assert "1 arguments for 2 inputs" in refused(gradient, x)
    assert "shape (3,)" in refused(gradient, x, w[:3])
    assert "expected numbers" in refused(gradient, x, None)
    assert "only an output of shape ()" in refused(ti.ad.grad(chain.run, **named), x, w)
    assert "the seed of field 'y' has shape (2,)" in refused(
        ti.ad.vjp(chain.run, **named), x, w, np.ones(2)
    )
    assert "tangent" in refused(ti.ad.jvp(chain.run, **named), x, w, (x, w[:2]))
    assert "tangent is a list of 2 arrays" in refused(
        ti.ad.jvp(chain.run, **named), x, w, tangent=x
    )
    with ti.ad.Tape():
        assert "within a tape" in refused(gradient, x, w)
    assert list(chain.x.to_numpy()) == list(before)


def test_what_cannot_be_asked_for(chain: Any) -> None:
    @ti.func
    def f(x):
        return x

    plain = ti.field(ti.f64, (), name="plain")
    assert "takes inputs= and output=" in refused(ti.ad.grad, chain.run, output=chain.y)
    assert "inputs= and output=" in refused(ti.ad.grad, chain.run)
    assert "'f' is a @ti.func" in refused(ti.ad.grad, f, inputs=chain.x, output=chain.y)
    assert "argnums= belongs to a @ti.func" in refused(
        ti.ad.grad, chain.run, 1, inputs=chain.x, output=chain.y
    )
    assert "output field 'plain' has no gradient" in refused(
        ti.ad.grad, chain.run, inputs=chain.x, output=plain
    )
    assert "expected a field or an ndarray as input" in refused(
        ti.ad.jvp, chain.run, inputs=[1.0], output=chain.y
    )
    assert "expected a function that launches kernels" in refused(
        ti.ad.vjp, 3, inputs=chain.x, output=chain.y
    )


def test_an_error_in_the_program_leaves_fields_alone(chain: Any) -> None:
    def run() -> None:
        chain.run()
        raise ZeroDivisionError

    before = chain.x.to_numpy(), chain.steps[None]
    x, w = points()
    with pytest.raises(ZeroDivisionError):
        ti.ad.grad(run, inputs=chain.inputs, output=chain.y, head=np.ones(3))(x, w)
    assert list(chain.x.to_numpy()) == list(before[0])
    assert chain.steps[None] == before[1]


def test_a_field_given_twice(chain: Any) -> None:
    assert "among the inputs twice" in refused(
        ti.ad.grad, chain.run, inputs=[chain.x, chain.x], output=chain.y
    )
    assert "among the outputs twice" in refused(
        ti.ad.vjp, chain.run, inputs=chain.x, output=[chain.y, chain.y]
    )
