"""Arrays that are not the usual ones: taken where they can be, refused by name where not, and never
taken for something else."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.errors import TaichiRuntimeTypeError, TaichiTypeError

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True, scope="module")
def program() -> None:
    ti.init()


@ti.kernel
def add_one(a: ti.types.ndarray()):
    for place in ti.grouped(a):
        a[place] += 1


@ti.kernel
def total(a: ti.types.ndarray()) -> ti.f64:
    s = ti.cast(0.0, ti.f64)
    for place in ti.grouped(a):
        s += ti.cast(a[place], ti.f64)
    return s


class Derived(np.ndarray):
    """A class of the user's."""


def strided(values: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    return np.lib.stride_tricks.as_strided(values, shape, strides)


TAKEN: dict[str, Callable[[], Array]] = {
    "without axes": lambda: np.array(3.0),
    "empty": lambda: np.zeros((3, 0)),
    "backwards": lambda: np.arange(12.0).reshape(3, 4)[::-1, ::-1],
    "column by column": lambda: np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "with gaps": lambda: np.zeros((6, 8))[::2, ::3],
    "a member": lambda: np.zeros(3, [("a", "f4"), ("b", "i4")])["a"],
    "not aligned": lambda: np.zeros(3, [("a", "i1"), ("b", "f8")])["b"],
    "bytes of another": lambda: np.frombuffer(bytearray(33), "f8", 4, 1),
    "halves": lambda: np.zeros(3, np.float16),
    "bytes": lambda: np.zeros(3, np.int8),
    "long": lambda: np.array([2**63, 1], np.uint64),
    "a matrix": lambda: np.zeros((2, 2)).view(Derived),
    "no mask": lambda: np.ma.masked_array([1.0, 2.0]),
    "windows apart": lambda: strided(np.zeros(9), (2, 3), (32, 8)),
}


@pytest.mark.parametrize("what", TAKEN)
def test_kernels_write_to(what: str) -> None:
    array = TAKEN[what]()
    before = np.array(array)
    add_one(array)
    np.testing.assert_array_equal(np.array(array), before + np.ones((), array.dtype))


REFUSED: dict[str, tuple[Any, str]] = {
    "another order of bytes": (np.zeros(3, ">f8"), "lie in another order"),
    "complex": (np.zeros(3, complex), "no mlirad type for NumPy's complex128"),
    "records": (np.zeros(3, [("a", "f4")]), "no mlirad type"),
    "masked": (np.ma.masked_array([1.0, 2.0], [0, 1]), r"array\.filled"),
    "one place": (strided(np.zeros(1), (3,), (0,)), "elements overlap in memory"),
    "windows": (strided(np.zeros(5), (3, 3), (8, 8)), "elements overlap in memory"),
    "broadcast": (np.broadcast_to(np.float64(1), (3,)), "read-only array"),
    "a list": ([1.0] * 100, r"\.\.\.\]: expected an array: np\.asarray"),
    "a number": (np.float64(1), "expected an array"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_kernels_do_not_write_to(what: str) -> None:
    array, words = REFUSED[what]
    with pytest.raises(TaichiRuntimeTypeError, match=words):
        add_one(array)


def test_windows_may_be_read() -> None:
    assert total(strided(np.arange(5.0), (3, 3), (8, 8))) == 0 + 1 + 2 + 1 + 2 + 3 + 2 + 3 + 4


NO_NUMBERS: dict[str, tuple[Any, str]] = {
    "complex": (np.array([1j, 0, 0]), "not complex numbers"),
    "dates": (np.array(["2020-01-01"] * 3, "M8[D]"), "not dates"),
    "texts": (np.array(["1", "2", "3"]), "not texts"),
    "records": (np.zeros(3, [("a", "f4")]), "not records"),
    "objects": (np.array([1, 2, "x"], object), "got an element of type str"),
    "nothing": (None, "got an element of type NoneType"),
    "masked": (np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0]), "masked elements"),
}


@pytest.mark.parametrize("what", NO_NUMBERS)
def test_what_are_no_numbers_is_refused(what: str) -> None:
    values, words = NO_NUMBERS[what]
    vectors = ti.Vector.field(2, ti.f32, 3)
    split = ti.Vector.field(1, ti.i32)
    ti.root.dense(ti.i, 3).place(split.get_scalar_field(0))
    targets = [ti.field(ti.f32, 3), ti.field(ti.i32, 3), ti.field(ti.u1, 3), ti.ndarray(ti.f64, 3)]
    for one in (*targets, vectors.get_scalar_field(1), split):
        with pytest.raises(TaichiRuntimeTypeError, match=words):
            one.from_numpy(values)
    for one in (*targets, vectors):
        if what == "nothing":
            with pytest.raises(TaichiRuntimeTypeError, match=words):
                one[0] = values
    assert not targets[0].to_numpy().any() and not targets[3].to_numpy().any()


@pytest.mark.parametrize("what", ["field", "ndarray"])
def test_elements(what: str) -> None:
    x: Any = ti.field(ti.f32, 3) if what == "field" else ti.ndarray(ti.f32, 3)
    x.from_numpy(np.array([1, 2.5, True], object))
    assert x.to_numpy().tolist() == [1.0, 2.5, 1.0]
    x[0] = np.array(7.0)
    assert x[0] == 7.0
    for value in (np.zeros(1), [1.0, 2.0], ti.Vector([1.0, 2.0])):
        with pytest.raises(TaichiTypeError, match=r"expected a value of shape \(\)"):
            x[0] = value
        with pytest.raises(TaichiTypeError, match=r"expected a value of shape \(\)"):
            x.fill(value)
    assert pickle.loads(pickle.dumps(x)).to_numpy().tolist() == [7.0, 2.5, 1.0]
    if what == "ndarray":
        assert copy.deepcopy(x).to_numpy().tolist() == [7.0, 2.5, 1.0]


@pytest.mark.cpu_code("memory that NumPy sees")
def test_the_interface_of_numpy_s_arrays() -> None:
    x, blocked = ti.field(ti.f32, 3), ti.field(ti.f32)
    ti.root.dense(ti.i, 2).dense(ti.i, 2).place(blocked)
    said = x.__array_interface__
    assert said["shape"] == (3,) and said["typestr"] == np.dtype("f4").str and said["data"][1]

    class Other:
        __array_interface__ = said

    found = np.asarray(Other())
    x[1] = 4.0
    assert found.tolist() == [0.0, 4.0, 0.0] and not found.flags.writeable
    assert not hasattr(blocked, "__array_interface__")
    assert np.asarray(blocked).shape == (4,)


def test_a_view_by_the_interface_outlives_its_program() -> None:
    ti.init()
    x = ti.field(ti.f32, 100_000)
    x.fill(3)
    view = np.asarray(x)
    ti.init()
    del x
    gc.collect()
    other = ti.field(ti.f32, 100_000)
    other.fill(5)
    assert (view == 3).all()


def test_a_field_is_refused_with_its_cure() -> None:
    with pytest.raises(TaichiRuntimeTypeError, match=r"expected an array; .* ti\.template\(\)"):
        add_one(ti.field(ti.f32, 3))


@pytest.mark.parametrize("way", ["array", "element", "slice", "fill"])
def test_numbers_too_large_for_a_field_are_infinite(way: str) -> None:
    """So a reverse that multiplies them keeps adjoints of 0, as of infinities that are given."""
    ti.init()
    x, w, mask, loss = (ti.field(ti.f32, n, needs_grad=True) for n in (2, 2, 2, ()))

    @ti.kernel
    def masked():
        for i in x:
            loss[None] += w[i] * x[i] * mask[i]

    large = np.array([1e300, 1e300])
    with np.errstate(over="ignore"):
        if way == "array":
            w.from_numpy(large)
        elif way == "element":
            w[0] = 1e300
        elif way == "slice":
            w[0:2] = large
        else:
            w.fill(1e300)
    with ti.ad.Tape(loss):
        masked()
    assert x.grad.to_numpy().tolist() == [0, 0]


def test_structs_are_no_array() -> None:
    x = ti.Struct.field({"a": ti.f32, "b": ti.i32}, shape=3)
    with pytest.raises(TypeError, match="an array for each member"):
        np.asarray(x)


def test_two_threads() -> None:
    """Each writes and reads arrays of its own while the other does."""
    wrong: list[int] = []

    def work(number: int) -> None:
        x = np.full((50, 3), float(number))[::-1, ::2]
        for _ in range(30):
            add_one(x)
        if total(x) != (number + 30) * 100:
            wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


def test_torch_s_tensors() -> None:
    torch = pytest.importorskip("torch")

    class Own(torch.Tensor):  # type: ignore[name-defined, misc]
        pass

    x = ti.field(ti.f32, 3)
    own = torch.zeros(3).as_subclass(Own)
    add_one(own)
    assert own.sum() == 3
    for tensor, words in (
        (torch.zeros(1).expand(3), "contiguous"),
        (torch._neg_view(torch.ones(3)), r"resolve_neg\(\)"),
        (torch.zeros(3, dtype=torch.bfloat16), "BFloat16"),
        (torch.eye(3).to_sparse(), "Sparse"),
    ):
        with pytest.raises(TaichiRuntimeTypeError, match=words):
            add_one(tensor)
    with pytest.raises(TaichiRuntimeTypeError, match="expected an array"):
        add_one(torch.float32)
    x.from_torch(torch._neg_view(torch.ones(3)))
    assert x.to_numpy().tolist() == [-1.0] * 3
    x.from_torch(torch.full((3,), 2.0, dtype=torch.bfloat16))
    assert x.to_numpy().tolist() == [2.0] * 3
    x[1] = torch.tensor(5.0)
    assert x[1] == 5.0
    with pytest.raises(TypeError, match=r"expected a torch\.Tensor, got list"):
        x.from_torch([1.0])
