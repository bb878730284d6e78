"""Jacobians of programs over fields, in both modes, against derivatives by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import array, scalar, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
Array = np.ndarray[Any, Any]
TYPES = pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
WAYS = pytest.mark.parametrize(
    "way",
    [{}, {"mode": "reverse"}, *({"mode": "forward", "width": width} for width in (1, 3, 8))],
    ids=lambda way: "-".join(map(str, way.values())) or "default",
)


def close(dtype: Any) -> Any:
    return {"rel": 1e-5, "abs": 1e-5} if dtype is ti.f32 else {"rel": 1e-12, "abs": 1e-13}


@WAYS
@TYPES
def test_blocks_of_several_inputs_and_outputs(dtype: Any, way: Any) -> None:
    """y_k = sum over i of w_ki sin x_i, and z_k = M (x_k, x_k+1)."""
    weights = np.random.default_rng(2).uniform(-1, 1, (2, 3))
    x, m = variable(3, dtype=dtype), ti.Matrix.field(2, 2, dtype, (), needs_grad=True)
    y, z = variable(2, dtype=dtype), ti.Vector.field(2, dtype, 2, needs_grad=True)
    w = ti.field(dtype, (2, 3))
    w.from_numpy(weights.astype(dtype.numpy))

    @ti.kernel
    def run():
        for k, i in w:
            y[k] += w[k, i] * ti.sin(x[i])
        for k in z:
            z[k] = m[None] @ ti.Vector([x[k], x[k + 1]])

    at, matrix = np.array([0.3, -0.2, 1.1]), np.array([[1.0, 2.0], [-0.5, 0.25]])
    derivative = ti.ad.jacobian(run, inputs=[x, m], output=[y, z], **way)
    (y_x, y_m), (z_x, z_m) = derivative(at.astype(dtype.numpy), matrix.astype(dtype.numpy))
    assert y_x == pytest.approx(weights * np.cos(at), **close(dtype))
    assert y_m.shape == (2, 2, 2) and not y_m.any()
    expected_x, expected_m = np.zeros((2, 2, 3)), np.zeros((2, 2, 2, 2))
    for k in range(2):
        expected_x[k, :, k : k + 2] = matrix
        for i in range(2):
            expected_m[k, i, i, :] = at[k : k + 2]
    assert z_x == pytest.approx(expected_x, **close(dtype))
    assert z_m == pytest.approx(expected_m, **close(dtype))
    assert {block.dtype for block in (y_x, y_m, z_x, z_m)} == {np.dtype(dtype.numpy)}


@WAYS
def test_a_state_that_is_input_and_output(way: Any) -> None:
    """Steps in place, each of which couples neighbours, in a loop whose end depends on the data."""
    n = 5
    x = variable(n)
    old = ti.field(ti.f64, n, needs_grad=True)

    @ti.kernel
    def step():
        for i in x:
            old[i] = x[i]
        for i in x:
            x[i] = 3.2 * old[i] * (1 - old[(i + 1) % n])

    @ti.kernel
    def halve():
        for i in x:
            while ti.abs(x[i]) > 0.1:
                x[i] *= 0.5

    def run() -> None:
        for _ in range(3):
            step()
        halve()

    state, tangent = np.array([0.3, 0.5, 0.2, 0.6, 0.45]), np.eye(n)
    at = state
    for _ in range(3):
        following = np.roll(state, -1)
        tangent = 3.2 * (
            (1 - following)[:, None] * tangent - state[:, None] * np.roll(tangent, -1, axis=0)
        )
        state = 3.2 * state * (1 - following)
    scale = 0.5 ** np.ceil(np.maximum(np.log2(np.abs(state) / 0.1), 0))
    derivative = ti.ad.jacobian(run, inputs=x, output=x, **way)
    assert derivative(at) == pytest.approx(scale[:, None] * tangent, rel=1e-11)


@WAYS
def test_ndarrays(way: Any) -> None:
    a, y = array(2, 3), array(2)

    @ti.kernel
    def run(a: ti.types.ndarray(ti.f64, ndim=2), y: ti.types.ndarray(ti.f64, ndim=1)):
        for i, j in a:
            y[i] += a[i, j] ** 2

    at = np.arange(6.0).reshape(2, 3)
    expected = np.zeros((2, 2, 3))
    expected[[0, 1], [0, 1]] = 2 * at
    derivative = ti.ad.jacobian(lambda: run(a, y), inputs=a, output=y, **way)
    assert derivative(at) == pytest.approx(expected)


def test_numbers_give_a_number() -> None:
    x, y = scalar(), scalar()

    @ti.kernel
    def run():
        y[None] += x[None] ** 3

    derivative = ti.ad.jacobian(run, inputs=x, output=y)
    assert derivative.__name__ == "jacobian(run)"
    assert derivative(2.0) == 12.0 and type(derivative(2.0)) is float
    assert ti.ad.jacobian(run, inputs=[x], output=[y])(2.0) == ((12.0,),)


def test_the_wider_type() -> None:
    x, y = variable(2, dtype=ti.f32), variable(2)

    @ti.kernel
    def run():
        for i in x:
            y[i] = 2.0 * x[i]

    for mode in ("forward", "reverse"):
        rows = ti.ad.jacobian(run, inputs=x, output=y, mode=mode)(np.ones(2))
        assert rows.dtype == np.float64 and rows.tolist() == [[2, 0], [0, 2]]


class Counted:
    """A program that counts its runs: rows times a matrix of ones."""

    def __init__(self, columns: int, rows: int) -> None:
        self.x, self.y = variable(columns), variable(rows)
        self.runs = 0
        x, y = self.x, self.y

        @ti.kernel
        def add_up():
            for k in y:
                for i in range(columns):
                    y[k] += x[i]

        self.add_up = add_up

    def run(self) -> None:
        self.runs += 1
        self.add_up()


@pytest.mark.parametrize(
    ("columns", "rows", "options", "runs"),
    [
        (8, 4, {}, 1),  # forward: one pass of eight columns
        (11, 6, {}, 2),  # forward: passes of six
        (11, 6, {"width": 4}, 3),
        (11, 6, {"mode": "reverse"}, 1),
        (11, 5, {}, 1),  # reverse, on one tape
        (11, 5, {"mode": "forward", "width": 1}, 11),
    ],
)
def test_how_often_the_program_runs(columns: int, rows: int, options: Any, runs: int) -> None:
    program = Counted(columns, rows)
    derivative = ti.ad.jacobian(program.run, inputs=program.x, output=program.y, **options)
    assert derivative(np.zeros(columns)).tolist() == np.ones((rows, columns)).tolist()
    assert program.runs == runs


@WAYS
def test_random_numbers_are_the_same_in_every_pass(way: Any) -> None:
    x, y = variable(6), variable(2)

    @ti.kernel
    def run():
        for k in y:
            for i in range(6):
                y[k] += x[i] * ti.random(ti.f64)

    at = np.arange(1.0, 7.0)
    derivative = ti.ad.jacobian(run, inputs=x, output=y, **way)
    draws = derivative(at)
    assert len({*draws.ravel()}) == 12
    assert draws @ at == pytest.approx(y.to_numpy(), rel=1e-12)
    assert not np.isclose(derivative(at), draws).any()  # a later call goes on


def test_state_of_python_between_passes() -> None:
    """Columns of different runs would not belong together."""
    x, y, calls = variable(4), variable(4), []

    @ti.kernel
    def scale(factor: ti.f64):
        for i in x:
            y[i] = factor * x[i]

    def run() -> None:
        calls.append(1)
        scale(float(len(calls)))

    forward = ti.ad.jacobian(run, inputs=x, output=y, width=2)
    with pytest.raises(ti.TaichiRuntimeError, match="gave other outputs when it ran again"):
        forward(np.ones(4))
    calls.clear()
    rows = ti.ad.jacobian(run, inputs=x, output=y, mode="reverse")(np.ones(4))
    assert rows.tolist() == np.eye(4).tolist()


def test_nan_and_infinite_outputs_are_the_same_in_every_pass() -> None:
    x, y = variable(3), variable(3)

    @ti.kernel
    def run():
        for i in x:
            y[i] = 1.0 / x[i]

    rows = ti.ad.jacobian(run, inputs=x, output=y, width=1)(np.array([0.0, np.nan, 2.0]))
    assert rows[2].tolist() == [0, 0, -0.25]


@WAYS
def test_other_fields_hold_what_they_held(way: Any) -> None:
    x, y, h = variable(3), variable(3), variable(3)
    held, values = h.to_numpy(), np.ones(3, np.float64)

    @ti.kernel
    def run(values: ti.types.ndarray(ti.f64, ndim=1)):
        for i in x:
            h[i] = 2.0 * x[i]
            values[i] = 7.0
        for i in y:
            y[i] = h[i] * x[i]

    at = np.array([1.0, 2.0, 3.0])
    rows = ti.ad.jacobian(lambda: run(values), inputs=x, output=y, **way)(at)
    assert rows == pytest.approx(np.diag(4 * at))
    assert h.to_numpy().tolist() == held.tolist() and values.tolist() == [1, 1, 1]
    assert x.to_numpy().tolist() == at.tolist() and y.to_numpy() == pytest.approx(2 * at**2)


def test_a_loop_that_is_checkpointed() -> None:
    x, y = variable(3), variable(2)

    @ti.kernel
    def step():
        for i in x:
            x[i] += 0.1 * ti.sin(x[i])

    @ti.kernel
    def read():
        for k in y:
            y[k] = x[k] * x[k + 1]

    def run() -> None:
        for _ in ti.ad.checkpointed(range(20), state=x, snapshots=3):
            step()
        read()

    at, slopes = np.array([0.2, 0.7, 1.3]), np.ones(3)
    state = at
    for _ in range(20):
        slopes, state = slopes * (1 + 0.1 * np.cos(state)), state + 0.1 * np.sin(state)
    a, b, c = state
    expected = np.array([[b, a, 0.0], [0.0, c, b]]) * slopes
    for mode in ("reverse", "forward"):
        rows = ti.ad.jacobian(run, inputs=x, output=y, mode=mode)(at)
        assert rows == pytest.approx(expected, rel=1e-12), mode


@WAYS
def test_the_jacobian_of_a_gradient_is_the_hessian(way: Any) -> None:
    x, y, loss = variable(3), variable(3), scalar()

    @ti.kernel
    def energy():
        for i in x:
            loss[None] += x[i] ** 3 * x[(i + 1) % 3]

    @ti.kernel
    def read():
        for i in x:
            y[i] = x.grad[i]

    def run() -> None:
        with ti.ad.Tape(loss):
            energy()
        read()

    a, b, c = at = np.array([1.0, 2.0, 3.0])
    expected = [
        [6 * a * b, 3 * a**2, 3 * c**2],
        [3 * a**2, 6 * b * c, 3 * b**2],
        [3 * c**2, 3 * b**2, 6 * c * a],
    ]
    rows = ti.ad.jacobian(run, inputs=x, output=y, **way)(at)
    assert rows == pytest.approx(np.array(expected), rel=1e-12)


@WAYS
def test_a_way_through_sparse_fields(way: Any) -> None:
    x, y = variable(3), variable(2)
    cells = ti.field(ti.f64, needs_grad=True)
    ti.root.pointer(ti.i, 8).dense(ti.i, 2).place(cells, cells.grad)

    @ti.kernel
    def activate():
        for i in range(3):
            cells[5 * i] = x[i] ** 2

    @ti.kernel
    def add_up():
        for i in cells:
            y[i % 2] += cells[i] * (i + 1)

    def run() -> None:
        activate()
        add_up()

    rows = ti.ad.jacobian(run, inputs=x, output=y, **way)(np.array([1.0, 2.0, 3.0]))
    assert rows.tolist() == [[2, 0, 66], [0, 24, 0]]


def test_a_gradient_of_a_whole_launch_is_used_in_reverse() -> None:
    x, y = variable(2), variable(2)

    @ti.kernel
    def double():
        for i in x:
            y[i] = 2.0 * x[i]

    @ti.ad.grad_replaced
    def run():
        double()

    @ti.ad.grad_for(run)
    def run_grad():
        x.grad[0] += 10 * y.grad[0]
        x.grad[1] += 10 * y.grad[1]

    at = np.ones(2)
    rows = ti.ad.jacobian(run, inputs=x, output=y, mode="reverse")(at)
    assert rows.tolist() == [[10, 0], [0, 10]]
    with pytest.raises(ti.TaichiRuntimeError, match="forward mode cannot pass through it"):
        ti.ad.jacobian(run, inputs=x, output=y)(at)


def test_what_is_refused() -> None:
    x, y = variable(2), variable(2)

    @ti.func
    def f(a):
        return a

    @ti.kernel
    def run():
        for i in x:
            y[i] = x[i]

    for named, message in (({"mode": "back"}, "'back'"), ({"width": 0}, "at least 1, not 0")):
        with pytest.raises(ValueError, match=message):
            ti.ad.jacobian(run, inputs=x, output=y, **named)
    for arguments, named, message in (
        ((run,), {"inputs": x}, "takes inputs= and output="),
        ((run,), {"mode": "forward"}, "takes inputs= and output="),
        ((f,), {"inputs": x, "output": y}, "'f' is a @ti.func"),
        ((run, 1), {"inputs": x, "output": y}, "argnums= belongs to a @ti.func"),
        ((run,), {"inputs": x, "output": [y, y]}, "among the outputs twice"),
    ):
        with pytest.raises(ti.TaichiTypeError, match=message):
            ti.ad.jacobian(*arguments, **named)
    derivative = ti.ad.jacobian(run, inputs=x, output=y)
    with pytest.raises(ti.TaichiTypeError, match=r"shape \(3,\)"):
        derivative(np.ones(3))
    with ti.ad.Tape(), pytest.raises(ti.TaichiRuntimeError, match="within a tape"):
        derivative(np.ones(2))


def test_an_error_leaves_fields_alone() -> None:
    x, y = variable(4), variable(4)

    @ti.kernel
    def overwrite():
        for i in x:
            x[i] = 0.0

    def run() -> None:
        overwrite()
        raise ZeroDivisionError

    held = x.to_numpy().tolist(), y.to_numpy().tolist()
    for mode in ("forward", "reverse"):
        with pytest.raises(ZeroDivisionError):
            ti.ad.jacobian(run, inputs=x, output=y, mode=mode)(np.ones(4))
        assert (x.to_numpy().tolist(), y.to_numpy().tolist()) == held
