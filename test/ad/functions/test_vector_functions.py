"""Programs as functions of one vector, as SciPy's optimizers take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import scalar, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
optimize = pytest.importorskip("scipy.optimize")
TYPES = pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
TIMES = np.linspace(0.0, 1.0, 12)


class Line:
    """Residuals of offset + slope_0 t + slope_1 t² against data."""

    def __init__(self, dtype: Any) -> None:
        self.data = np.sin(3 * TIMES)
        offset, slope = scalar(dtype), variable(2, dtype=dtype)
        misses, loss = variable(12, dtype=dtype), scalar(dtype)
        t, data = ti.field(dtype, 12), ti.field(dtype, 12)
        t.from_numpy(TIMES.astype(dtype.numpy))
        data.from_numpy(self.data.astype(dtype.numpy))
        self.offset, self.slope, self.misses, self.loss = offset, slope, misses, loss

        @ti.kernel
        def compare():
            for i in t:
                misses[i] = offset[None] + slope[0] * t[i] + slope[1] * t[i] ** 2 - data[i]

        @ti.kernel
        def add_up():
            for i in misses:
                loss[None] += misses[i] ** 2

        self.compare, self.add_up = compare, add_up
        self.inputs = [offset, slope]
        self.matrix = np.stack([np.ones(12), TIMES, TIMES**2], axis=1)
        self.solution = np.linalg.lstsq(self.matrix, self.data, rcond=None)[0]

    def run(self) -> None:
        self.compare()
        self.add_up()


@TYPES
def test_least_squares(dtype: Any) -> None:
    line = Line(dtype)
    f = ti.ad.program(line.compare, inputs=line.inputs, output=line.misses).scipy()
    at = np.array([0.5, -1.0, 2.0])
    digits = {"rel": 1e-5, "abs": 1e-5} if dtype is ti.f32 else {"rel": 1e-12, "abs": 1e-12}
    assert f(at) == pytest.approx(line.matrix @ at - line.data, **digits)
    for mode in (None, "forward", "reverse"):
        rows = f.jacobian(at, mode=mode)
        assert rows.shape == (12, 3) and rows == pytest.approx(line.matrix, **digits)
    assert {f(at).dtype, f.jacobian(at).dtype, f.x0.dtype} == {np.dtype(np.float64)}
    found = optimize.least_squares(f, f.x0, jac=f.jacobian)
    assert found.success
    assert found.x == pytest.approx(line.solution, rel=1e-4 if dtype is ti.f32 else 1e-8)


@TYPES
def test_minimize(dtype: Any) -> None:
    line = Line(dtype)
    f = ti.ad.program(line.run, inputs=line.inputs, output=line.loss).scipy()
    at = np.array([0.5, -1.0, 2.0])
    value, gradient = f.value_and_grad(at)
    misses = line.matrix @ at - line.data
    digits = 1e-5 if dtype is ti.f32 else 1e-12
    assert type(value) is float and value == pytest.approx(misses @ misses, rel=digits)
    assert gradient.dtype == np.float64
    assert gradient == pytest.approx(2 * line.matrix.T @ misses, rel=digits)
    found = optimize.minimize(f.value_and_grad, f.x0, jac=True, method="L-BFGS-B")
    assert found.x == pytest.approx(line.solution, rel=1e-2 if dtype is ti.f32 else 1e-4)
    f.assign(found.x)
    assert [line.offset[None], *line.slope.to_numpy()] == pytest.approx(found.x, rel=1e-6)
    assert f.x0 == pytest.approx(found.x, rel=1e-6)


def test_one_input_and_a_loss_in_a_list_or_of_one_element() -> None:
    x, loss = variable(3), variable(1)

    @ti.kernel
    def run():
        for i in x:
            loss[0] += (x[i] - i) ** 2

    for output in (loss, [loss]):
        f = ti.ad.program(run, inputs=x, output=output).scipy()
        assert f([1.0, 1.0, 1.0]).tolist() == [2.0]
        value, gradient = f.value_and_grad(np.ones(3))
        assert value == 2.0 and gradient.tolist() == [2, 0, -2]


def test_pieces_of_a_vector() -> None:
    m, x = ti.Matrix.field(2, 2, ti.f64, 2, needs_grad=True), variable(3)
    loss = scalar()

    @ti.kernel
    def run():
        for i in m:
            loss[None] += m[i].norm_sqr()

    f = ti.ad.program(run, inputs=[m, x], output=loss).scipy()
    first, second = f.split(np.arange(11.0))
    assert first.tolist() == np.arange(8.0).reshape(2, 2, 2).tolist()
    assert second.tolist() == [8, 9, 10]
    assert f.value_and_grad(np.arange(11))[1].tolist() == [*range(0, 16, 2), 0, 0, 0]


def test_what_is_refused() -> None:
    x, y = variable(3), variable(3)

    @ti.kernel
    def run():
        for i in x:
            y[i] = x[i]

    f = ti.ad.program(run, inputs=x, output=y).scipy()
    held = x.to_numpy().tolist()
    for function in (f, f.jacobian, f.split, f.assign):
        for vector in (np.ones(4), np.ones((3, 1)), 1.0, np.ones(3, complex), ["a", "b", "c"]):
            with pytest.raises(ti.TaichiTypeError, match="expected a vector of 3 numbers"):
                function(vector)
    with pytest.raises(ti.TaichiTypeError, match="output has several elements"):
        f.value_and_grad(np.ones(3))
    with pytest.raises(ValueError, match="'back'"):
        f.jacobian(np.ones(3), mode="back")
    with ti.ad.Tape(), pytest.raises(ti.TaichiRuntimeError, match="within a tape"):
        f(np.ones(3))
    assert x.to_numpy().tolist() == held
