"""`qd.BufferView`: parts of ndarrays as arguments of kernels, and their derivatives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
import mlirad.quadrants as qd
from mlirad.quadrants import BufferView

N = 12
VALUES = np.linspace(0.5, 1.6, N)


@pytest.fixture(autouse=True)
def program() -> None:
    qd.init(default_fp=qd.f64)


def array_of(values: np.ndarray) -> Any:
    array = qd.ndarray(qd.f64, values.shape, needs_grad=True)
    array.from_numpy(values)
    return array


@qd.kernel
def square(a: BufferView[qd.f64], b: BufferView[qd.f64], loss: qd.types.ndarray()):
    for i in range(a.size):
        a[i] = b[i] * b[i]
    for i in a:
        loss[0] += a[i] * a[i] * (i + 1)


def squared(values: np.ndarray, a: slice, b: slice, *, in_place: bool) -> float:
    """What `square` computes."""
    x = values.copy()
    y = x if in_place else np.zeros(N)
    y[a] = x[b] ** 2
    return float((y[a] ** 2 * np.arange(1, 1 + len(y[a]))).sum())


def differences(function: Callable[[np.ndarray], float]) -> np.ndarray:
    steps = 1e-6 * np.eye(N)
    return np.array([(function(VALUES + s) - function(VALUES - s)) / 2e-6 for s in steps])


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(("a", "b"), [((0, 4), (6, 10)), ((6, 10), (0, 4)), ((2, 6), (2, 6))])
def test_gradient_of_views(a: tuple[int, int], b: tuple[int, int], *, in_place: bool) -> None:
    x, y, loss = array_of(VALUES), array_of(np.zeros(N)), array_of(np.zeros(1))
    target = x if in_place else y
    with qd.ad.Tape(loss=loss):
        square(target[slice(*a)], x[slice(*b)], loss)
    expected = differences(lambda v: squared(v, slice(*a), slice(*b), in_place=in_place))
    assert loss[0] == pytest.approx(squared(VALUES, slice(*a), slice(*b), in_place=in_place))
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-6, atol=1e-6)


def test_a_race_of_two_views_has_no_gradient() -> None:
    x, loss = array_of(VALUES), array_of(np.zeros(1))
    with (
        pytest.raises(ti.TaichiRuntimeError, match=r"test_buffer_views.py:\d+.*is read here"),
        qd.ad.Tape(loss=loss),
    ):
        square(x[0:4], x[2:6], loss)


@qd.kernel
def multiply(a: BufferView, x: qd.types.ndarray(), loss: qd.types.ndarray()):
    for i in range(a.size):
        a[i] *= x[i + 4]
    for i in range(a.size):
        loss[0] += x[i] * x[i + 4]


def test_gradient_of_a_view_and_its_array() -> None:
    x, loss = array_of(VALUES), array_of(np.zeros(1))
    with qd.ad.Tape(loss=loss):
        multiply(x[:4], x, loss)
    expected = np.zeros(N)
    expected[:4], expected[4:8] = VALUES[4:8] ** 2, 2 * VALUES[4:8] * VALUES[:4]
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-14)


def test_tangent_of_views() -> None:
    x, y, loss = array_of(VALUES), array_of(np.zeros(N)), array_of(np.zeros(1))
    seed = np.zeros(N)
    seed[3:7] = 1.0
    with qd.ad.FwdMode(loss=loss, param=x, seed=seed):
        square(y[:4], x[3:7], loss)
    expected = (4 * VALUES[3:7] ** 3 * np.arange(1, 5)).sum()
    assert loss.dual[0] == pytest.approx(expected, rel=1e-13)


@qd.kernel
def sum_squares(v: BufferView, loss: qd.template()):
    for i in range(v.size):
        loss[None] += v[i] * v[i]


@dataclasses.dataclass(frozen=True)
class Part:
    view: BufferView[qd.f64]
    factor: qd.f64


@qd.kernel
def scale(part: Part):
    for i in range(part.view.size):
        part.view[i] *= part.factor


def test_views_are_members_of_dataclasses_and_reach_arrays_of_numpy() -> None:
    x = VALUES.copy()
    for factor in (2.0, 3.0):
        scale(Part(BufferView(x, 2, 5), factor))
    expected = VALUES.copy()
    expected[2:7] *= 6.0
    np.testing.assert_allclose(x, expected, rtol=1e-15)


def test_gradient_of_a_view_of_a_tensor() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor(VALUES, requires_grad=True)
    loss = qd.field(qd.f64, (), needs_grad=True)
    with qd.ad.Tape(loss=loss):
        sum_squares(BufferView(x, 3, 5), loss)
    expected = np.zeros(N)
    expected[3:8] = 2 * VALUES[3:8]
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-15)


def test_repeated_launches_see_other_views() -> None:
    x = qd.ndarray(qd.f64, N)
    x.from_numpy(VALUES)
    loss = qd.field(qd.f64, ())
    head, tail = x[:4], x[4:]
    expected = 0.0
    for view, part in ((head, VALUES[:4]), (head, VALUES[:4]), (tail, VALUES[4:])) * 2:
        sum_squares(view, loss)
        expected += float((part**2).sum())
    assert loss[None] == pytest.approx(expected)


def test_slices_with_bounds_of_run_time_and_views_that_are_global() -> None:
    x = array_of(VALUES)
    tail = x[6:]

    @qd.kernel
    def fill(v: BufferView, start: qd.i32):
        part = v[start : start + 2]
        part.fill(7.0)
        for i in tail:
            tail[i] = -1.0

    fill(x[1:], 2)
    expected = VALUES.copy()
    expected[3:5], expected[6:] = 7.0, -1.0
    np.testing.assert_array_equal(x.to_numpy(), expected)


@qd.func
def set_first(v: BufferView[qd.f64]):
    v[0] = 1.0


@qd.kernel
def set_of_array(x: qd.types.ndarray()):
    set_first(x)


@qd.kernel
def set_negative(v: BufferView):
    v[-1] = 1.0


@qd.kernel
def set_tail(v: BufferView):
    part = v[-2:]
    part[0] = 1.0


def test_refusals_have_a_place() -> None:
    x = array_of(VALUES)
    with pytest.raises(ti.TaichiTypeError, match=r"test_buffer_views.py:\d+:\d+.*a BufferView"):
        set_of_array(x)
    for kernel in (set_negative, set_tail):
        with pytest.raises(ti.TaichiSyntaxError, match=r"test_buffer_views.py:\d+.*Negative"):
            kernel(x[:4])
    with pytest.raises(ti.TaichiRuntimeTypeError, match="view: expected BufferView"):
        scale(Part(x, 2.0))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ndarray"):
        BufferView([1.0, 2.0], 0, 1)
    with pytest.raises(TypeError, match="subview"):
        BufferView(x[:4], 0, 1)
    with pytest.raises(AttributeError):
        x[:4].offset = 2


def test_debug_names_the_functions_around() -> None:
    qd.init(default_fp=qd.f64, debug=True)
    x = qd.ndarray(qd.f64, N)

    @qd.kernel
    def read_all(v: BufferView, count: qd.i32) -> qd.f64:
        s = 0.0
        for i in range(count):
            s += v[i]
        return s

    assert read_all(x[2:5], 3) == 0.0
    with pytest.raises(ti.TaichiAssertionError) as caught:
        read_all(x[2:5], 4)
    for text in ("got index 3 (offset=2, size=3)", "kernel[read_all]", "test_buffer_views.py:"):
        assert text in str(caught.value)


def test_slices_in_programs_of_ti_are_copies() -> None:
    assert isinstance(array_of(VALUES)[2:4], BufferView)
    ti.init(default_fp=ti.f64)
    np.testing.assert_array_equal(array_of(VALUES)[2:4], VALUES[2:4])


def test_sparse_matrices_beside_views() -> None:
    """A builder copies the triplets that it holds, where slices of ndarrays are views."""
    builder = qd.linalg.SparseMatrixBuilder(3, 3, 9, qd.f64)

    @qd.kernel
    def fill(A: qd.types.sparse_matrix_builder()):
        for i in range(3):
            A[i, i] += 2.0
        A[0, 2] += 1.0

    fill(builder)
    matrix = builder.build()
    product = matrix @ array_of(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(product.to_numpy(), [5.0, 4.0, 6.0])
