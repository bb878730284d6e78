"""What Quadrants' programs say to kernels, functions and loops."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import mlirad.quadrants as qd


@pytest.fixture(autouse=True)
def program() -> None:
    qd.init()


def test_an_option_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="speed"):
        qd.kernel(speed=1)
    with pytest.raises(KeyError, match="no_such_option"):
        qd.init(no_such_option=1)
    with pytest.raises(KeyError, match="default_up"):
        qd.init(default_up=qd.u32)
    with pytest.raises(KeyError, match="no Metal"):
        qd.init(external_metal_command_queue=1)
    qd.init(cfg_optimization=False, num_compile_threads=4, unrolling_limit=8)
    assert qd.cfg.num_compile_threads == 4


@qd.func(requires_top_level=True)
def bump(x: qd.template(), n):  # type: ignore[valid-type]
    for i in range(n):
        x[i] += 1


@qd.func
def through(x: qd.template(), n):  # type: ignore[valid-type]
    bump(x, n)


def test_functions_that_belong_at_the_top() -> None:
    x = qd.field(qd.i32, 4)

    @qd.kernel
    def above():
        for _ in qd.static(range(2)):
            bump(x, 4)
        through(x, 4)

    @qd.kernel
    def below():
        for _ in range(2):
            through(x, 4)

    @qd.kernel
    def within(flag: qd.i32):
        if flag > 0:
            bump(x, 4)

    above()
    assert x.to_numpy().tolist() == [3] * 4
    with pytest.raises(qd.QuadrantsSyntaxError, match="requires_top_level"):
        below()
    with pytest.raises(qd.QuadrantsSyntaxError, match="requires_top_level"):
        within(1)


def test_loops_have_names() -> None:
    x = qd.field(qd.i32, 4)

    @qd.kernel
    def fill():
        qd.loop_config(name="first")
        for i in x:
            x[i] = i
        for i in x:
            x[i] += 1

    @qd.kernel
    def nested():
        for _ in range(2):
            qd.loop_config(name="inner")
            for i in range(4):
                x[i] += 1

    fill()
    assert fill.ir().count('loop_name = "first"') == 1
    with pytest.warns(UserWarning, match="'inner'.* nested inside another for-loop"):
        nested()

    @qd.kernel
    def in_order():
        qd.loop_config(serialize=True, name="ordered")
        for i, j in qd.ndrange(4, 2):
            x[i] += j

    assert in_order.ir().count('loop_name = "ordered"') == 1

    @qd.kernel
    def unnamed_value():
        qd.loop_config(name="second")
        for i in x:
            x[i] = missing  # noqa: F821

    with pytest.raises(qd.QuadrantsNameError) as error:
        unnamed_value()
    assert error.value.__notes__ == ["in the loop 'second'"]

    @qd.kernel
    def wrong():
        qd.loop_config(name=3)
        for i in x:
            x[i] = i

    with pytest.raises(qd.QuadrantsTypeError, match="expected a string as the name of a loop"):
        wrong()


@pytest.mark.parametrize("axes", [(0, 1), (1, 0)])
def test_boxes_have_an_order_of_axes(axes: Any) -> None:
    x, order = qd.field(qd.i32, (2, 4)), qd.field(qd.i32, (2, 4))
    loss = qd.field(qd.f32, (), needs_grad=True)
    w = qd.field(qd.f32, (2, 4), needs_grad=True)

    @qd.kernel
    def fill():
        n = 0
        qd.loop_config(serialize=True)
        for i, j in qd.ndrange(2, (1, 4), axes=axes):
            order[i, j] = n
            n += 1  # noqa: SIM113 - a variable of the kernel
        for i, j in qd.ndrange(2, (1, 4), axes=axes):
            x[i, j] = 10 * i + j
            loss[None] += w[i, j] * x[i, j]

    with qd.ad.Tape(loss):
        fill()
    assert x.to_numpy().tolist() == [[0, 1, 2, 3], [0, 11, 12, 13]]
    assert w.grad.to_numpy().tolist() == x.to_numpy().tolist()
    ordered = [[0, 0, 1, 2], [0, 3, 4, 5]] if axes == (0, 1) else [[0, 0, 2, 4], [0, 1, 3, 5]]
    assert order.to_numpy().tolist() == ordered
    pairs = [(0, 1), (0, 2), (1, 1), (1, 2)]
    expected = pairs if axes == (0, 1) else [pairs[k] for k in (0, 2, 1, 3)]
    assert [*qd.ndrange(2, (1, 3), axes=axes)] == expected
    with pytest.raises(qd.QuadrantsSyntaxError, match="not a permutation"):
        qd.ndrange(2, 3, axes=(0, 0))


@dataclasses.dataclass
class Rates:
    gain: float


@qd.data_oriented(template_primitives=False)
class Simulation:
    def __init__(self) -> None:
        self.count, self.rates, self.x = 2, Rates(3.0), qd.field(qd.f32, 4)

    @qd.kernel
    def step(self):
        for i in range(self.count):
            self.x[i] += self.rates.gain


@pytest.mark.filterwarnings("error")
def test_numbers_of_objects_may_be_looked_up() -> None:
    simulation = Simulation()
    simulation.step()
    simulation.count, simulation.rates.gain = 4, 1.0
    simulation.step()
    simulation.rates = Rates(2.0)
    simulation.step()
    assert simulation.x.to_numpy().tolist() == [6, 6, 3, 3]


def test_numbers_are_looked_up_in_repeated_launches() -> None:
    simulation = Simulation()

    @qd.kernel
    def step(s: qd.template()):  # type: ignore[valid-type]
        for i in range(4):
            s.x[i] += s.rates.gain

    for gain in (1.0, 1.0, 1.0, 5.0, 7.0, 5.0):
        simulation.rates.gain = gain
        step(simulation)
    assert simulation.x.to_numpy().tolist() == [20] * 4


@qd.data_oriented(template_primitives=False)
class Counter:
    def __init__(self) -> None:
        self.step = 2
        self.count, self.half = qd.field(qd.i32, ()), qd.field(qd.f32, ())

    @qd.kernel
    def advance(self):
        self.count[None] += self.step
        self.half[None] = self.step / 2


@pytest.mark.filterwarnings("error")
def test_a_number_that_becomes_a_float_is_not_cut_in_silence() -> None:
    counter = Counter()
    counter.advance()
    counter.step = 1.5
    with pytest.warns(UserWarning, match="lose precision: i32 <- f32") as warnings:
        counter.advance()
    assert warnings[0].filename == __file__
    assert (counter.count[None], counter.half[None]) == (3, 0.75)
