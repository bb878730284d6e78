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


@pytest.mark.parametrize("argument", ["x[0]", "1.0", "x, x", ""])
def test_what_is_no_field_is_refused(argument: str, tmp_path: Any) -> None:
    source = tmp_path / "program.py"
    source.write_text(
        "import mlirad as ti\n\ndef make(x):\n    @ti.kernel\n    def run():\n        for i in "
        "range(4):\n"
        f"            ti.stop_grad({argument})\n    return run\n"
    )
    scope: dict[str, Any] = {}
    exec(compile(source.read_text(), str(source), "exec"), scope)
    with pytest.raises(ti.TaichiCompilationError, match="stop_grad takes one field"):
        scope["make"](variable(4))()


def test_outside_kernels_it_is_refused() -> None:
    with pytest.raises(ti.TaichiSyntaxError, match="only be used inside a kernel"):
        ti.stop_grad(variable(4))
