"""Tapes that check at run time: Taichi's rule for accesses (`validation`), and NaNs (`anomaly`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gradients import names_both, scatter

import mlirad as ti
from mlirad.lang.autodiff_mode import AutodiffMode, SNodeGradType


def variable(name: str, *shape: int, dtype: Any = ti.f64) -> Any:
    """A field with a gradient and a name of its own."""
    x = ti.field(dtype, shape=shape, needs_grad=True, name=name)
    scatter(x)
    return x


@pytest.fixture
def debug() -> Iterator[None]:
    ti.init(default_fp=ti.f64, debug=True)
    yield
    ti.reset()


@pytest.mark.usefixtures("debug")
def test_what_was_read_and_is_written_is_named() -> None:
    x, weight, loss = variable("x", 4), variable("weight"), variable("loss")

    @ti.kernel
    def broken():
        loss[None] = x[1] * weight[None]
        weight[None] += 100.0

    with (
        pytest.raises(
            ti.TaichiAssertionError,
            match=r"\(kernel=broken\) Breaks the global data access rule\. Snode "
            r"weight is overwritten unexpectedly\.",
        ) as caught,
        ti.ad.Tape(loss, validation=True),
    ):
        broken()
    names_both(caught.value, "weight[None] += 100.0")
    assert "weight[None] += 100.0" in str(caught.value)


@pytest.mark.usefixtures("debug")
def test_the_rule_is_kept_by_element_and_across_kernels() -> None:
    u, loss = variable("u", 3, 4), variable("loss")

    @ti.kernel
    def step(t: ti.i32):
        for i in range(4):
            u[t, i] = u[t - 1, i] * 2.0

    @ti.kernel
    def total() -> ti.f64:
        for i in range(4):
            loss[None] += u[2, i]
        return 7.0

    for _ in range(2):
        with ti.ad.Tape(loss, validation=True) as tape:
            step(1)
            step(2)
            assert total() == 7.0
            assert tape.modes == [AutodiffMode.VALIDATION] * 3
            assert all(kernel.autodiff_mode == AutodiffMode.VALIDATION for kernel, _ in tape.calls)
        assert step.autodiff_mode == AutodiffMode.NONE
        assert u.grad.to_numpy()[0] == pytest.approx(4.0)
    with (
        pytest.raises(ti.TaichiAssertionError, match=r"kernel=step.*Snode u "),
        ti.ad.Tape(loss, validation=True),
    ):
        step(2)
        step(1)


@pytest.mark.usefixtures("debug")
def test_fields_say_what_they_are() -> None:
    x = ti.field(ti.f64, shape=3, needs_grad=True, needs_dual=True)
    kinds = [one.snode.ptr.get_snode_grad_type() for one in (x, x.grad, x.dual)]
    assert kinds == [SNodeGradType.PRIMAL, SNodeGradType.ADJOINT, SNodeGradType.DUAL]


@pytest.mark.usefixtures("debug")
def test_other_fields_and_replaced_functions_are_exempt() -> None:
    x, loss = variable("x", 4), variable("loss")
    plain = ti.field(ti.i32, shape=())
    assert x.snode.ptr.has_adjoint_checkbit()
    assert not plain.snode.ptr.has_adjoint_checkbit()

    @ti.kernel
    def count():
        for i in range(4):
            loss[None] += x[i]
        plain[None] = plain[None] + 1

    @ti.kernel
    def broken():
        x[0] = x[0] * 2.0

    @ti.ad.no_grad
    def change() -> None:
        broken()

    with ti.ad.Tape(loss, validation=True):
        count()
        change()
    assert x.grad.to_numpy() == pytest.approx(1.0)


def test_without_debug_there_is_a_warning() -> None:
    ti.init(default_fp=ti.f64)
    x, loss = variable("x", 4), variable("loss")

    @ti.kernel
    def run():
        x[0] = x[0] ** 2
        loss[None] = x[0]

    with (
        pytest.warns(Warning, match="Debug mode is disabled, autodiff valid check will not work"),
        ti.ad.Tape(loss, validation=True),
    ):
        run()
        assert run.autodiff_mode == AutodiffMode.NONE


@pytest.mark.usefixtures("f64")
class TestAnomalies:
    """`anomaly=True` names the first number that is none."""

    def test_forward(self) -> None:
        x, y, loss = variable("x", 2, 3), variable("y", 2, 3), variable("loss")
        x[1, 2] = -1.0

        @ti.kernel
        def roots():
            for i, j in x:
                y[i, j] = 1.0
                y[i, j] = ti.sqrt(x[i, j])

        @ti.kernel
        def total():
            for i, j in y:
                loss[None] += y[i, j]

        message = r"\(kernel=roots\) field 'y'\[1, 2\] becomes -?nan, which is not a finite number"
        with (
            pytest.raises(ti.TaichiAssertionError, match=message) as caught,
            ti.ad.Tape(loss, anomaly=True),
        ):
            roots()
            total()
        names_both(caught.value, "y[i, j] = ti.sqrt(x[i, j])")
        x[1, 2] = 1.0
        with ti.ad.Tape(loss, anomaly=True):
            roots()
            total()
        assert x.grad.to_numpy() == pytest.approx(0.5 / np.sqrt(x.to_numpy()))

    def test_sums(self) -> None:
        x, loss = variable("x", 3), variable("loss")
        x.fill(1e308)

        @ti.kernel
        def total():
            for i in range(3):
                loss[None] += x[i]

        with (
            pytest.raises(ti.TaichiAssertionError, match="'loss' becomes inf"),
            ti.ad.Tape(loss, anomaly=True),
        ):
            total()

    def test_backward(self) -> None:
        x, loss = variable("x", 3), variable("loss")
        x[1] = 0.0

        @ti.kernel
        def roots():
            for i in range(3):
                loss[None] += ti.sqrt(x[i])

        message = r"\(kernel=roots\) field 'x\.grad'\[1\] becomes inf"
        with (
            pytest.raises(ti.TaichiAssertionError, match=message) as caught,
            ti.ad.Tape(loss, anomaly=True),
        ):
            roots()
        names_both(caught.value, "loss[None] += ti.sqrt(x[i])")

    def test_memory_after_an_error_in_reverse(self) -> None:
        x, loss = variable("x", 3), variable("loss")

        @ti.kernel
        def roots():
            for i in range(3):
                x[i] = ti.sqrt(x[i]) * x[i]

        @ti.kernel
        def total():
            for i in range(3):
                loss[None] += ti.sqrt(x[i] - 1.0)
                x[i] = 5.0

        x.fill(1.0)
        with (
            pytest.raises(ti.TaichiAssertionError, match="becomes inf"),
            ti.ad.Tape(loss, anomaly=True),
        ):
            roots()
            total()
        assert np.all(x.to_numpy() == 5.0)

    def test_array_arguments_and_single_precision(self) -> None:
        y = ti.ndarray(ti.f32, shape=4, needs_grad=True)
        loss = variable("loss", dtype=ti.f32)

        @ti.kernel
        def fill(y: ti.types.ndarray(dtype=ti.f32, ndim=1), d: ti.f32):
            for i in range(4):
                y[i] = 1.0 / (d - i)

        with (
            pytest.raises(ti.TaichiAssertionError, match=r"an array argument\[2\] becomes inf"),
            ti.ad.Tape(loss, anomaly=True),
        ):
            fill(y, 2.0)


@pytest.mark.usefixtures("debug")
def test_both_checks() -> None:
    x, y, loss = variable("x", 3), variable("y", 3), variable("loss")

    @ti.kernel
    def roots():
        for i in range(3):
            y[i] = ti.sqrt(x[i])

    @ti.kernel
    def total():
        for i in range(3):
            loss[None] += y[i]
        x[0] = 1.0

    def run() -> None:
        with ti.ad.Tape(loss, validation=True, anomaly=True) as tape:
            roots()
            assert tape.modes == [AutodiffMode.VALIDATION]
            total()

    with pytest.raises(ti.TaichiAssertionError, match=r"kernel=total.*Snode x is overwritten"):
        run()
    x[1] = -1.0
    with pytest.raises(
        ti.TaichiAssertionError, match=r"kernel=roots\) field 'y'\[1\] becomes -?nan"
    ):
        run()
    x[1] = 0.0
    with (
        pytest.raises(ti.TaichiAssertionError, match=r"field 'x\.grad'\[1\] becomes inf"),
        ti.ad.Tape(loss, validation=True, anomaly=True),
    ):
        roots()
        total_only(y, loss)


@ti.kernel
def total_only(y: ti.template(), loss: ti.template()):
    for i in y:
        loss[None] += y[i]
