"""Arrays that may not be written: a kernel that writes one is refused before anything runs, one
that reads is served."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mlirad as ti

Array = np.ndarray[Any, Any]


@ti.kernel
def total(v: ti.types.ndarray(), n: ti.i32) -> ti.f64:  # type: ignore[valid-type]
    s = 0.0
    for i in range(n):
        s += v[i]
    return s


@ti.kernel
def fill_second(u: ti.types.ndarray(), v: ti.types.ndarray()):  # type: ignore[valid-type]
    for i in range(4):
        v[i] = u[i] + 1.0


@ti.kernel
def add_one(v: ti.types.ndarray()):  # type: ignore[valid-type]
    for i in range(4):
        v[i] += 1.0


@ti.func
def put(v: ti.template(), i: int):  # type: ignore[valid-type]
    v[i] = 7.0


@ti.kernel
def put_by_function(v: ti.types.ndarray(), n: ti.i32):  # type: ignore[valid-type]
    for i in range(n):
        if i > 2:
            put(v, i)


@pytest.fixture(autouse=True)
def double() -> None:
    """A program in double precision."""
    ti.init(default_fp=ti.f64)


def flagged(_: Path) -> Array:
    """An array with its flag cleared, as the view of a JAX array."""
    array = np.arange(4.0)
    array.flags.writeable = False
    return array


def mapped(folder: Path) -> Array:
    """A file mapped for reading: a write would end the process."""
    np.save(folder / "array.npy", np.arange(4.0))
    array: Array = np.load(folder / "array.npy", mmap_mode="r")
    return array


def strided(_: Path) -> Array:
    """Every other element of a read-only array: not contiguous, so copied."""
    array = np.repeat(np.arange(4.0), 2)
    array.flags.writeable = False
    return array[::2]


def broadcast(_: Path) -> Array:
    """One element four times."""
    return np.broadcast_to(np.float64(1.5), (4,))


def buffered(_: Path) -> Array:
    """A view of bytes."""
    return np.frombuffer(np.arange(4.0).tobytes())


KINDS = [flagged, mapped, strided, broadcast, buffered]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "kernel", [add_one, lambda v: fill_second(np.ones(4), v), lambda v: put_by_function(v, 4)]
)
def test_a_kernel_that_writes_is_refused(
    kernel: Callable[[Array], None], kind: Callable[[Path], Array], tmp_path: Path
) -> None:
    """Naming kernel, parameter and the line of the write."""
    array = kind(tmp_path)
    before = array.copy()
    with pytest.raises(
        ti.TaichiRuntimeTypeError, match=r"argument v of kernel '\w+' is a read-only array"
    ) as raised:
        kernel(array)
    assert "test_readonly_arrays.py:" in str(raised.value)
    assert "v[i]" in str(raised.value)
    np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kernel_that_reads_is_served(kind: Callable[[Path], Array], tmp_path: Path) -> None:
    """Also beside an array that it writes, and of one that was refused before."""
    array, other = kind(tmp_path), np.zeros(4)
    assert total(array, 4) == array.sum()
    with pytest.raises(ti.TaichiRuntimeTypeError):
        add_one(array)
    fill_second(array, other)
    np.testing.assert_array_equal(other, array + 1)
    assert total(array, 4) == array.sum()


def test_one_variant_serves_both() -> None:
    """The flag is looked at by every launch, for it may change."""
    array = np.zeros(4)
    add_one(array)
    array.flags.writeable = False
    with pytest.raises(ti.TaichiRuntimeTypeError, match="read-only"):
        add_one(array)
    array.flags.writeable = True
    add_one(array)
    np.testing.assert_array_equal(array, 2.0)


def test_what_is_only_read_is_not_copied_back() -> None:
    """A part of an array that is given twice, read and written, holds what was written."""

    @ti.kernel
    def fill_first(v: ti.types.ndarray(), u: ti.types.ndarray()):  # type: ignore[valid-type]
        for i in range(4):
            v[i] = u[i] + 1.0

    whole = np.arange(8.0)
    fill_first(whole[::2], whole[::2])
    np.testing.assert_array_equal(whole, [1, 1, 3, 3, 5, 5, 7, 7])
    fill_second(whole[::2], whole[::2])
    np.testing.assert_array_equal(whole, [2, 1, 4, 3, 6, 5, 8, 7])


def test_tapes_take_read_only_arrays(tmp_path: Path) -> None:
    """As constants; a launch that writes one is refused and leaves nothing on the tape."""

    @ti.kernel
    def weigh(v: ti.types.ndarray()):  # type: ignore[valid-type]
        for i in x:
            loss[None] += v[i] * x[i] ** 2

    x, loss = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    x.fill(3.0)
    weights = mapped(tmp_path)
    with ti.ad.Tape(loss) as tape:
        weigh(weights)
        with pytest.raises(ti.TaichiRuntimeTypeError, match="argument v of kernel 'add_one'"):
            add_one(weights)
    assert len(tape.calls) == 1
    np.testing.assert_array_equal(x.grad.to_numpy(), 6.0 * np.arange(4.0))


def test_a_matrix_argument_in_protected_memory() -> None:
    """What the kernel reads it reads in place, whatever the memory allows."""
    pages = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ)
    array = np.frombuffer(pages, np.float64, 4)
    assert total(array, 4) == 0.0
    with pytest.raises(ti.TaichiRuntimeTypeError, match="read-only"):
        add_one(array)


class Tensor:
    """What is asked of a torch tensor."""

    __module__ = "torch"
    device = SimpleNamespace(type="cpu")
    is_sparse = False

    def __init__(self, array: Array, grad: Tensor | None = None) -> None:
        self.array, self.grad, self.requires_grad = array, grad, grad is not None

    def detach(self) -> Tensor:
        """Itself."""
        return self

    def numpy(self) -> Array:
        """Its memory."""
        return self.array

    def is_contiguous(self) -> bool:
        """Whether its elements lie side by side."""
        return self.array.flags.c_contiguous


def test_a_read_only_gradient_is_refused() -> None:
    """By the reverse, which would write to it; the kernel itself runs."""
    fixed = np.zeros(4)
    fixed.flags.writeable = False
    total(Tensor(np.ones(4), Tensor(fixed)), 4)
    with pytest.raises(
        ti.TaichiRuntimeTypeError,
        match="gradient of argument v of kernel 'total' is a read-only array",
    ):
        total.grad(Tensor(np.ones(4), Tensor(fixed)), 4)
    x = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def add_to(v: ti.types.ndarray()):  # type: ignore[valid-type]
        for i in range(4):
            x[None] += v[i]

    with (
        pytest.raises(ti.TaichiRuntimeTypeError, match="gradient of argument v of kernel 'add_to'"),
        ti.ad.Tape(x),
    ):
        add_to(Tensor(np.ones(4), Tensor(fixed)))
    assert x[None] == 0.0
    assert not fixed.any()
