"""Ndarrays whose axes lie in memory in another order than that of their shape."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import mlirad as ti
import mlirad.quadrants as qd
from mlirad import te

SHAPE = (2, 3, 4)
LAYOUTS = [*permutations(range(3))]
I, J, K = np.indices(SHAPE)
WEIGHTS = I + 2.0 * J + 3.0 * K


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init(default_fp=ti.f64)


def values(scale: float = 0.1) -> Any:
    return scale * np.arange(1.0, 25.0).reshape(SHAPE)


def array(layout: Any, numbers: Any = None, *, needs_grad: bool = False) -> Any:
    x = ti.ndarray(ti.f64, SHAPE, needs_grad=needs_grad, layout=layout)
    if numbers is not None:
        x.from_numpy(numbers)
    return x


@ti.kernel
def square(x: ti.types.ndarray(), y: ti.types.ndarray()):
    for i, j, k in x:
        y[i, j, k] = x[i, j, k] ** 2 * (i + 2 * j + 3 * k)


@ti.kernel
def add_sines(y: ti.types.ndarray(), loss: ti.types.ndarray()):
    for index in ti.grouped(y):
        loss[None] += ti.sin(y[index])


@ti.kernel
def number(x: ti.types.ndarray()):
    for i, j, k in ti.ndrange(x.shape[0], x.shape[1], x.shape[2]):
        x[i, j, k] = 100 * i + 10 * j + k


def gradient(v: Any) -> Any:
    """The derivative of the sum of sines of `square(v)`, by hand."""
    return np.cos(v**2 * WEIGHTS) * 2 * v * WEIGHTS


@pytest.mark.cpu_code("looks at the processor's memory")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_bytes_in_memory(layout: tuple[int, ...]) -> None:
    x = array(layout)
    number(x)
    expected = 100.0 * I + 10 * J + K
    view = x.to_numpy(copy=False)
    np.testing.assert_array_equal(view, expected)
    np.testing.assert_array_equal(x.to_numpy(), expected)
    stored = np.ascontiguousarray(expected.transpose(layout))
    assert view.strides == stored.transpose(np.argsort(layout)).strides
    np.testing.assert_array_equal(view.transpose(layout).ravel(), stored.ravel())
    np.testing.assert_array_equal(np.asarray(x), expected)
    assert x.to_numpy().flags.c_contiguous and x.shape == SHAPE


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_python_reads_and_writes(layout: tuple[int, ...]) -> None:
    v = values()
    x = array(layout, v)
    assert x[1, 2, 3] == v[1, 2, 3] and x[-1, 0, 1] == v[-1, 0, 1]
    x[1, 0, 3] = v[1, 0, 3] = 7.0
    x[0, :, 1:3] = v[0, :, 1:3] = 5.0
    np.testing.assert_array_equal(x[:, 1, ::2], v[:, 1, ::2])
    np.testing.assert_array_equal(x[:, 1:, 3], v[:, 1:, 3])
    np.testing.assert_array_equal(x.to_numpy(), v)
    for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        np.testing.assert_array_equal(again.to_numpy(), v)
        assert again.layout == x.layout
    with pytest.raises(ti.TaichiIndexError, match="out of bounds"):
        x[2, 0, 0]
    if layout != (0, 1, 2):
        with pytest.raises(ValueError, match=r"has shape \(2, 3, 4\)"):
            x.from_numpy(v.transpose(layout).reshape([SHAPE[axis] for axis in layout])[:1])
    x.fill(3)
    np.testing.assert_array_equal(x.to_numpy(), 3)


@pytest.mark.parametrize("source", [*LAYOUTS[2:], "field"])
def test_copies(source: Any) -> None:
    x = array((2, 0, 1), values(), needs_grad=True)
    y = ti.field(ti.f64, SHAPE, needs_grad=True) if source == "field" else None
    y = array(source, needs_grad=True) if y is None else y
    y.copy_from(x)
    np.testing.assert_array_equal(y.to_numpy(), values())
    z = array((1, 0, 2), needs_grad=True)
    loss = ti.ndarray(ti.f64, (), needs_grad=True)
    with ti.ad.Tape(loss):
        y.copy_from(x)
        z.copy_from(y)
        add_sines(z, loss)
    np.testing.assert_allclose(x.grad.to_numpy(), np.cos(values()))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_derivatives(layout: tuple[int, ...]) -> None:
    """Both modes, and a tape in which Python overwrites what a reverse needs."""
    v = values()
    x, y = array(layout, v, needs_grad=True), array(layout[::-1], needs_grad=True)
    loss = ti.ndarray(ti.f64, (), needs_grad=True)
    with ti.ad.Tape(loss):
        square(x, y)
        x[1, 0, 2] = 9.0
        square(x, y)
        x[0, :, 1:3] = 0.5
        add_sines(y, loss)
        number(x)
    changed = v.copy()
    changed[1, 0, 2] = 9.0
    expected = gradient(changed)
    expected[1, 0, 2] = 0.0  # a constant
    np.testing.assert_allclose(x.grad.to_numpy(), expected)
    assert x.grad.layout == x.layout and x.grad.shape == SHAPE
    x.from_numpy(v)
    direction = np.cos(values(1.0))
    with ti.ad.FwdMode(loss=loss, param=x, seed=direction):
        loss[None] = 0.0
        square(x, y)
        add_sines(y, loss)
    np.testing.assert_allclose(loss.dual[None], (gradient(v) * direction).sum())
    np.testing.assert_allclose(y.dual.to_numpy(), 2 * v * WEIGHTS * direction)


def test_gradients_that_a_kernel_writes() -> None:
    @ti.kernel
    def seed(x: ti.types.ndarray()):
        for i, j, k in x:
            x.grad[i, j, k] = 100 * i + 10 * j + k

    x = array((1, 2, 0), needs_grad=True)
    seed(x)
    np.testing.assert_array_equal(x.grad.to_numpy(), 100.0 * I + 10 * J + K)


def test_seeds_of_outputs() -> None:
    v, seeds = values(), np.sin(values(1.0))
    x, y = array((2, 1, 0), v, needs_grad=True), array((1, 2, 0), needs_grad=True)
    with ti.ad.Tape() as tape:
        square(x, y)
    tape.grad({y: seeds})
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * v * WEIGHTS * seeds)


def test_a_kernel_is_compiled_for_each_layout() -> None:
    """Launch by launch, those like the one before among them."""
    arrays = [array(layout) for layout in (None, (2, 1, 0), (1, 0, 2))]
    plain = np.zeros(SHAPE)
    for x in (*arrays, *arrays[::-1], arrays[0], arrays[1], arrays[1]):
        x.fill(0)
        plain[:] = 0
        number(x)
        number(plain)
        np.testing.assert_array_equal(plain, 100.0 * I + 10 * J + K)
        np.testing.assert_array_equal(x.to_numpy(), plain)


def test_members_and_globals() -> None:
    @dataclasses.dataclass
    class State:
        x: ti.types.ndarray()
        y: ti.types.ndarray()

    @ti.kernel
    def run(state: State):
        for i, j, k in state.x:
            state.y[i, j, k] = state.x[i, j, k] + hidden[i, j, k]

    hidden = array((2, 1, 0), values())
    state = State(array((1, 0, 2), values()), array((2, 0, 1)))
    run(state)
    np.testing.assert_allclose(state.y.to_numpy(), 2 * values())
    hidden = array((1, 2, 0), values(1.0))
    state.y = array((0, 2, 1))
    run(state)
    np.testing.assert_allclose(state.y.to_numpy(), values() + values(1.0))


def test_vectors_and_functions() -> None:
    @ti.func
    def length(x: ti.template(), i, j):
        return x[i, j].norm()

    @ti.kernel
    def run(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i, j in x:
            x[i, j] = [i, 10 * j, 1]
            x[i, j][2] += i * j
            y[i, j] = length(x, i, j)

    x = ti.Vector.ndarray(3, ti.f64, (2, 5), layout=(1, 0))
    y = ti.ndarray(ti.f64, (2, 5), layout=(1, 0))
    run(x, y)
    i, j = np.indices((2, 5))
    expected = np.stack([i, 10 * j, 1 + i * j], -1)
    np.testing.assert_array_equal(x.to_numpy(), expected)
    np.testing.assert_allclose(y.to_numpy(), np.linalg.norm(expected, axis=-1))
    x[1, 4][0] = 8.0
    assert x[1, 4][0] == 8.0 and x.to_numpy()[1, 4, 0] == 8.0
    assert x.layout == (1, 0)
    assert ti.Vector.ndarray(3, ti.f64, 2, layout=ti.Layout.AOS).layout is None


def test_clamped_indices() -> None:
    @ti.kernel
    def read(x: ti.types.ndarray(boundary="clamp"), i: int, j: int, k: int) -> ti.f64:
        return x[i, j, k]

    v = values()
    x = array((2, 0, 1), v)
    assert read(x, 9, 1, -4) == v[1, 1, 0]
    assert read(x, -1, 9, 9) == v[0, 2, 3]


def test_bounds_are_checked() -> None:
    ti.init(debug=True)

    @ti.kernel
    def read(x: ti.types.ndarray(), i: int) -> ti.f64:
        return x[i, 0, 3]

    x = array((2, 0, 1), values())
    assert read(x, 1) == values()[1, 0, 3]
    with pytest.raises(ti.TaichiAssertionError, match="Out of bound"):
        read(x, 3)


def test_functions_of_tensors_refuse_layouts() -> None:
    a = te.placeholder(SHAPE, ti.f64, "a")
    double = te.build(te.compute(SHAPE, lambda i, j, k: 2.0 * a[i, j, k]), [a], "double")
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"'a' .* layout \(2, 1, 0\)"):
        double(array((2, 1, 0)))


def test_functions_in_mlir_refuse_layouts() -> None:
    f = ti.mlir.parse("func.func @f(%x: memref<?x?x?xf64>) { return }", "f")
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"has layout \(2, 1, 0\)"):
        f(array((2, 1, 0)))


def test_one_memory_in_two_layouts() -> None:
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    x = ti.ndarray(ti.f64, (3, 3), layout=(1, 0))

    @ti.kernel
    def run(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i, j in x:
            x[i, j] = y[i, j]

    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"in the layout \(1, 0\)"):
        run(x, x.to_numpy(copy=False).T)


@pytest.mark.parametrize(
    "layout, message", [((0, 1), "layout has 2 entries"), ((0, 0, 1), "not a permutation")]
)
def test_layouts_that_are_none(layout: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        array(layout)


def test_axes_are_named_before_launches_rely_on_them() -> None:
    @dataclasses.dataclass
    class State:
        x: ti.types.ndarray()

    @ti.kernel
    def run(state: State):
        for i, j, k in state.x:
            state.x[i, j, k] = i

    state = State(array(None))
    for _ in range(3):
        run(state)
    with pytest.raises(ti.TaichiRuntimeError, match="launches rely on the layout"):
        qd._tensor._with_layout(state.x, (2, 0, 1))  # type: ignore[attr-defined]


def test_axes_are_named_anew() -> None:
    """By a name inside Quadrants, which programs that allocate for themselves use."""
    rename = qd._tensor._with_layout  # type: ignore[attr-defined]
    x = ti.ndarray(ti.f64, (4, 2, 3), needs_grad=True)
    assert rename(x, (2, 0, 1)) is x and x.shape == x.grad.shape == SHAPE
    number(x)
    np.testing.assert_array_equal(x.to_numpy(), 100.0 * I + 10 * J + K)
    rename(x, (0, 1, 2))
    number(x)
    assert x.shape == (4, 2, 3) and x[3, 1, 2] == 312.0
    with pytest.raises(ValueError, match="layout has 1 entries but ndarray has 3"):
        rename(x, (0,))


def test_the_order_of_the_shape_is_no_layout() -> None:
    assert array((0, 1, 2)).layout is None
    assert qd.tensor(qd.f32, (2, 3), layout=[1, 0]).layout == (1, 0)
