"""`qd.tensor`: fields and ndarrays by one name, and parameters that take both."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import mlirad as ti
import mlirad.quadrants as qd

BACKENDS = [*qd.Backend]


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init()


@qd.kernel
def cube(x: qd.Tensor, y: qd.Tensor):
    for i, j in x:
        y[i, j] += x[i, j] ** 3


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", [None, (1, 0)])
def test_a_parameter_takes_both(backend: Any, layout: Any) -> None:
    x = qd.tensor(qd.f32, (2, 3), backend=backend, layout=layout)
    y = qd.tensor(qd.f32, (2, 3), backend=qd.Backend.FIELD)
    x.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert isinstance(x, qd.Tensor) and x.layout == layout
    for tensor in (x, y, x):
        cube(tensor, y)
    assert y.to_numpy()[0].tolist() == [0, 3, 8 + 8**3 + 8]


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_tensors(backend: Any) -> None:
    x = qd.tensor(qd.f32, (2, 2), backend=backend, needs_grad=True)
    y = qd.tensor(qd.f32, (2, 2), backend=backend, needs_grad=True)
    loss = qd.field(qd.f32, (), needs_grad=True)
    x.fill(2)

    @qd.kernel
    def total(y: qd.Tensor):
        for i, j in y:
            loss[None] += y[i, j]

    with qd.ad.Tape(loss):
        cube(x, y)
        total(y)
    assert x.grad.to_numpy().tolist() == [[12, 12], [12, 12]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_kinds_of_tensors(backend: Any) -> None:
    scalars = qd.tensor(qd.f32, 4, backend=backend)
    vectors = qd.Vector.tensor(3, qd.f32, 4, backend=backend)
    matrices = qd.Matrix.tensor(2, 3, qd.f32, 4, backend=backend)
    kinds = qd.VectorTensor, qd.MatrixTensor
    assert [isinstance(scalars, kind) for kind in kinds] == [False, False]
    assert [isinstance(vectors, kind) for kind in kinds] == [True, False]
    assert [isinstance(matrices, kind) for kind in kinds] == [False, True]
    assert qd.wrap(vectors) is vectors


def test_mistakes_are_refused() -> None:
    for options, error, reason in [
        ({"backend": 7}, ValueError, "backend=7"),
        ({"layout": (0,)}, ValueError, "layout has 1 entries"),
        ({"layout": (1, 1)}, ValueError, "not a permutation"),
        ({"order": "ji"}, TypeError, "layout"),
        ({"offset": 1}, TypeError, "offset"),
    ]:
        with pytest.raises(error, match=reason):
            qd.tensor(qd.f32, (2, 3), **options)
    with pytest.raises(TypeError, match="wrap"):
        qd.tensor(qd.tensor(qd.f32, 2), 2)
    with pytest.raises(TypeError, match="compound"):
        qd.tensor(qd.types.vector(3, qd.f32), (2, 2), layout=(1, 0))
    for options, reason in [({"order": "i"}, "layout="), ({"layout": (0,)}, "unexpected keyword")]:
        with pytest.raises(TypeError, match=reason):
            qd.Vector.tensor(3, qd.f32, 2, **options)
    with pytest.raises(TypeError, match="got a list"):
        qd.wrap([1.0])


def test_a_parameter_refuses_other_objects() -> None:
    with pytest.raises(ti.TaichiRuntimeTypeError, match="Invalid type for argument x"):
        cube([1.0], qd.tensor(qd.f32, (2, 2)))


def test_ndarrays_are_pickled() -> None:
    x = qd.Vector.tensor(2, qd.f64, 3, needs_grad=True)
    x.fill(4)
    x.grad.fill(5)
    text = pickle.dumps(x)
    ti.init()
    y = pickle.loads(text)
    assert (y.dtype, y.shape, y.element_shape) == (ti.f64, (3,), (2,))
    assert y.to_numpy().tolist() == [[4, 4]] * 3 and y.grad.to_numpy().tolist() == [[5, 5]] * 3


@pytest.mark.parametrize("order", ["ij", "ji"])
@pytest.mark.parametrize("element", [(), (2,), (2, 3)])
def test_fields_are_pickled(order: str, element: tuple[int, ...]) -> None:
    dtype = (ti.f64, ti.types.vector(2, ti.f64), ti.types.matrix(2, 3, ti.f64))[len(element)]
    x = ti.field(dtype, (3, 4), order=order, offset=(1, -2), needs_grad=True)
    values = np.arange(12.0 * math.prod(element)).reshape(3, 4, *element)
    x.from_numpy(values)
    x.grad.from_numpy(values + 1)
    texts = [pickle.dumps(value) for value in (x, ti.field(ti.i32, ()), ti.field(ti.f32, 3))]
    ti.init()
    y, scalar, plain = map(pickle.loads, texts)
    assert (y.dtype, y.shape, y.element_shape, y.offset) == (ti.f64, (3, 4), element, (1, -2))
    np.testing.assert_array_equal(y.to_numpy(), values)
    np.testing.assert_array_equal(y.grad.to_numpy(), values + 1)
    assert scalar[None] == 0 and plain.shape == (3,) and not plain.has_grad()

    @ti.kernel
    def read() -> ti.f64:
        s = 0.0
        for i, j in y:
            s += ti.Matrix([[y[i, j]]]).sum() if ti.static(len(element) == 0) else y[i, j].sum()
        return s

    assert read() == values.sum()


def test_sparse_fields_and_gradients_are_not_pickled() -> None:
    x, y = ti.field(ti.f64), ti.field(ti.f64, 3, needs_grad=True)
    ti.root.pointer(ti.i, 4).place(x)
    for value in (x, y.grad):
        with pytest.raises(TypeError, match=r"cannot be pickled or copied: save x.to_numpy\(\)"):
            pickle.dumps(value)


MEMORY = [
    lambda: ti.field(ti.f32, (2, 3)),
    lambda: ti.ndarray(ti.f32, (2, 3)),
    lambda: ti.Vector.ndarray(3, ti.f32, 2),
    lambda: ti.Vector.field(3, ti.f32, 2),
]


@pytest.mark.cpu_code("memory of the processor is shared")
@pytest.mark.parametrize("make", MEMORY)
def test_zero_copies_are_the_memory(make: Any) -> None:
    x = make()
    shared = x.to_numpy(copy=False)
    x.fill(3)
    assert shared.tolist() == [[3, 3, 3]] * 2
    shared[1, 2] = 7
    assert x.to_numpy()[1, 2] == 7
    tensor = pytest.importorskip("torch").utils.dlpack.from_dlpack(x.to_dlpack())
    tensor[0, 0] = 9
    assert x.to_numpy()[0, 0] == 9 and x.to_torch(copy=False)[0, 0] == 9
    assert x.to_torch(copy=False).data_ptr() == tensor.data_ptr()
    assert x.to_torch().data_ptr() != tensor.data_ptr()


@pytest.mark.cpu_code("memory of the processor is shared")
@pytest.mark.parametrize("make", MEMORY)
def test_a_zero_copy_keeps_its_memory(make: Any) -> None:
    shared = make().to_numpy(copy=False)
    ti.reset()
    shared += 1
    assert shared.tolist() == [[1, 1, 1]] * 2


@pytest.mark.cpu_code("lent memory is the processor's")
def test_zero_copies_that_there_are_not() -> None:
    x = ti.field(ti.f32)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x)
    with pytest.raises(ValueError, match="Zero-copy not available"):
        x.to_numpy(copy=False)
    with pytest.raises(ValueError, match="Zero-copy not available"):
        x.to_torch(copy=False)
    with pytest.raises(ValueError, match="the elements are float32"):
        ti.ndarray(ti.f32, 3).to_numpy(np.float64, copy=False)
    assert x.to_numpy(copy=None).shape == (8,)


@pytest.mark.cpu_code("memory of the processor is shared")
def test_a_tape_refuses_a_zero_copy() -> None:
    x, loss = ti.field(ti.f32, 2, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def square():
        for i in x:
            x[i] = x[i] ** 2
        for i in x:
            loss[None] += x[i]

    shared = x.to_numpy(copy=False)
    with pytest.raises(ti.TaichiRuntimeError), ti.ad.Tape(loss):
        square()
    assert shared.tolist() == [0, 0]
    del shared
    with ti.ad.Tape(loss):
        square()


def test_a_tensor_may_be_left_out() -> None:
    @qd.kernel
    def add(x: qd.Tensor, bias: qd.Tensor):
        for i in x:
            x[i] += 1
            if qd.static(bias is not None):
                x[i] += bias[i]

    x, bias = qd.tensor(qd.f32, 3), qd.tensor(qd.f32, 3, backend=qd.Backend.FIELD)
    bias.fill(5)
    for passed in (None, bias, None):
        add(x, passed)
    assert x.to_numpy().tolist() == [8, 8, 8]


@pytest.mark.parametrize("backend", qd.Backend)
def test_a_gradient_has_the_layout_of_its_tensor(backend: Any) -> None:
    tensor = qd.tensor(qd.f32, (2, 3), backend=backend, layout=(1, 0), needs_grad=True)
    assert tensor.layout == tensor.grad.layout == (1, 0)
