"""`qd.checkpoint`: launches that pause and go on, and what is refused."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import pytest

import mlirad as ti
import mlirad.quadrants as qd
from mlirad.errors import TaichiCompilationError

COUNT = 16


class Stage(IntEnum):
    """What the programs here pause at."""

    SQUARE = 4
    SUM = 9


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(default_fp=ti.f64)


def _number(start: int) -> Any:
    number = qd.ndarray(qd.i32, ())
    number.fill(start)
    return number


def _steps() -> Any:
    @qd.kernel(graph=True, checkpoints=True)
    def steps(
        ran: qd.types.ndarray(qd.i32, ndim=2),
        flag: qd.types.ndarray(qd.i32, ndim=0),
        counter: qd.types.ndarray(qd.i32, ndim=0),
    ):
        for i in range(COUNT):
            ran[0, i] += 1
        with qd.checkpoint(Stage.SQUARE, yield_on=flag):
            """Two loops, and a condition."""
            for i in range(COUNT):
                ran[1, i] += 1
            if counter[()] > 0:
                ran[2, 0] += 1
            for i in qd.static(range(2)):
                ran[2, i + 1] += 1
        while qd.graph.do_while(counter):
            for i in range(COUNT):
                ran[3, i] += 1
            with qd.checkpoint(Stage.SUM, yield_on=flag):
                for i in range(COUNT - 1, -1, -1):
                    ran[4, i] += 1
            for _ in range(1):
                counter[()] -= 1
        for i in range(COUNT):
            ran[5, i] += 1

    return steps


def _launch(
    steps: Any, flag: int, counter: int, at: int | None = None
) -> tuple[Any, list[int], int]:
    ran, left = qd.ndarray(qd.i32, (6, COUNT)), _number(counter)
    arguments = ran, _number(flag), left
    status = steps(*arguments) if at is None else steps.resume(*arguments, from_checkpoint=at)
    rows = ran.to_numpy()
    assert all((rows[row] == rows[row, 0]).all() for row in (0, 1, 3, 4, 5))
    assert (rows[2, :3] == rows[2, 1]).all()
    return status, list(rows[:, 1]), left[None]


def test_what_runs_of_a_launch() -> None:
    steps = _steps()
    assert _launch(steps, 0, 3) == (qd.GraphStatus(False, None), [1, 1, 1, 3, 3, 1], 0)
    assert _launch(steps, 1, 3) == (qd.GraphStatus(True, Stage.SQUARE), [1, 1, 1, 0, 0, 0], 3)
    assert _launch(steps, 0, 3, 4) == (qd.GraphStatus(False, None), [0, 1, 1, 3, 3, 1], 0)
    status, *ran = _launch(steps, 1, 3, Stage.SUM)
    assert status.checkpoint is Stage.SUM
    assert ran == [[0, 0, 0, 0, 1, 0], 3]
    assert _launch(steps, 0, 3, Stage.SUM)[1:] == ([0, 0, 0, 2, 3, 1], 0)
    assert repr(status) == "GraphStatus(yielded=True, checkpoint=<Stage.SUM: 9>)"


def test_a_loop_in_front_of_where_a_launch_resumes_is_left_out() -> None:
    @qd.kernel(graph=True, checkpoints=True)
    def steps(x: qd.types.ndarray(qd.i32, ndim=1), counter: qd.types.ndarray(qd.i32, ndim=0)):
        while qd.graph.do_while(counter):
            for i in x:
                x[i] += 1
            for _ in range(1):
                counter[()] -= 1
        with qd.checkpoint(0, yield_on=counter):
            for i in x:
                x[i] += 10

    x = qd.ndarray(qd.i32, COUNT)
    assert steps.resume(x, _number(3), from_checkpoint=0).yielded
    np.testing.assert_array_equal(x.to_numpy(), 10)


def test_an_object_whose_kernel_pauses() -> None:
    @qd.data_oriented
    class Sim:
        def __init__(self) -> None:
            self.x, self.flag = qd.ndarray(qd.i32, COUNT), _number(0)

        @qd.kernel(graph=True, checkpoints=True)
        def step(self):
            with qd.checkpoint(7, yield_on=self.flag):
                for i in range(COUNT):
                    self.x[i] += 1
                    self.flag[()] = 1
            for i in range(COUNT):
                self.x[i] += 10

    for _ in range(2):
        sim = Sim()
        assert sim.step() == qd.GraphStatus(True, 7)
        assert sim.step.resume(from_checkpoint=7).yielded
        np.testing.assert_array_equal(sim.x.to_numpy(), 2)
        ti.init()  # whose memory is another


def _squares() -> tuple[Any, Any]:
    loss = ti.field(ti.f64, (), needs_grad=True, needs_dual=True)

    @qd.kernel(graph=True, checkpoints=True)
    def squares(
        x: qd.types.ndarray(qd.f64, ndim=1),
        y: qd.types.ndarray(qd.f64, ndim=1),
        flag: qd.types.ndarray(qd.i32, ndim=0),
    ):
        for i in range(COUNT):
            y[i] = x[i] ** 2
        with qd.checkpoint(Stage.SQUARE, yield_on=flag):
            for i in range(COUNT):
                y[i] *= x[i]
        with qd.checkpoint(Stage.SUM, yield_on=flag):
            for i in range(COUNT):
                loss[None] += y[i]

    return loss, squares


def test_gradients_through_launches_that_pause() -> None:
    loss, squares = _squares()
    x, y = (qd.ndarray(qd.f64, COUNT, needs_grad=True) for _ in range(2))
    values = np.linspace(0.5, 1, COUNT)
    x.from_numpy(values)
    flag = _number(1)
    with ti.ad.Tape(loss):
        assert squares(x, y, flag).checkpoint is Stage.SQUARE
        flag.fill(0)
        assert not squares.resume(x, y, flag, from_checkpoint=Stage.SQUARE).yielded
    assert loss[None] == pytest.approx((values**4).sum())
    np.testing.assert_allclose(x.grad.to_numpy(), 4 * values**3, rtol=1e-12)


def test_gradients_of_a_launch_that_nothing_pauses() -> None:
    loss, squares = _squares()
    x, y = (qd.ndarray(qd.f64, COUNT, needs_grad=True) for _ in range(2))
    values = np.linspace(0.5, 1, COUNT)
    x.from_numpy(values)
    with ti.ad.Tape(loss):
        squares(x, y, _number(0))
    np.testing.assert_allclose(x.grad.to_numpy(), 3 * values**2, rtol=1e-12)


def test_tangents_through_launches_that_pause() -> None:
    x = ti.field(ti.f64, COUNT, needs_dual=True)
    loss = ti.field(ti.f64, (), needs_dual=True)
    flag = ti.field(ti.i32, ())

    @qd.kernel(graph=True, checkpoints=True)
    def run():
        with qd.checkpoint(0, yield_on=flag):
            for i in range(COUNT):
                loss[None] += x[i] ** 3
        for i in range(COUNT):
            loss[None] += x[i]

    values = np.linspace(0.5, 1, COUNT)
    x.from_numpy(values)
    flag[None] = 1
    with ti.ad.FwdMode(loss=loss, param=x, seed=[1.0] * COUNT):
        assert run().yielded
        flag[None] = 0
        run.resume(from_checkpoint=0)
    assert loss.dual[None] == pytest.approx((6 * values**2 + 1).sum(), rel=1e-12)


def test_a_label_that_no_checkpoint_has() -> None:
    steps = _steps()
    with pytest.raises(RuntimeError, match=r"from_checkpoint=5 does not match .* 'steps'"):
        _launch(steps, 0, 1, 5)
    with pytest.raises(RuntimeError, match="must be an int or IntEnum value, not 'SUM'"):
        _launch(steps, 0, 1, "SUM")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match=r"steps\.grad\(\) does not know where"):
        steps.grad()


def test_a_label_that_another_variant_has() -> None:
    @qd.kernel(graph=True, checkpoints=True)
    def run(has_checkpoint: qd.template(), flag: qd.types.ndarray(qd.i32, ndim=0)):
        if qd.static(has_checkpoint):
            with qd.checkpoint(3, yield_on=flag):
                for _ in range(1):
                    flag[()] = 1

    assert run(True, _number(0)).yielded
    with pytest.raises(RuntimeError, match="from_checkpoint=3 does not match"):
        run.resume(False, _number(0), from_checkpoint=3)


def _without_checkpoints() -> None:
    @qd.kernel(graph=True)
    def run(flag: qd.types.ndarray(qd.i32, ndim=0)):
        with qd.checkpoint(0, yield_on=flag):
            pass

    run(_number(0))


def _without_graph() -> None:
    @qd.kernel(checkpoints=True)
    def run():
        pass


def _twice() -> None:
    @qd.kernel(graph=True, checkpoints=True)
    def run(flag: qd.types.ndarray(qd.i32, ndim=0)):
        with qd.checkpoint(0, yield_on=flag):
            pass
        with qd.checkpoint(0, yield_on=flag):
            pass

    run(_number(0))


def _in_another() -> None:
    @qd.kernel(graph=True, checkpoints=True)
    def run(flag: qd.types.ndarray(qd.i32, ndim=0)):
        with qd.checkpoint(0, yield_on=flag), qd.checkpoint(1, yield_on=flag):
            pass

    run(_number(0))


def _in_a_loop() -> None:
    @qd.kernel(graph=True, checkpoints=True)
    def run(flag: qd.types.ndarray(qd.i32, ndim=0)):
        for _ in range(3):
            with qd.checkpoint(0, yield_on=flag):
                pass

    run(_number(0))


def _of_an_assignment() -> None:
    @qd.kernel(graph=True, checkpoints=True)
    def run(flag: qd.types.ndarray(qd.i32, ndim=0)):
        with qd.checkpoint(0, yield_on=flag):
            flag[()] = 1

    run(_number(0))


def _of_a_vector() -> None:
    @qd.kernel(graph=True, checkpoints=True)
    def run(flag: qd.types.ndarray(qd.i32, ndim=1)):
        with qd.checkpoint(0, yield_on=flag):
            pass

    run(qd.ndarray(qd.i32, 2))


def _of_a_text() -> None:
    @qd.kernel(graph=True, checkpoints=True)
    def run(flag: qd.types.ndarray(qd.i32, ndim=0)):
        with qd.checkpoint("first", yield_on=flag):
            pass

    run(_number(0))


REFUSED = {
    _without_checkpoints: "checkpoints=True",
    _without_graph: r"checkpoints=True\) requires graph=True",
    _twice: "cp_id 0 is already used",
    _in_another: "cannot be nested",
    _in_a_loop: "must be at the top level of the kernel",
    _of_an_assignment: "bare top-level Assign statement",
    _of_a_vector: r"an array of shape \(\)",
    _of_a_text: "an int literal or an IntEnum value",
}


@pytest.mark.parametrize("program", REFUSED, ids=lambda program: program.__name__)
def test_refused(program: Any) -> None:
    with pytest.raises(TaichiCompilationError, match=REFUSED[program]):
        program()
