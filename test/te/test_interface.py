"""Heads, overrides, operators, Jacobians, second order; arrays of all kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from te.derivatives import given

import mlirad as ti
from mlirad import te
from mlirad.errors import TaichiTypeError


@pytest.fixture(autouse=True, params=["x64", "simt"])
def _program(request: pytest.FixtureRequest) -> None:
    ti.init(arch=request.param, default_fp=ti.f64, opt_level=1)


def _layer() -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    x, w = given(5, 6), given(6, 4, name="w")
    k = te.reduce_axis(6)
    return x, w, te.compute((5, 4), lambda i, j: te.tanh(te.sum(x[i, k] * w[k, j], axis=k)))


def _values(*tensors: te.Tensor) -> list[np.ndarray[Any, Any]]:
    return [np.random.default_rng(k).normal(size=t.shape) for k, t in enumerate(tensors)]


def test_what_is_shown() -> None:
    n, k = te.var("n"), te.reduce_axis(3, name="k")
    x = te.placeholder((n, 2), ti.f32, name="x")
    assert (repr(x.shape), repr(k)) == ("(n, 2)", "k")
    assert repr(x).startswith("Tensor(x, (n") and repr(x).endswith("2), f32)")


def test_functions_know_their_names() -> None:
    for name in te.__all__:
        if callable(getattr(te, name)):
            assert getattr(te, name).__name__ == name


def test_heads_with_axes_in_front() -> None:
    x, w, y = _layer()
    head = given(3, 5, 4)
    found = te.build(list(te.differentiate(y, [x, w], head=head)), [x, w, head])
    one = given(5, 4)
    alone = te.build(list(te.differentiate(y, [x, w], head=one)), [x, w, one])
    a, c, heads = _values(x, w, head)
    together = found(a, c, heads)
    for number in range(3):
        for own, expected in zip(together, alone(a, c, heads[number])):
            np.testing.assert_allclose(own[number], expected, rtol=1e-12)


def test_without_heads() -> None:
    x, w, y = _layer()
    (jacobian,) = te.build(list(te.differentiate(y, [w])), [x, w])(*_values(x, w))
    assert jacobian.shape == (5, 4, 6, 4)
    a, c = _values(x, w)
    slopes = 1 - np.tanh(a @ c) ** 2
    np.testing.assert_allclose(
        jacobian, np.einsum("ij,ik,jl->ijkl", slopes, a, np.eye(4)), rtol=1e-10, atol=1e-14
    )
    rows, columns = te.reduce_axis(5), te.reduce_axis(4)
    total = te.compute((), lambda: te.sum(y[rows, columns], axis=(rows, columns)))
    (gradient,) = te.build(list(te.differentiate(total, [w])), [x, w])(a, c)
    np.testing.assert_allclose(gradient, jacobian.sum((0, 1)), rtol=1e-10)


def test_several_outputs_and_adjoints_between() -> None:
    x, w, y = _layer()
    z = te.compute((5, 4), lambda i, j: y[i, j] * y[i, j] + x[i, j], "z")
    h, g = given(5, 4, name="h"), given(5, 4, name="g")
    result = te.differentiate([y, z], [x, w], head=[h, g])
    parts = result.adjoint_summands[y]
    assert set(parts) == {y, z} and len(result) == 2
    outputs = [result.adjoints[y], parts[y], parts[z]]
    whole, own, through = te.build(outputs, [x, w, h, g])(*_values(x, w, h, g))
    np.testing.assert_allclose(whole, own + through, rtol=1e-12)
    assert w in te.differentiate(y, head=h).adjoints


def test_an_input_that_is_not_reached() -> None:
    _, _, y = _layer()
    other, head = given(3, 3, name="other"), given(5, 4)
    found = te.build(list(te.differentiate(y, [other], head=head)), [head])(np.ones((5, 4)))
    np.testing.assert_array_equal(found[0], np.zeros((3, 3)))


def test_overrides_and_steps() -> None:
    x, w, y = _layer()
    head = given(5, 4)
    values = _values(x, w, head)

    def built(**options: Any) -> Any:
        return te.build(list(te.differentiate(y, [x, w], head=head, **options)), [x, w, head])

    usual = built()(*values)
    double = built(
        override={
            y: ([x], lambda t, i, h: te.compute((5, 6), lambda a, b: 2 * h[a, 0] * i[0][a, b]))
        }
    )(*values)
    np.testing.assert_allclose(double[0], 2 * values[2][:, :1] * values[0], rtol=1e-12)
    np.testing.assert_array_equal(double[1], 0)

    def by_jacobian(output: te.Tensor, tensor: te.Tensor, own: te.Tensor) -> te.Tensor:
        slope = te.jacobian(output, tensor)
        axes = [te.reduce_axis(extent) for extent in output.shape]
        return te.compute(
            tensor.shape,
            lambda *i: te.sum(own[tuple(axes)] * slope[(*axes, *i)], axis=tuple(axes)),
        )

    for found, expected in zip(built(fdiff=by_jacobian)(*values), usual):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


def test_overrides_of_distant_tensors() -> None:
    """A mean of squares, of which two steps are taken together; one tensor twice adds up."""
    x, head = given(6), given()
    k = te.reduce_axis(6)
    squares = te.compute((6,), lambda i: x[i] * x[i])
    mean = te.compute((), lambda: te.sum(squares[k], axis=k) / 6)

    def slope(output: te.Tensor, inputs: Any, own: te.Tensor) -> list[te.Tensor]:
        return [te.compute((6,), lambda i: own() * inputs[0][i] / 6)] * 2

    result = te.differentiate(mean, [x], head, override={mean: ([x, x], slope)})
    outputs = [result[0], result.adjoint_summands[x][mean], *te.differentiate(mean, [x, x], head)]
    values = np.random.default_rng(1).normal(size=6)
    for own in te.build(outputs, [x, head])(values, np.array(3.0)):
        np.testing.assert_allclose(own, values)
    assert squares not in result.adjoints


def test_lists_of_heads_with_axes_in_front() -> None:
    x, w, y = _layer()
    rows = te.reduce_axis(5)
    total = te.compute((4,), lambda j: te.sum(y[rows, j] ** 2, axis=rows))
    above, below = given(2, 5, 4), given(2, 4)
    both = te.differentiate([y, total], [x, w], head=[above, below])
    alone = [te.differentiate(one, [x, w], own) for one, own in ((y, above), (total, below))]
    step = te.build([*both, *alone[0], *alone[1]], [x, w, above, below])
    found = step(*_values(x, w, above, below))
    for k in range(2):
        np.testing.assert_allclose(found[k], found[2 + k] + found[4 + k], rtol=1e-10)
    assert found[0].shape == (2, 5, 6)


def test_operators_with_a_gradient() -> None:
    @te.operator
    def doubled(x: te.Tensor) -> te.Tensor:
        return te.compute(x.shape, lambda i: 2 * x[i])

    x, head = given(4), given(4)
    doubled.def_gradient(lambda y, inputs, h: te.compute((4,), lambda i: 100 * h[i]))
    y = doubled(doubled(x))
    doubled.def_gradient(None)
    z = doubled(x)
    f = te.build([*te.differentiate(y, [x], head), *te.differentiate(z, [x], head)], [head])
    first, second = f(np.ones(4))
    np.testing.assert_array_equal(first, 10_000)
    np.testing.assert_array_equal(second, 2)


def _positional(y: te.Tensor, tensors: Any, above: te.Tensor) -> list[te.Tensor]:
    return [te.compute(above.shape, lambda i: (y[i] + tensors[0][i]) * above[i])]


def _named(output: te.Tensor, inputs: Any, head: te.Tensor) -> list[te.Tensor]:
    return _positional(output, inputs, head)


def _in_another_order(inputs: Any, output: te.Tensor, head: te.Tensor) -> list[te.Tensor]:
    return _positional(output, inputs, head)


@pytest.mark.parametrize("gradient", [_positional, _named, _in_another_order])
def test_what_gradients_of_operators_are_given(gradient: Callable[..., Any]) -> None:
    """The output, the inputs and the head, in this order, or by their names."""

    @te.operator
    def squared(x: te.Tensor) -> te.Tensor:
        return te.compute(x.shape, lambda i: x[i] * x[i])

    squared.def_gradient(gradient)
    x, head = given(2), given(2, name="head")
    (slope,) = te.differentiate(squared(x), [x], head)
    found = te.build(slope, [x, head])(np.array([3.0, 5.0]), np.array([1.0, 10.0]))
    np.testing.assert_array_equal(found, [9 + 3, (25 + 5) * 10])


def test_derivatives_stop() -> None:
    x, head = given(4), given(4)
    held = te.stop_gradient(x)
    y = te.compute((4,), lambda i: x[i] * held[i])
    (found,) = te.build(list(te.differentiate(y, [x], head)), [x, head])(np.arange(4.0), np.ones(4))
    np.testing.assert_array_equal(found, np.arange(4.0))


def test_second_order() -> None:
    x, w, y = _layer()
    rows, columns = te.reduce_axis(5), te.reduce_axis(4)
    total = te.compute((), lambda: te.sum(y[rows, columns] ** 2, axis=(rows, columns)))
    dx, dw = given(5, 6), given(6, 4)
    values = _values(x, w, dx, dw)
    found = te.build(te.hvp(total, [x, w], [dx, dw]), [x, w, dx, dw])(*values)
    slope = te.build(list(te.differentiate(total, [x, w])), [x, w])
    step = 1e-6
    ahead, back = (
        slope(values[0] + s * values[2], values[1] + s * values[3]) for s in (step, -step)
    )
    for own, after, before in zip(found, ahead, back):
        np.testing.assert_allclose(own, (after - before) / (2 * step), rtol=1e-6, atol=1e-8)
    again, head = te.differentiate(total, [w])[0], given(6, 4)
    second = te.build(list(te.differentiate(again, [x, w], head=head)), [x, w, head])
    for own, expected in zip(
        second(values[0], values[1], values[3]),
        te.build(te.hvp(total, [x, w], [_zero(x), dw]), [x, w, dw])(
            values[0], values[1], values[3]
        ),
    ):
        np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-12)


def _zero(like: te.Tensor) -> te.Tensor:
    return te.compute(like.shape, lambda *i: te.cast(0.0, ti.f64))


def test_outputs_that_are_inputs_or_equal() -> None:
    x = given(3)
    y, z = (te.compute((3,), lambda i: 2 * x[i]) for _ in range(2))
    found = te.build([x, y, z, y, x], [x])(np.arange(3.0))
    for own, factor in zip(found, (1, 2, 2, 2, 1)):
        np.testing.assert_array_equal(own, factor * np.arange(3.0))


def test_outputs_of_any_size_that_are_inputs() -> None:
    n = te.var("n")
    x = te.placeholder((n, 2), ti.f64, "x")
    found = te.build([x, te.compute((n, 2), lambda i, j: 3 * x[i, j])], [x])(np.ones((5, 2)))
    np.testing.assert_array_equal(found[0], 1)
    np.testing.assert_array_equal(found[1], 3)


def test_arrays() -> None:
    x = te.placeholder((4, 3), ti.f64, "x")
    f = te.build(te.compute((4, 3), lambda i, j: 2 * x[i, j]), [x])
    values = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(f(values), 2 * values)
    np.testing.assert_array_equal(f(values.T.copy().T), 2 * values)  # not contiguous
    ours, out = ti.ndarray(ti.f64, (4, 3)), ti.ndarray(ti.f64, (4, 3))
    ours.from_numpy(values)
    assert f(ours, out=out) is out
    np.testing.assert_array_equal(out.to_numpy(), 2 * values)
    target = np.zeros((4, 3))
    f(values, out=target)
    np.testing.assert_array_equal(target, 2 * values)


def test_types_are_named_as_numpy_names_them() -> None:
    for name in ("float64", np.float64, np.dtype("f8"), ti.f64, "f8"):
        assert te.placeholder((3,), name, "x").dtype == ti.f64
    for bad in ("nonsense", "complex64", "float128", 3):
        with pytest.raises(TaichiTypeError):
            te.placeholder((3,), bad, "x")  # type: ignore[arg-type]
