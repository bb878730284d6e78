"""Functions of arrays over an axis of their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import scalar, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
TYPES = pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
A = np.array([[0.1, 0.5, -0.3], [1.0, 2.0, 0.25], [0.7, -0.6, 0.2], [0.0, 1.5, 3.0]])
B = np.array([1.0, -2.0, 0.5, 3.0])


class Scaled:
    """loss = b sum of a², by steps in place on a, and c = b a."""

    def __init__(self, dtype: Any = ti.f64) -> None:
        a, b, loss = variable(3, dtype=dtype), scalar(dtype), scalar(dtype)
        c = variable(3, dtype=dtype)
        self.inputs, self.loss, self.c = [a, b], loss, c

        @ti.kernel
        def scale():
            for i in a:
                c[i] = b[None] * a[i]

        @ti.kernel
        def square():
            for i in a:
                a[i] *= a[i]

        @ti.kernel
        def add_up():
            for i in a:
                loss[None] += b[None] * a[i]

        self.launches = [scale, square, add_up]

    def run(self) -> None:
        for kernel in self.launches:
            kernel()


@TYPES
def test_losses_and_gradients(dtype: Any) -> None:
    scaled, kind = Scaled(dtype), dtype.numpy
    f = ti.ad.value_and_grad(scaled.run, inputs=scaled.inputs, output=scaled.loss)
    losses, (in_a, in_b) = ti.ad.vmap(f)(A.astype(kind), B.astype(kind))
    rel = 1e-5 if dtype is ti.f32 else 1e-13
    assert losses == pytest.approx(B * (A**2).sum(1), rel=rel)
    assert in_a == pytest.approx(2 * B[:, None] * A, rel=rel)
    assert in_b == pytest.approx((A**2).sum(1), rel=rel)
    assert (losses.shape, in_a.shape, in_b.shape) == ((4,), (4, 3), (4,))
    assert losses.dtype == in_a.dtype == in_b.dtype == kind


def test_axes() -> None:
    """The second axis of one argument, every value of another, one argument for all."""
    scaled = Scaled()
    f = ti.ad.grad(scaled.run, inputs=scaled.inputs, output=scaled.loss)
    in_a, in_b = ti.ad.vmap(f, in_axes=(1, 0))(A.T, B)
    assert in_a == pytest.approx(2 * B[:, None] * A) and in_b == pytest.approx((A**2).sum(1))
    in_a, in_b = ti.ad.vmap(f, in_axes=(-1, None))(A.T, 2.0)
    assert in_a == pytest.approx(4 * A) and in_b == pytest.approx((A**2).sum(1))
    in_a, in_b = ti.ad.vmap(f, in_axes=[None, 0])(A[0], list(B))
    assert in_a == pytest.approx(2 * np.outer(B, A[0]))
    assert in_b == pytest.approx(np.full(4, (A[0] ** 2).sum()))


def test_programs_jacobians_and_tangents() -> None:
    scaled = Scaled()
    named: dict[str, Any] = {"inputs": scaled.inputs, "output": scaled.c}
    assert ti.ad.vmap(ti.ad.program(scaled.run, **named))(A, B) == pytest.approx(B[:, None] * A)
    in_a, in_b = ti.ad.vmap(ti.ad.jacobian(scaled.run, **named))(A, B)
    assert in_a == pytest.approx(B[:, None, None] * np.eye(3)) and in_b == pytest.approx(A)
    directions = np.ones((4, 3)), np.arange(4.0)
    values, along = ti.ad.vmap(ti.ad.jvp(scaled.run, **named))(A, B, directions)
    assert values == pytest.approx(B[:, None] * A)
    assert along == pytest.approx(B[:, None] + np.arange(4.0)[:, None] * A)
    heads = np.ones(3)
    adjoints = ti.ad.vmap(ti.ad.vjp(scaled.run, **named), in_axes=(0, 0, None))(A, B, heads)[1]
    assert adjoints[0] == pytest.approx(np.repeat(B[:, None], 3, 1))
    assert adjoints[1] == pytest.approx(A.sum(1))


def test_axes_of_axes_and_functions_of_kernels() -> None:
    @ti.func
    def cube(x):
        return x**3

    slopes = ti.ad.vmap(ti.ad.vmap(ti.ad.grad(cube)))(A)
    assert slopes == pytest.approx(3 * A**2)


def test_fields_as_arguments() -> None:
    scaled, rows = Scaled(), ti.field(ti.f64, (4, 3))
    rows.from_numpy(A)
    f = ti.ad.program(scaled.run, inputs=scaled.inputs, output=scaled.loss)
    losses = ti.ad.vmap(f, in_axes=(0, None))(rows, np.asarray(1.0))
    assert losses == pytest.approx((A**2).sum(1))


def test_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch")
    scaled = Scaled()
    f = ti.ad.value_and_grad(scaled.run, inputs=scaled.inputs, output=scaled.loss)
    losses, (in_a, _) = ti.ad.vmap(f)(torch.from_numpy(A), torch.from_numpy(B))
    assert isinstance(losses, torch.Tensor) and losses.shape == (4,)
    assert in_a.numpy() == pytest.approx(2 * B[:, None] * A)


def test_an_axis_of_the_program_gives_the_same() -> None:
    """The document's other way: one run over all rows, each with a loss of its own."""
    a, losses = variable(4, 3), variable(4)

    @ti.kernel
    def run():
        for k, i in a:
            losses[k] += a[k, i] ** 2

    value, gradient = ti.ad.value_and_grad(run, inputs=a, output=losses, head=np.ones(4))(A)
    assert value == pytest.approx((A**2).sum(1)) and gradient == pytest.approx(2 * A)


def test_what_is_refused() -> None:
    scaled = Scaled()

    @ti.func
    def cube(x):
        return x**3

    for function in (scaled.launches[0], cube, 3.0):
        with pytest.raises(ti.TaichiTypeError, match="takes a function of arrays"):
            ti.ad.vmap(function)
    f = ti.ad.grad(scaled.run, inputs=scaled.inputs, output=scaled.loss)
    for axes, arguments, message in (
        (0, (A, B[:3]), r"one length, of at least 1, not \[3, 4\]"),
        (0, (A[:0], B[:0]), r"not \[0\]"),
        (None, (A[0], 1.0), r"not \[\]"),
        ((0, 0, 0), (A, B), "3 axes for 2 arguments"),
        ((2, 0), (A, B), r"shape \(4, 3\) has no axis 2"),
        (0, (A, 1.0), r"shape \(\) has no axis 0"),
        (0, (A, (B, B[:2])), "axes of one length"),
    ):
        with pytest.raises(ti.TaichiTypeError, match=message):
            ti.ad.vmap(f, in_axes=axes)(*arguments)  # type: ignore[arg-type]
