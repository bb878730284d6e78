"""Programs that hand over arrays nobody else keeps (`python -m programs.array_lifetimes ARCH`).

Run with `PYTHONMALLOC=debug MALLOC_PERTURB_=165`, memory that is freed holds other numbers at once.
Each situation says what its numbers have to be.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import mlirad as ti
from mlirad.quadrants import BufferView

N = 4096
SITUATIONS: list[Callable[[], None]] = []


def situation(run: Callable[[], None]) -> Callable[[], None]:
    """Have `main` run a situation, in a program of its own."""
    SITUATIONS.append(run)
    return run


def disturb() -> None:
    """Free what nobody holds, and use its memory for something else."""
    gc.collect()
    for size in (N, N // 2, 8):
        assert np.full(size, np.nan).size == size


@ti.kernel
def total(x: ti.types.ndarray()) -> ti.f64:
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
    return s


@ti.kernel
def weigh(weights: ti.types.ndarray(), x: ti.template(), y: ti.template()):
    for i in range(weights.shape[0]):
        y[None] += weights[i] * x[i] * x[i]


@ti.kernel
def double(x: ti.types.ndarray()):
    for i in range(x.shape[0]):
        x[i] *= 2.0


def fields() -> tuple[Any, Any]:
    """A field of threes, and a loss."""
    x, y = ti.field(ti.f64, N, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    x.fill(3.0)
    return x, y


def check_weighed(pass_weights: Callable[[], Any], weight: float) -> None:
    """Compare the gradient of a tape whose array nobody but it holds."""
    x, y = fields()
    with ti.ad.Tape(y):
        weigh(pass_weights(), x, y)
        disturb()
    np.testing.assert_allclose(x.grad.to_numpy(), 6.0 * weight, rtol=1e-14)


@situation
def temporaries() -> None:
    assert total(np.full(N, 2.0)) == 2 * N
    assert total(np.full(2 * N, 2.0)[::2]) == 2 * N
    assert total(np.full(N, 2.0).astype(np.float64)) == 2 * N


@situation
def temporaries_on_a_tape() -> None:
    check_weighed(lambda: np.full(N, 2.0), 2.0)
    check_weighed(lambda: np.full(2 * N, 2.0)[::2], 2.0)


@situation
def ndarrays_that_are_dropped() -> None:
    def ndarray() -> Any:
        weights = ti.ndarray(ti.f64, N)
        weights.fill(2.0)
        return weights

    assert total(ndarray()) == 2 * N
    check_weighed(ndarray, 2.0)


@situation
def a_view_outlives_its_ndarray() -> None:
    array = ti.ndarray(ti.f64, N)
    array.fill(2.0)
    host = np.array(array.to_numpy())
    del array
    disturb()
    assert host.sum() == 2 * N


@situation
def a_view_outlives_its_program() -> None:
    x, _ = fields()
    try:
        view = np.asarray(x)
    except (TypeError, ti.TaichiRuntimeError):  # a device's memory has none
        return
    del x
    ti.init(default_fp=ti.f64)
    y = ti.field(ti.f64, N)
    y.fill(7.0)
    disturb()
    assert view.sum() == 3 * N
    assert y.to_numpy().sum() == 7 * N


class Copies:
    """An object that hands over another copy by DLPack each time that it is asked."""

    def __init__(self) -> None:
        self.values = np.full(N, 2.0)

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.copy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


@situation
def copies_by_dlpack() -> None:
    assert total(Copies()) == 2 * N
    check_weighed(Copies, 2.0)
    copies = Copies()
    try:
        double(copies)
    except ti.TaichiRuntimeTypeError as error:
        assert "a different buffer each time" in str(error), error
    else:
        raise AssertionError("a kernel wrote to a copy, and nobody was told")


class Views:
    """An object that hands over one array, and the view alone holds it."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


@situation
def views_by_dlpack() -> None:
    values = np.full(N, 2.0)
    double(Views(values))
    assert values.sum() == 4 * N
    check_weighed(lambda: Views(np.full(N, 2.0)), 2.0)


@situation
def tensors_of_subclasses() -> None:
    try:
        import torch
    except ImportError:
        return

    class Detaches(torch.Tensor):
        def detach(self) -> Any:
            return super().detach().clone()

    class Converts(torch.Tensor):
        def numpy(self, *arguments: Any, **options: Any) -> Any:
            return super().detach().clone().numpy()

    for kind in (torch.Tensor, Detaches, Converts):
        tensor = torch.full((N,), 2.0, dtype=torch.float64).as_subclass(kind)
        double(tensor)
        disturb()
        assert float(torch.Tensor.sum(tensor)) == 4 * N
        check_weighed(
            lambda kind=kind: torch.full((N,), 2.0, dtype=torch.float64).as_subclass(kind), 2.0
        )


@situation
def arrays_of_functions() -> None:
    x, y = fields()

    def loss() -> None:
        y[None] = 0.0
        weigh(np.full(N, 2.0), x, y)
        disturb()

    gradient = ti.ad.grad(loss, inputs=[x], output=y)
    found = gradient(np.full(N, 3.0))
    disturb()
    np.testing.assert_allclose(np.asarray(found).reshape(-1), 12.0, rtol=1e-14)


@situation
def arrays_of_a_limited_tape() -> None:
    x, y = fields()
    with ti.ad.Tape(y, memory="256 KiB"):
        for step in range(6):
            weigh(np.full(N, float(step)), x, y)
            disturb()
    np.testing.assert_allclose(x.grad.to_numpy(), 6.0 * 15, rtol=1e-14)


@ti.kernel
def weigh_view(weights: BufferView, x: ti.template(), y: ti.template()):
    for i in range(weights.size):
        y[None] += weights[i] * x[i] * x[i]


def view(value: float) -> Any:
    """A view that alone keeps its array, whose other elements are no numbers."""
    array = ti.ndarray(ti.f64, 3 * N)
    array.fill(float("nan"))
    array[N : 2 * N] = np.full(N, value)
    return BufferView(array, N // 2, 2 * N).subview(N // 2, N)


@situation
def views_whose_arrays_are_gone() -> None:
    x, y = fields()
    first = view(2.0)
    disturb()
    with ti.ad.Tape(y):
        weigh_view(first, x, y)
        weigh_view(view(3.0), x, y)
        weigh_view(BufferView(np.full(N, 4.0), 0, N), x, y)
        del first
        disturb()
    assert y[None] == 9.0 * N * 9
    np.testing.assert_allclose(x.grad.to_numpy(), 6.0 * 9, rtol=1e-14)


def main(arch: str) -> None:
    """Run every situation."""
    for run in SITUATIONS:
        ti.init(arch=getattr(ti, arch), default_fp=ti.f64)
        run()
        ti.reset()
        print(run.__name__, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
