"""Arrays as kernel arguments: ndarrays and NumPy arrays."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import mlirad as ti


@pytest.fixture(autouse=True, params=[1, 2], ids=["one_thread", "two_threads"])
def program(request: pytest.FixtureRequest) -> Any:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=request.param)
    yield
    ti.reset()


@ti.kernel
def scale(x: ti.types.ndarray(), factor: ti.f64):
    for I in ti.grouped(x):
        x[I] *= factor


def test_ndarrays_in_python() -> None:
    x = ti.ndarray(ti.f32, shape=(2, 3))
    x[1, 2] = 5
    x[0, 0] += 2
    assert (x.shape, x.dtype, x[1, 2], x[0, 0]) == ((2, 3), ti.f32, 5, 2)
    np.testing.assert_array_equal(x.to_numpy(), [[2, 0, 0], [0, 0, 5]])
    x.fill(1.5)
    y = ti.ndarray(ti.f32, (2, 3))
    y.copy_from(x)
    np.testing.assert_array_equal(y.to_numpy(), np.full((2, 3), 1.5))
    values = np.arange(6.0).reshape(2, 3)
    y.from_numpy(values)
    values[:] = 0
    assert y[1, 2] == 5
    for bad in ((0,), (0, 0, 0)):
        with pytest.raises(IndexError, match="2d ndarray indexed with"):
            y[bad]
    with pytest.raises(IndexError, match="out of bounds"):
        y[2, 0]
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        y.from_numpy(np.zeros((3, 2)))


def test_ndarrays_of_vectors_and_matrices() -> None:
    v = ti.Vector.ndarray(2, ti.f64, shape=3)
    m = ti.ndarray(ti.types.matrix(2, 2, ti.f64), shape=(3,))
    v[1] = [1, 2]
    m[2][0, 1] = 7

    @ti.kernel
    def run(
        a: ti.types.ndarray(dtype=ti.math.vec2, ndim=1),
        b: ti.types.ndarray(dtype=ti.types.matrix(2, 2, ti.f64)),
    ):
        for i in a:
            a[i].y += i
            b[i] = b[i] @ ti.Matrix([[0.0, 1.0], [1.0, 0.0]]) + a[i][1]

    expected = m.to_numpy()[:, :, ::-1] + (v.to_numpy()[:, 1] + np.arange(3))[:, None, None]
    run(v, m)
    np.testing.assert_array_equal(v.to_numpy(), [[0, 0], [1, 3], [0, 2]])
    np.testing.assert_array_equal(m.to_numpy(), expected)
    assert (v.n, m.n, m.m, v.element_shape) == (2, 2, 2, (2,))


@pytest.mark.parametrize(
    "dtype", [ti.i8, ti.u8, ti.i16, ti.u16, ti.i32, ti.u32, ti.i64, ti.u64, ti.f16, ti.f32, ti.f64]
)
def test_numpy_arrays_of_every_type(dtype: Any) -> None:
    @ti.kernel
    def run(x: ti.types.ndarray(), y: ti.types.ndarray(dtype=dtype, ndim=1)):
        for i in range(x.shape[0]):
            y[i] = x[i] + x[i]

    x = np.arange(5).astype(dtype.numpy)
    y = np.zeros_like(x)
    run(x, y)
    np.testing.assert_array_equal(y, 2 * x)


def test_one_kernel_takes_arrays_of_any_kind_and_size() -> None:
    for shape in ((4,), (3, 2), (2, 3, 4), ()):
        x = np.random.default_rng(0).uniform(size=shape)
        expected = 3 * x
        scale(x, 3)
        np.testing.assert_allclose(x, expected)
        y = ti.ndarray(ti.f32, shape)
        y.fill(2)
        scale(y, 0.5)
        np.testing.assert_array_equal(y.to_numpy(), np.ones(shape))


def test_sizes_are_known_at_launch_only() -> None:
    compiled = ti.lang.impl.get_runtime().get_num_compiled_functions
    start = compiled()
    for n in (1, 10, 5000):
        x = np.ones(n)
        scale(x, n)
        assert (x == n).all()
    assert compiled() == start + 1


@pytest.mark.parametrize(
    "view", [lambda a: a[::2], lambda a: a.T, lambda a: a[:, 1:], lambda a: a[::-1, ::-1]]
)
def test_views_are_written_through(view: Any) -> None:
    whole = np.arange(24.0).reshape(4, 6)
    expected = whole.copy()
    view(expected)[...] *= 2
    scale(view(whole), 2)
    np.testing.assert_array_equal(whole, expected)


def test_the_same_array_twice() -> None:
    @ti.kernel
    def prefix(x: ti.types.ndarray(), y: ti.types.ndarray()):
        ti.loop_config(serialize=True)
        for i in range(1, x.shape[0]):
            x[i] = x[i] + y[i - 1]

    x = np.arange(20.0)
    y = x.copy()
    prefix(x, x)
    np.testing.assert_array_equal(x, np.cumsum(y))
    prefix(y, np.zeros(20))
    np.testing.assert_array_equal(y, np.arange(20))


def test_shapes_inside_kernels() -> None:
    @ti.kernel
    def run(x: ti.types.ndarray(ndim=2)) -> int:
        return x.shape[0] * 100 + x.shape[1]

    assert run(np.zeros((3, 7))) == 307


def test_boundary_clamp() -> None:
    @ti.kernel
    def run(x: ti.types.ndarray(boundary="clamp"), i: int) -> ti.f64:
        return x[i]

    x = np.array([1.0, 2.0, 3.0])
    assert [run(x, i) for i in (-5, -1, 0, 2, 3, 9)] == [1, 1, 1, 3, 3, 3]


@pytest.mark.parametrize("debug", [False, True])
def test_clamped_components(debug: bool) -> None:
    ti.init(debug=debug)

    @ti.kernel
    def vector(x: ti.types.ndarray(ti.types.vector(2, ti.f64), boundary="clamp"), k: int) -> ti.f64:
        return x[1][k]

    @ti.kernel
    def matrix(
        x: ti.types.ndarray(ti.types.matrix(2, 3, ti.f64), boundary="clamp"), i: int, j: int
    ) -> ti.f64:
        return x[9][i, j] + 100 * x[0][1, j]

    x, y = np.arange(4.0).reshape(2, 2), np.arange(12.0).reshape(2, 2, 3)
    assert [vector(x, k) for k in (-7, 0, 1, 2, 9)] == [2, 2, 3, 3, 3]
    for i, j in ((-1, 0), (0, 2), (1, 1), (1, 9), (5, 0), (0, -3)):
        last, first = np.clip([i * 3 + j, 3 + j], 0, 5)
        assert matrix(y, i, j) == y[1].flat[last] + 100 * y[0].flat[first]


def test_clamped_stores_have_gradients() -> None:
    @ti.kernel
    def run(x: ti.types.ndarray(boundary="clamp"), y: ti.types.ndarray(), n: int):
        for i in range(n):
            y[0] += x[i - 2][i] * (i + 1)

    x = ti.Vector.ndarray(2, ti.f64, 3, needs_grad=True)
    y = ti.ndarray(ti.f64, 1, needs_grad=True)
    with ti.ad.Tape(y):
        run(x, y, 5)
    # x[0][0], x[0][1], x[0][1], x[1][1], x[2][1], with weights 1, 2, 3, 4, 5
    assert x.grad.to_numpy().tolist() == [[1, 5], [0, 4], [0, 5]]


def test_deep_copies_are_arrays_of_their_own() -> None:
    a = ti.Vector.ndarray(2, ti.f64, 3, needs_grad=True)
    a[1] = [4, 5]
    a.grad[2] = [6, 7]
    b = copy.deepcopy({"a": a})["a"]
    a.fill(0)
    a.grad.fill(0)
    assert b.to_numpy().tolist() == [[0, 0], [4, 5], [0, 0]]
    assert b.grad.to_numpy().tolist() == [[0, 0], [0, 0], [6, 7]]


def test_shapes_of_elements_without_a_type() -> None:
    @ti.kernel
    def vectors(x: ti.types.ndarray(element_dim=1)) -> ti.f64:
        return x[1][0]

    @ti.kernel
    def matrices(x: ti.types.ndarray(ti.f64, element_shape=(2, 3), field_dim=1)) -> ti.f64:
        return x[1][1, 2]

    x = np.arange(12.0).reshape(2, 2, 3)
    assert vectors(x[0]) == x[0, 1, 0] and matrices(x) == x[1, 1, 2]
    with pytest.raises(ti.TaichiRuntimeTypeError, match="element shape"):
        matrices(np.zeros((2, 3, 3)))
    with pytest.raises(ti.TaichiRuntimeTypeError, match="dimensions"):
        vectors(np.zeros(()))


@pytest.mark.parametrize(
    "options",
    [
        {"element_dim": 3},
        {"element_shape": (1, 2, 3)},
        {"element_dim": 1, "element_shape": (2, 3)},
        {"ndim": 1, "field_dim": 2},
        {"boundary": "mirror"},
    ],
)
def test_contradictory_array_types(options: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        ti.types.ndarray(**options)


def test_gradients_of_ndarrays() -> None:
    x = ti.ndarray(ti.f64, shape=5, needs_grad=True)
    y = ti.ndarray(ti.f64, shape=5)
    loss = ti.ndarray(ti.f64, shape=(), needs_grad=True)
    x.from_numpy(np.arange(5.0))
    y.from_numpy(np.arange(5.0) + 2)

    @ti.kernel
    def run(x: ti.types.ndarray(), y: ti.types.ndarray(), loss: ti.types.ndarray()):
        for i in x:
            loss[None] += x[i] ** 2 * y[i]

    with ti.ad.Tape(loss):
        run(x, y, loss)
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * np.arange(5) * (np.arange(5) + 2))
    assert y.grad is None and loss[None] == sum(i * i * (i + 2) for i in range(5))


@pytest.mark.parametrize(
    "bad",
    [
        3.5,
        [1.0, 2.0],
        "x",
        None,
        np.zeros(3, np.complex128),
        np.zeros((3, 3)),
        np.zeros(3, np.int32),
    ],
)
def test_arguments_that_are_refused(bad: Any) -> None:
    ran = ti.field(ti.i32, shape=())

    @ti.kernel
    def run(x: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        ran[None] = 1
        for i in x:
            x[i] = 1

    with pytest.raises(ti.TaichiRuntimeTypeError, match="argument x"):
        run(bad)
    assert ran[None] == 0


@pytest.mark.parametrize(
    "declared, given",
    [
        (ti.types.vector(2, ti.f32), (3,)),
        (ti.types.vector(2, ti.f32), (2, 1)),
        (ti.types.matrix(2, 2, ti.f32), (2,)),
        (ti.f32, (2,)),
        (ti.types.vector(2, ti.i32), (2,)),
        (ti.types.vector(), (2, 2)),
    ],
)
def test_element_types_that_are_refused(declared: Any, given: tuple[int, ...]) -> None:
    @ti.kernel
    def run(x: ti.types.ndarray(dtype=declared)):
        pass

    array = ti.ndarray(
        (ti.types.vector if len(given) == 1 else ti.types.matrix)(*given, ti.f32), shape=4
    )
    with pytest.raises(ti.TaichiRuntimeTypeError, match="argument x"):
        run(array)


@pytest.mark.parametrize("shape", [0, -1, 1.5, (2, 0), 2**31])
def test_shapes_that_are_refused(shape: Any) -> None:
    with pytest.raises(ti.TaichiRuntimeError, match="valid shape"):
        ti.ndarray(ti.f32, shape)


def test_an_ndarray_is_not_a_template() -> None:
    @ti.kernel
    def run(x: ti.template()):
        x[0] = 1

    with pytest.raises(ti.TaichiRuntimeTypeError, match="ndarray"):
        run(ti.ndarray(ti.f32, 3))


def test_an_integer_ndarray_has_no_gradient() -> None:
    with pytest.raises(ti.TaichiRuntimeError, match="not supported for ndarray"):
        ti.ndarray(ti.i32, 3, needs_grad=True)
