"""Tangents of large fields lie in the caller's arrays while a second derivative is computed: what
it gives, and what it leaves behind, is the same as with copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.runtime.memory.host import host_memory as host

N = 64
Values = np.ndarray[Any, Any]
Run = Callable[[], Any]


@pytest.fixture(autouse=True, params=[1, 2], ids=["one_thread", "two_threads"])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "LEAST_MOVED", 1)
    ti.init(default_fp=ti.f64, cpu_max_num_threads=request.param)


def values(seed: int, *shape: int) -> Values:
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def field(seed: int, *shape: int) -> Any:
    found = ti.field(ti.f64, shape, needs_grad=True)
    found.from_numpy(values(seed, *shape))
    return found


def scalar() -> Any:
    return ti.field(ti.f64, (), needs_grad=True)


def moved_and_copied(
    run: Run, loss: Any, x: Any, v: Values, monkeypatch: pytest.MonkeyPatch
) -> tuple[Values, Values]:
    """The product where tangents move, and where they are copied."""
    before, direction = x.to_numpy(), v.copy()
    found: list[Values] = []
    for least in (1, 1 << 60):
        monkeypatch.setattr(host, "LEAST_MOVED", least)
        for _ in range(2):  # the second time it is known which tangents nobody reads
            found.append(ti.ad.hvp(run, loss, x, v))
        np.testing.assert_array_equal(v, direction)
        np.testing.assert_array_equal(x.to_numpy(), before)
        np.testing.assert_array_equal(found[-1], found[-2])
    return found[0], found[2]


def programs() -> dict[str, Callable[[], tuple[Run, Any, Any]]]:
    """Programs that read the field, write to it, or have others do so."""

    def reading() -> tuple[Run, Any, Any]:
        x, loss = field(1, N), scalar()

        @ti.kernel
        def f():
            for i in x:
                loss[None] += ti.sin(x[i]) * x[(i + 1) % N]

        return f, loss, x

    def overwriting() -> tuple[Run, Any, Any]:
        x, loss = field(2, N), scalar()

        @ti.kernel
        def square():
            for i in x:
                x[i] = x[i] * x[i] + 0.25 * x[i]

        @ti.kernel
        def f():
            for i in x:
                loss[None] += ti.exp(x[i])

        def run() -> None:
            f()
            for _ in range(3):
                square()
            f()

        return run, loss, x

    def from_python() -> tuple[Run, Any, Any]:
        x, y, loss = field(3, N), field(4, N), scalar()

        @ti.kernel
        def f():
            for i in x:
                loss[None] += x[i] ** 3 * y[i]

        def run() -> None:
            f()
            x[3] = 0.5
            f()
            y.copy_from(x)
            f()
            x.fill(2.0)
            f()

        return run, loss, x

    return {one.__name__: one for one in (reading, overwriting, from_python)}


@pytest.mark.parametrize("name", programs())
def test_equal_to_copies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run, loss, x = programs()[name]()
    one, other = moved_and_copied(run, loss, x, values(5, N), monkeypatch)
    assert np.abs(one).max() > 0.01
    np.testing.assert_array_equal(one, other)


def test_several_fields_and_components() -> None:
    x, loss = ti.Vector.field(2, ti.f64, (8, 4), needs_grad=True), scalar()
    y = ti.field(ti.f64, needs_grad=True)
    ti.root.dense(ti.i, 4).dense(ti.i, 8).place(y, y.grad)  # its elements have two axes
    x.from_numpy(values(6, 8, 4, 2))
    y.from_numpy(values(7, 32))

    @ti.kernel
    def f():
        for i, j in x:
            loss[None] += x[i, j][0] ** 2 * x[i, j][1] * y[4 * i + j]

    v = [values(8, 8, 4, 2), values(9, 32)]
    a, b = x.to_numpy(), y.to_numpy().reshape(8, 4)
    u, w = v[0], v[1].reshape(8, 4)
    of_x = [
        2 * b * (a[..., 1] * u[..., 0] + a[..., 0] * u[..., 1]) + 2 * a[..., 0] * a[..., 1] * w,
        2 * a[..., 0] * b * u[..., 0] + a[..., 0] ** 2 * w,
    ]
    of_y = 2 * a[..., 0] * a[..., 1] * u[..., 0] + a[..., 0] ** 2 * u[..., 1]
    found = ti.ad.hvp(f, loss, [x, y], v)
    np.testing.assert_allclose(found[0], np.stack(of_x, -1), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found[1], of_y.reshape(32), rtol=1e-12, atol=1e-14)


def test_results_are_the_callers() -> None:
    """Nothing that runs later changes one, nor is changed by it."""
    run, loss, x = programs()["reading"]()
    v, w = values(5, N), values(6, N)
    first = ti.ad.hvp(run, loss, x, v)
    kept = first.copy()
    second = ti.ad.hvp(run, loss, x, w)
    x.grad.dual.fill(5.0)
    np.testing.assert_array_equal(first, kept)
    first *= 2.0
    np.testing.assert_array_equal(ti.ad.hvp(run, loss, x, v), kept)
    np.testing.assert_array_equal(ti.ad.hvp(run, loss, x, w), second)
    np.testing.assert_array_equal(
        ti.ad.hvp(run, loss, x, first / 2.0), ti.ad.hvp(run, loss, x, kept)
    )


def test_a_direction_that_is_a_result() -> None:
    """As in the method of conjugate gradients."""
    run, loss, x = programs()["reading"]()
    v = values(5, N)
    expected = ti.ad.hvp(run, loss, x, ti.ad.hvp(run, loss, x, v).copy())
    for _ in range(3):
        found = ti.ad.hvp(run, loss, x, v)
        np.testing.assert_array_equal(ti.ad.hvp(run, loss, x, found), expected)


@pytest.mark.cpu_code("memory that NumPy sees")
def test_directions_that_the_program_writes_to() -> None:
    """They are what they were at the call: in an array that a kernel writes to, in one to whose
    copy it does, and in an ndarray, to which Python writes as well."""
    x, loss = field(1, N), scalar()

    @ti.kernel
    def spoil(a: ti.types.ndarray()):
        for i in range(N):
            a[i] = 100.0

    @ti.kernel
    def f():
        for i in x:
            loss[None] += ti.sin(x[i]) * x[(i + 1) % N]

    v = values(5, N)
    expected = ti.ad.hvp(f, loss, x, v)
    own, wide, array = v.copy(), np.zeros((N, 2)), ti.ndarray(ti.f64, N)
    lent = np.from_dlpack(array)

    def spoiling(given: Any) -> Run:
        def run() -> None:
            spoil(given)
            f()

        return run

    wide[:, 0] = v
    array.from_numpy(v)
    for direction, given in ((own, own), (wide[:, 0], wide[:, 0]), (lent, array)):
        found = ti.ad.hvp(spoiling(given), loss, x, direction)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(direction, v)  # put back
    array.from_numpy(v)

    def filling() -> None:
        array.fill(1.0)
        f()

    np.testing.assert_array_equal(ti.ad.hvp(filling, loss, x, lent), expected)


def test_forward_mode_afterwards() -> None:
    """Launches find the tangents in their fields again."""
    x, y = field(1, N), field(2, N)
    loss = scalar()

    @ti.kernel
    def f():
        for i in x:
            y[i] = x[i] * x[i]

    @ti.kernel
    def g():
        for i in y:
            loss[None] += y[i] * y[i]

    def run() -> None:
        f()
        g()

    v, w = values(5, N), values(6, N)
    a = x.to_numpy()
    for _ in range(3):
        np.testing.assert_allclose(ti.ad.hvp(run, loss, x, v), 12 * a * a * v, rtol=1e-12)
        with ti.ad.FwdMode(loss=y, param=x, seed=w):
            f()
        np.testing.assert_allclose(y.dual.to_numpy(), 2 * a * w, rtol=1e-12)


def test_what_ends_early() -> None:
    """An error of the program leaves tangents in their fields."""
    run, loss, x = programs()["reading"]()

    def broken() -> None:
        run()
        raise KeyError("here")

    v = values(5, N)
    expected = ti.ad.hvp(run, loss, x, v)
    with pytest.raises(KeyError, match="here"):
        ti.ad.hvp(broken, loss, x, v)
    x.dual.fill(3.0)
    assert v[0] == values(5, N)[0]
    np.testing.assert_array_equal(ti.ad.hvp(run, loss, x, v), expected)


@pytest.mark.cpu_code("memory that NumPy sees")
def test_a_view_of_tangents_that_moved() -> None:
    """Elements that were lent stay where they are."""
    run, loss, x = programs()["reading"]()
    v = values(5, N)
    expected = ti.ad.hvp(run, loss, x, v)
    seen = []

    def looking() -> None:
        seen.append(np.from_dlpack(x.dual))
        run()

    np.testing.assert_array_equal(ti.ad.hvp(looking, loss, x, v), expected)
    np.testing.assert_array_equal(seen[0], v)
    view = np.from_dlpack(x.dual)
    x.dual.fill(2.0)
    assert (view == 2.0).all()
    np.testing.assert_array_equal(ti.ad.hvp(run, loss, x, v), expected)
    assert (np.from_dlpack(x.grad.dual) == x.grad.dual.to_numpy()).all()
