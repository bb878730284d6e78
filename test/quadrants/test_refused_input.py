"""What is wrong with members, tensors and options that programs pass is said by name."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import mlirad.quadrants as qd

freed: Any = None


@pytest.fixture(autouse=True)
def program() -> None:
    qd.init()


@dataclasses.dataclass
class Members:
    values: qd.types.NDArray[qd.f32, 1]
    scale: qd.f32


@qd.kernel
def scale_values(members: Members):
    for i in range(members.values.shape[0]):
        members.values[i] *= members.scale


@qd.data_oriented
class Owner:
    def __init__(self) -> None:
        self.values: Any = qd.ndarray(qd.f32, (3,))

    @qd.kernel
    def add(self):
        for i in range(3):
            self.values[i] += 1.5


def test_a_member_of_a_dataclass_that_changes_its_type_is_refused() -> None:
    members = Members(qd.ndarray(qd.f32, (3,)), 2.0)
    members.values.fill(1)
    for _ in range(2):
        scale_values(members)
    kept = members.values
    members.values = 5
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match=r"'scale_values'.*values"):
        scale_values(members)
    members.values = qd.ndarray(qd.f32, (3, 3))
    with pytest.raises((qd.QuadrantsRuntimeTypeError, ValueError), match="values"):
        scale_values(members)
    members.values, members.scale = kept, "two"
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match="scale"):
        scale_values(members)
    members.scale = 2.0
    scale_values(members)
    assert kept.to_numpy().tolist() == [8, 8, 8]


def test_a_member_of_an_object_that_changes_its_type_is_taken_anew_or_refused() -> None:
    owner = Owner()
    owner.add()
    owner.values = qd.ndarray(qd.f64, (3,))
    owner.add()
    assert owner.values.to_numpy().tolist() == [1.5, 1.5, 1.5]
    owner.values = qd.ndarray(qd.i32, (3,))
    with pytest.warns(UserWarning, match="Assign may lose precision"):
        owner.add()
    owner.values = qd.field(qd.f32, (3,))
    owner.add()
    assert owner.values.to_numpy().tolist() == [1.5, 1.5, 1.5]
    owner.values = 5
    with pytest.raises(qd.QuadrantsCompilationError, match=r"self\.values"):
        owner.add()


def test_a_tensor_that_lies_about_its_strides_is_refused() -> None:
    torch = pytest.importorskip("torch")

    class Liar(torch.Tensor):
        @staticmethod
        def __new__(cls, values: Any) -> Any:
            return torch.Tensor._make_subclass(cls, values)

        def stride(self, dim: int | None = None) -> Any:
            return (1, 100) if dim is None else (1, 100)[dim]

        def is_contiguous(self, **_: object) -> bool:
            return True

    base = torch.arange(12, dtype=torch.float32).reshape(3, 4)

    @qd.kernel
    def double(x: qd.types.ndarray(qd.f32, ndim=2)):
        for i, j in x:
            x[i, j] *= 2

    liar = Liar(base.t())
    before = base.clone()
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match="x: non contiguous tensors"):
        double(liar)
    assert torch.equal(base, before)


def test_a_tensor_that_lies_about_its_shape_is_taken_as_it_lies_in_memory() -> None:
    torch = pytest.importorskip("torch")

    class Liar(torch.Tensor):
        @property
        def shape(self) -> Any:
            return torch.Size((40, 40))

    base = torch.ones(2, 3, dtype=torch.float32)

    @qd.kernel
    def count(x: qd.types.ndarray(qd.f32, ndim=2)):
        for i, j in x:
            x[i, j] += 10 * i + j

    count(base.as_subclass(Liar))
    assert base.tolist() == [[1, 2, 3], [11, 12, 13]]


def test_a_graph_whose_arrays_are_gone_is_refused() -> None:
    global freed
    freed = qd.ndarray(qd.f32, 4)
    array = qd.ndarray(qd.f32, 4)

    @qd.kernel(graph=True)
    def add(x: qd.types.ndarray()):
        for i in x:
            x[i] += 1.0
        for i in x:
            freed[i] += x[i]

    for _ in range(3):
        add(array)
    assert freed.to_numpy().tolist() == [6.0] * 4
    present = freed
    del freed
    with pytest.raises(qd.QuadrantsCompilationError, match="freed"):
        add(array)
    freed = present
    qd.init()
    with pytest.raises(qd.QuadrantsRuntimeError, match="ended"):
        add(array)


def test_what_is_no_tensor_is_refused() -> None:
    with pytest.raises(TypeError, match=r"qd.Tensor\(\) requires a field or an ndarray, got a int"):
        qd.Tensor(42)


@pytest.mark.parametrize("backend", qd.Backend)
def test_a_tensor_is_what_it_wraps(backend: Any) -> None:
    tensor = qd.tensor(qd.f32, (2,), backend=backend)
    assert tensor._unwrap() is tensor
    assert tensor._impl is tensor
    with pytest.raises(ValueError, match="Zero-copy not available"):
        tensor.to_numpy(dtype=np.float64, copy=False)
