"""`ti.stop_grad`: loads that carry no derivative, from the statement to the end of its block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import scalar, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")


def test_loads_in_the_rest_of_the_block_carry_nothing() -> None:
    x, y, loss = variable(4), variable(4, seed=1), scalar()

    @ti.kernel
    def run():
        for i in range(4):
            before = x[i] * 3.0
            ti.stop_grad(x)
            loss[None] += before + x[i] ** 2 * y[i]

    with ti.ad.Tape(loss):
        run()
    assert x.grad.to_numpy() == pytest.approx(3.0)
    assert y.grad.to_numpy() == pytest.approx(x.to_numpy() ** 2)


def test_the_block_ends_it() -> None:
    x, loss = variable(4), scalar()

    @ti.kernel
    def run(flag: ti.i32):
        for i in range(4):
            if flag > 0:
                ti.stop_grad(x)
                loss[None] += 5.0 * x[i]
            for _ in range(2):
                ti.stop_grad(x)
                loss[None] += 7.0 * x[i]
            loss[None] += 2.0 * x[i]
        for i in range(4):
            loss[None] += x[i]

    with ti.ad.Tape(loss):
        run(1)
    assert x.grad.to_numpy() == pytest.approx(3.0)


def test_a_function_stops_for_itself_and_inherits() -> None:
    x, loss = variable(4), scalar()

    @ti.func
    def stopping(i):
        ti.stop_grad(x)
        return x[i] * 5.0

    @ti.func
    def plain(i):
        return x[i] * 2.0

    @ti.kernel
    def run():
        for i in range(4):
            loss[None] += stopping(i) + plain(i)
            ti.stop_grad(x)
            loss[None] += plain(i)

    with ti.ad.Tape(loss):
        run()
    assert x.grad.to_numpy() == pytest.approx(2.0)


def test_components_updates_and_returned_values() -> None:
    v = ti.Vector.field(2, ti.f64, shape=3, needs_grad=True)
    x, loss = variable(3), scalar()
    v.fill(2.0)

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i in range(3):
            ti.stop_grad(v)
            ti.stop_grad(x)
            loss[None] += v[i].x * v[i][1]
            x[i] *= 3.0
            loss[None] += ti.atomic_add(x[i], 1.0)

    with ti.ad.Tape(loss):
        run()
    assert np.all(v.grad.to_numpy() == 0)
    assert np.all(x.grad.to_numpy() == 0)


def test_a_chain_cut_on_purpose_gets_no_hidden_gradient(recwarn: pytest.WarningsRecorder) -> None:
    x, loss = variable(4), scalar()
    y = ti.field(ti.f64, shape=4)

    @ti.kernel
    def first():
        for i in range(4):
            ti.stop_grad(x)
            y[i] = x[i] * 2.0

    @ti.kernel
    def second():
        for i in range(4):
            loss[None] += y[i]

    with ti.ad.Tape(loss):
        first()
        second()
    assert np.all(x.grad.to_numpy() == 0)
    assert not recwarn.list


def _of_values(dtype: Any) -> tuple[Any, Any, Any, Any]:
    """A scalar, a vector, a struct and an integer, each times itself without its derivative."""
    x = ti.field(dtype, shape=5, needs_grad=True)
    v = ti.Vector.field(2, dtype, shape=5, needs_grad=True)
    pair = ti.types.struct(a=dtype, b=ti.types.vector(2, dtype))
    loss = ti.field(dtype, shape=(), needs_grad=True)

    @ti.kernel
    def run():
        for i in x:
            held = ti.stop_grad(pair(x[i], v[i]))
            loss[None] += held.a * x[i] + held.b.dot(v[i]) + ti.stop_grad(i) * x[i]

    numbers = np.linspace(1, 2, 5)
    x.from_numpy(numbers)
    v.from_numpy(np.stack([numbers, -numbers], 1))
    return x, v, loss, run


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64])
def test_values_without_derivative_in_each_mode(dtype: Any) -> None:
    x, v, loss, run = _of_values(dtype)
    with ti.ad.Tape(loss):
        run()
    gradient = x.to_numpy() + np.arange(5)
    assert x.grad.to_numpy() == pytest.approx(gradient, rel=1e-6)
    assert v.grad.to_numpy() == pytest.approx(v.to_numpy(), rel=1e-6)
    with ti.ad.FwdMode(loss=loss, param=x, seed=[1.0] * 5):
        run()
    assert loss.dual[None] == pytest.approx(gradient.sum(), rel=1e-6)
    assert not np.any(ti.ad.hvp(run, loss, x, np.ones(5, x.dtype.numpy)))


def test_a_value_that_a_loop_carries_and_a_decision() -> None:
    x, loss = variable(6), scalar()

    @ti.kernel
    def run():
        for i in x:
            s = x[i]
            for _ in range(3):
                s *= ti.stop_grad(s)
            if ti.stop_grad(s) > 0.5:
                loss[None] += s

    with ti.ad.Tape(loss):
        run()
    state, slope = x.to_numpy(), np.ones(6)
    for _ in range(3):
        state, slope = state * state, slope * state
    assert x.grad.to_numpy() == pytest.approx(np.where(state > 0.5, slope, 0))


def test_a_function_without_derivative_stores_and_returns_constants() -> None:
    x, y, loss = variable(4), variable(4, seed=1), scalar()

    @ti.ad.no_grad
    @ti.func
    def constant(value, target: ti.template(), i):
        target[i] = value * value
        return x[i] * value, ti.Vector([value, value])

    @ti.kernel
    def run():
        for i in x:
            product, both = constant(x[i], y, i)
            loss[None] += (product + both.sum() + y[i]) * x[i]

    with ti.ad.Tape(loss):
        run()
    numbers = x.to_numpy()
    assert x.grad.to_numpy() == pytest.approx(2 * numbers**2 + 2 * numbers)
    assert not np.any(y.grad.to_numpy())


def test_methods_without_derivative() -> None:
    x, loss = variable(4), scalar()

    @ti.data_oriented
    class Scale:
        factor = 3.0

        @ti.ad.no_grad
        @ti.func
        def of(self, value):
            return self.factor * value

        @ti.kernel
        def run(self):
            for i in x:
                loss[None] += self.of(x[i]) * x[i]

    with ti.ad.Tape(loss):
        Scale().run()
    assert x.grad.to_numpy() == pytest.approx(3 * x.to_numpy())


def test_a_function_without_derivative_changes_no_variable_of_its_caller() -> None:
    x, loss = variable(4), scalar()

    @ti.ad.no_grad
    @ti.func
    def double(value: ti.template()):
        value *= 2.0

    @ti.kernel
    def run():
        for i in x:
            s = x[i]
            double(s)
            loss[None] += s

    with pytest.raises(ti.TaichiTypeError, match="pass its argument 'value' by value"):
        run()


def test_python_gets_values_back() -> None:
    assert ti.stop_grad(2.0) == 2.0
    assert list(ti.stop_grad(ti.Vector([1.0, 2.0]))) == [1.0, 2.0]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("x[0]", "the result is not used"),
        ("1.0", "the result is not used"),
        ("x, x", "one value, or one field"),
        ("", "one value, or one field"),
        ("'text'", "is not used"),
    ],
)
def test_other_uses_are_refused(argument: str, message: str, tmp_path: Any) -> None:
    source = tmp_path / "program.py"
    source.write_text(
        "import mlirad as ti\n\ndef make(x):\n    @ti.kernel\n    def run():\n        for i in "
        "range(4):\n"
        f"            ti.stop_grad({argument})\n    return run\n"
    )
    scope: dict[str, Any] = {}
    exec(compile(source.read_text(), str(source), "exec"), scope)
    with pytest.raises(ti.TaichiCompilationError, match=message):
        scope["make"](variable(4))()


def test_outside_kernels_it_is_refused() -> None:
    with pytest.raises(ti.TaichiSyntaxError, match="only be used inside a kernel"):
        ti.stop_grad(variable(4))
