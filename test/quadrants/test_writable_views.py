"""`to_dlpack()`: others write to elements where they are, and no derivative misses it."""

from ctypes import c_double
from typing import Any

import numpy as np
import pytest

import mlirad as ti
import mlirad.quadrants as qd

FORMS = ["field", "vectors", "ndarray"]


class _Capsule:
    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: object) -> object:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class View:
    """Elements as torch has them: NumPy takes such a capsule as read-only."""

    def __init__(self, array: object) -> None:
        self.values = np.from_dlpack(_Capsule(array.to_dlpack()))  # type: ignore[attr-defined]

    def fill(self, value: float) -> None:
        numbers = c_double * self.values.size
        numbers.from_address(self.values.ctypes.data)[:] = [value] * self.values.size


def make(form: str, **options: bool) -> object:
    if form == "ndarray":
        return qd.ndarray(qd.f64, 4, **options)
    if form == "vectors":
        return qd.Vector.field(2, qd.f64, shape=4, **options)
    return qd.field(qd.f64, shape=4, **options)


@pytest.mark.cpu_code("lent memory is the processor's")
@pytest.mark.parametrize("form", FORMS)
def test_what_others_write_is_there(form: str) -> None:
    qd.init(arch=qd.cpu)
    x = make(form)
    view = View(x)
    view.fill(3.0)
    np.testing.assert_array_equal(x.to_numpy(), 3.0)  # type: ignore[attr-defined]
    x.fill(5.0)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(view.values, 5.0)


def squares() -> tuple[Any, Any, Any]:
    """A field of twos, a loss, and the kernel that adds its squares to the loss."""
    qd.init(arch=qd.cpu)
    x, loss = qd.field(qd.f64, 4, needs_grad=True), qd.field(qd.f64, (), needs_grad=True)

    @qd.kernel
    def square() -> None:
        for i in x:
            loss[None] += x[i] ** 2

    x.fill(2.0)
    return x, loss, square


@pytest.mark.cpu_code("lent memory is the processor's")
def test_a_tape_takes_no_launch_on_lent_memory() -> None:
    x, loss, square = squares()
    view = View(x)
    with pytest.raises(ti.TaichiRuntimeError, match="to_dlpack"), ti.ad.Tape(loss):
        square()
    del view
    with ti.ad.Tape(loss):
        square()
    np.testing.assert_array_equal(x.grad.to_numpy(), 4.0)


@pytest.mark.cpu_code("lent memory is the processor's")
def test_memory_lent_after_a_launch_is_kept_for_the_tape() -> None:
    x, loss, square = squares()
    with pytest.warns(UserWarning, match="is read in Python"), ti.ad.Tape(loss):
        square()
        view = View(x)
        view.fill(7.0)
        del view
    np.testing.assert_array_equal(x.grad.to_numpy(), 4.0)


PARTS = {
    "slice": lambda view: view[1:],
    "axes": lambda view: view.T,
    "shape": lambda view: view.reshape(2, 2)[1],
    "bytes": lambda view: view.view(np.uint8)[8:],
    "buffer": lambda view: memoryview(view)[1:],
}


@pytest.mark.cpu_code("lent memory is the processor's")
@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_a_view_is_a_view(part: str) -> None:
    x, loss, square = squares()
    held = PARTS[part](x.to_numpy(copy=False))
    with pytest.raises(ti.TaichiRuntimeError, match="may write to"), ti.ad.Tape(loss):
        square()
    del held
    with ti.ad.Tape(loss):
        square()
    np.testing.assert_array_equal(x.grad.to_numpy(), 4.0)


@pytest.mark.cpu_code("lent memory is the processor's")
@pytest.mark.parametrize("layout", [(0, 1), (1, 0)])
def test_a_part_of_a_view_of_an_array_with_a_layout_is_a_view(layout: tuple[int, ...]) -> None:
    qd.init(arch=qd.cpu)
    x = qd.tensor(qd.f64, (3, 2), backend=qd.Backend.NDARRAY, layout=layout, needs_grad=True)
    loss = qd.field(qd.f64, (), needs_grad=True)

    @qd.kernel
    def square(x: qd.types.ndarray()) -> None:
        for i, j in x:
            loss[None] += x[i, j] ** 2

    part = x.to_numpy(copy=False)[1:, 1]
    with pytest.raises(ti.TaichiRuntimeError, match="may write to"), ti.ad.Tape(loss):
        square(x)
    del part
    with ti.ad.Tape(loss):
        square(x)
