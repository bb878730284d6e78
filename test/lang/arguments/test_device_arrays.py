"""Arrays of other libraries on the program's device, which are passed as they are.

There is no such library here: what stands for one keeps its arrays in the memory of `arch=ti.simt`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from programs.array_lifetimes import Views

import mlirad as ti
from mlirad.errors import TaichiRuntimeTypeError
from mlirad.lang.arguments.dlpack import _Tensor, _VersionedTensor
from mlirad.runtime.program import program as current_program
from mlirad.runtime.simt.simt_driver import SimtDriver

ELEMENTS = 12


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    """A program in double precision on the device."""
    ti.init(arch=ti.simt, default_fp=ti.f64, opt_level=0)
    yield
    ti.reset()


def driver() -> SimtDriver:
    """That of the program."""
    found: Any = current_program().executor
    return found.driver


class OnDevice:
    """An array there, and what its library knows of it."""

    def __init__(self, values: np.ndarray, strides: tuple[int, ...] | None = None) -> None:
        self.shape, self.numpy_type = values.shape, values.dtype
        self.driver, self.strides = driver(), strides
        self.address = self.driver.allocate(max(1, values.nbytes))
        self.driver.write(self.address, values.ctypes.data, values.nbytes)

    def values(self) -> np.ndarray:
        """What it holds."""
        found = np.empty(self.shape, self.numpy_type)
        self.driver.read(found.ctypes.data, self.address, found.nbytes)
        return found


class Interface(OnDevice):
    """As CuPy and Numba show theirs."""

    is_read_only = False

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.numpy_type.str,
            "data": (self.address, self.is_read_only),
            "strides": self.strides,
            "version": 3,
        }


class Tensor(OnDevice):
    """As torch has them."""

    requires_grad = is_sparse = False
    grad: Tensor | None = None

    @property
    def device(self) -> Any:
        return torch_device("cuda:0")

    @property
    def dtype(self) -> str:
        return f"torch.{self.numpy_type.name}"

    @property
    def data(self) -> Tensor:
        return self

    def data_ptr(self) -> int:
        return self.address

    def is_contiguous(self) -> bool:
        return self.strides is None

    def clone(self) -> Tensor:
        return Tensor(self.values())

    def zero_(self) -> Tensor:
        self.driver.fill(self.address, 0, int(np.prod(self.shape)) * self.numpy_type.itemsize)
        return self


Tensor.__module__ = "torch"


class torch_device(str):
    """Its device, by name."""

    @property
    def type(self) -> str:
        return self.partition(":")[0]


class Exchanged(OnDevice):
    """As DLPack hands them over."""

    is_versioned, is_read_only, device = True, False, (12, 0)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, stream: int | None, **options: Any) -> Any:
        assert stream is None
        if options and not self.is_versioned:
            raise TypeError("max_version is not known")
        rank = len(self.shape)
        sizes = (ctypes.c_int64 * rank)(*self.shape)
        steps = None if self.strides is None else (ctypes.c_int64 * rank)(*self.strides)
        pointer = ctypes.POINTER(ctypes.c_int64)
        tensor = _Tensor(
            self.address - 8,
            *self.device,
            rank,
            {"f": 2, "i": 0}[self.numpy_type.kind],
            8 * self.numpy_type.itemsize,
            1,
            ctypes.cast(sizes, pointer),
            None if steps is None else ctypes.cast(steps, pointer),
            8,
        )
        managed = _VersionedTensor(1, 0, None, None, int(self.is_read_only), tensor)
        self.kept = tensor, managed, sizes, steps
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = (
            ctypes.py_object,
            [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
        )
        if self.is_versioned:
            return new(ctypes.addressof(managed), b"dltensor_versioned", None)
        return new(ctypes.addressof(tensor), b"dltensor", None)


class OldExchanged(Exchanged):
    """As libraries of before DLPack 1.0 do."""

    is_versioned = False


MAKERS = [Interface, Tensor, Exchanged, OldExchanged]


@ti.kernel
def squares(a: ti.types.ndarray(), out: ti.types.ndarray()):
    for i in a:
        out[i] = a[i] * a[i]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_a_launch_works_on_the_array_itself(
    make: Callable[[np.ndarray], OnDevice], dtype: str
) -> None:
    values = np.arange(ELEMENTS).astype(dtype)
    a, out = make(values), make(np.zeros_like(values))
    squares(a, out)
    np.testing.assert_array_equal(out.values(), values * values)
    np.testing.assert_array_equal(a.values(), values)


def test_no_bytes_are_moved() -> None:
    a, out = Interface(np.arange(ELEMENTS) / 2), Interface(np.zeros(ELEMENTS))
    squares(a, out)
    moved: list[int] = []
    machine: Any = driver()
    machine.read = machine.write = lambda *given: moved.append(given[2])
    squares(a, out)
    del machine.read, machine.write
    assert not moved
    np.testing.assert_array_equal(out.values(), (np.arange(ELEMENTS) / 2) ** 2)


def test_matrices_and_mixed_arguments() -> None:
    @ti.kernel
    def rows(a: ti.types.ndarray(), b: ti.types.ndarray(), c: ti.types.ndarray()):
        for i, j in a:
            a[i, j] += 10.0 * b[i] + c[j]

    a, b, c = np.ones((3, 4)), np.arange(3.0), ti.ndarray(ti.f64, 4)
    c.from_numpy(np.arange(4.0))
    there = Tensor(a)
    rows(there, b, c)
    np.testing.assert_array_equal(there.values(), a + 10 * b[:, None] + np.arange(4))


def test_gradients_of_a_tensor() -> None:
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def cubes(t: ti.types.ndarray()):
        for i in t:
            loss[None] += t[i] ** 3

    t = Tensor(np.arange(4.0))
    t.requires_grad = True
    with ti.ad.Tape(loss):
        cubes(t)
    assert t.grad is not None
    np.testing.assert_array_equal(t.grad.values(), [0, 3, 12, 27])


def test_a_tape_notices_what_changed() -> None:
    loss = ti.field(ti.f64, (), needs_grad=True)
    x = ti.field(ti.f64, 4, needs_grad=True)

    @ti.kernel
    def weigh(t: ti.types.ndarray()):
        for i in x:
            loss[None] += t[i] * x[i] ** 2

    @ti.kernel
    def double(t: ti.types.ndarray()):
        for i in t:
            t[i] *= 2.0

    x.fill(1.0)
    t = Tensor(np.arange(4.0))
    with ti.ad.Tape(loss):
        weigh(t)
        double(t)
        weigh(t)
        t.zero_()  # by its own library
        weigh(t)
    np.testing.assert_array_equal(x.grad.to_numpy(), 2 * 3 * np.arange(4))


def test_a_tape_looks_at_large_tensors_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = ti.field(ti.f64, (), needs_grad=True)
    x = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def weigh(t: ti.types.ndarray()):
        for i in t:
            loss[None] += t[i] * x[None] ** 2

    x[None] = 3.0
    t = Tensor(np.ones(20_000))
    reads: list[int] = []
    machine, read = driver(), driver().read
    monkeypatch.setattr(machine, "read", lambda *given: (reads.append(given[2]), read(*given))[1])
    with ti.ad.Tape(loss):
        weigh(t)
        weigh(t)
    assert sum(reads) < 1000
    assert x.grad[None] == 2 * 2 * 3 * 20_000


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_not_contiguous_is_refused(make: Any) -> None:
    out = make(np.zeros(ELEMENTS))
    step = 8 if make is Interface else 1
    with pytest.raises(TaichiRuntimeTypeError, match=r"squares.*Argument a: .*contiguous"):
        squares(make(np.zeros(ELEMENTS), strides=(2 * step,)), out)
    if make is not Tensor:
        squares(make(np.zeros(1), strides=(7 * step,)), make(np.zeros(1)))  # it is


def test_what_is_read_only_is_not_written() -> None:
    for make in (Interface, Exchanged):
        a, out = make(np.ones(ELEMENTS)), make(np.zeros(ELEMENTS))
        a.is_read_only = True
        squares(a, out)
        with pytest.raises(TaichiRuntimeTypeError, match="read-only"):
            squares(out, a)


def test_another_device_is_named() -> None:
    a = Exchanged(np.ones(ELEMENTS))
    a.device = (2, 1)
    with pytest.raises(TaichiRuntimeTypeError, match=r"is on cuda:1, and the program runs on simt"):
        squares(a, a)
    b = Interface(np.ones(ELEMENTS))
    b.address = np.ones(ELEMENTS).ctypes.data
    with pytest.raises(TaichiRuntimeTypeError, match="is on a device, and"):
        squares(b, b)


def test_a_program_on_the_cpu_names_the_device() -> None:
    arrays = [make(np.ones(ELEMENTS)) for make in MAKERS]
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    for array in arrays:
        with pytest.raises(TaichiRuntimeTypeError, match="the program runs on the CPU"):
            squares(array, array)


def test_elements_without_a_type_are_refused() -> None:
    odd = Tensor(np.ones(ELEMENTS))
    odd.numpy_type = np.dtype("c16")
    with pytest.raises(TaichiRuntimeTypeError, match="complex128"):
        squares(odd, odd)


def test_arrays_of_the_host() -> None:
    for arch in (ti.simt, ti.cpu):
        ti.init(arch=arch, default_fp=ti.f64)
        for make in (Views, HostTensor):
            out = np.zeros(ELEMENTS)
            squares(make(np.arange(ELEMENTS) / 4), make(out))
            np.testing.assert_array_equal(out, (np.arange(ELEMENTS) / 4) ** 2)


class HostTensor:
    """One of torch's on the host."""

    requires_grad = False
    device = torch_device("cpu")

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def detach(self) -> HostTensor:
        """Itself."""
        return self

    def numpy(self) -> np.ndarray:
        """What it is inside."""
        return self.values


HostTensor.__module__, HostTensor.__name__ = "torch", "Tensor"


class Copied(Exchanged):
    """Hands over another copy each time that it is asked."""

    def __dlpack__(self, **options: Any) -> Any:
        self.copies = [*getattr(self, "copies", []), Exchanged(self.values())]
        return self.copies[-1].__dlpack__(**options)


class Fleeting(Interface):
    """Shows a copy that nothing keeps."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        address = self.driver.allocate(8 * ELEMENTS)
        return {**super().__cuda_array_interface__, "data": (address, False)}


def test_an_object_that_hands_over_copies() -> None:
    """It may be read where the copy is kept, and what is written would be lost."""
    values = np.arange(1.0, ELEMENTS + 1)
    out = Interface(np.zeros(ELEMENTS))
    squares(Copied(values), out)
    np.testing.assert_array_equal(out.values(), values**2)
    with pytest.raises(
        TaichiRuntimeTypeError, match=r"argument out .* a different buffer each time"
    ):
        squares(out, Copied(values))
    with pytest.raises(TaichiRuntimeTypeError, match="Argument a: this Fleeting is an object that"):
        squares(Fleeting(values), out)
