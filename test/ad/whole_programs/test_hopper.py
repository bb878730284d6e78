"""A program longer than any other test: twelve kernels, hundreds of steps in place, a controller,
contacts, random draws.

Its gradient is compared with finite differences, and with the complex steps of the same program in
NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gradients import State, scalar, scatter, slope, variable

import mlirad as ti
from mlirad.runtime.program import program

STEPS, POINTS, INPUTS, HIDDEN = 240, 4, 6, 5
DT, STIFF, GROUND, DRAG = 0.02, 30.0, 60.0, 0.6
Array = np.ndarray[Any, Any]


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=request.param, random_seed=7)
    program().config.thread_worth = 0
    yield request.param
    ti.reset()


class Hopper:
    """Points joined by springs, whose rest lengths a network sets from what it senses; every state
    is overwritten."""

    def __init__(self) -> None:
        self.place = ti.Vector.field(2, ti.f64, shape=POINTS, needs_grad=True)
        self.speed = ti.Vector.field(2, ti.f64, shape=POINTS, needs_grad=True)
        self.force = ti.Vector.field(2, ti.f64, shape=POINTS, needs_grad=True)
        self.heat = ti.field(ti.f64, shape=POINTS)  # in the chain, and without a gradient
        self.sensed, self.hidden = ti.field(ti.f64, shape=INPUTS, needs_grad=True), variable(HIDDEN)
        self.rest = variable(POINTS - 1)
        self.first = variable(INPUTS, HIDDEN, low=-0.6, high=0.6, seed=1)
        self.second = variable(HIDDEN, POINTS - 1, low=-0.6, high=0.6, seed=2)
        self.touched, self.order = ti.field(ti.i32, shape=POINTS), ti.field(ti.i32, shape=POINTS)
        self.noise = ti.field(ti.f64, shape=(STEPS, POINTS))
        self.loss = scalar()
        self.kernels = self._kernels()
        self.place.from_numpy(
            np.stack([0.5 * np.arange(POINTS), 0.3 + 0.1 * np.arange(POINTS) % 0.2], 1)
        )
        scatter(self.speed, -0.3, 0.3)

    def run(self) -> None:
        sense, think, act, clear, pull, shake, fall, touch, move, warm, turn, score = self.kernels
        self.heat.fill(0.1)
        self.touched.fill(0)
        self.order.from_numpy(np.arange(POINTS, dtype=np.int32))
        for t in range(STEPS):
            sense(t)
            think()
            act()
            clear()
            pull()
            shake(t)
            fall()
            touch()
            move()
            warm()
            turn(t)
            if t % 8 == 3:
                score(0.1)
            if t == STEPS // 2:
                self.speed[1] = [0.2, 0.4]
        score(1.0)

    def _kernels(self) -> tuple[Any, ...]:
        place, speed, force, heat = self.place, self.speed, self.force, self.heat
        sensed, hidden, rest, touched, order = (
            self.sensed,
            self.hidden,
            self.rest,
            self.touched,
            self.order,
        )
        first, second, noise, loss = self.first, self.second, self.noise, self.loss

        @ti.kernel
        def sense(t: ti.i32):
            for k in range(INPUTS):
                if k < 2:
                    sensed[k] = ti.sin(0.1 * t + 1.5 * k)
                else:
                    sensed[k] = (
                        place[order[k - 2]][1]
                        - place[order[(k - 1) % POINTS]][1]
                        + 0.5 * speed[k - 2][k % 2]
                    )

        @ti.kernel
        def think():
            for h in range(HIDDEN):
                hidden[h] = 0.2 * hidden[h]
                for k in range(INPUTS):
                    hidden[h] += first[k, h] * sensed[k]
                hidden[h] = ti.tanh(hidden[h])

        @ti.kernel
        def act():
            for s in range(POINTS - 1):
                total = 0.0
                for h in range(HIDDEN):
                    total += hidden[h] * second[h, s]
                rest[s] *= 0.5
                rest[s] += 0.25 + 0.1 * ti.tanh(total)

        @ti.kernel
        def clear():
            for i in force:
                force[i] = [0.0, 0.0]

        @ti.kernel
        def pull():
            for s in range(POINTS - 1):
                away = place[s + 1] - place[s]
                length = away.norm()
                f = STIFF * (length - rest[s]) / length * away
                force[s] += f
                force[s + 1] -= f

        @ti.kernel
        def shake(t: ti.i32):
            for i in range(POINTS):
                noise[t, i] = ti.randn() * 0.3
                force[i][0] += noise[t, i] * speed[i][1]

        @ti.kernel
        def fall():
            for i in speed:
                speed[i] += DT * (force[i] + ti.Vector([0.0, -2.0]) - heat[i] * speed[i])
                speed[i] *= 1.0 - DRAG * DT

        @ti.kernel
        def touch():
            for i in place:
                depth = -place[i][1]
                if depth > 0:
                    speed[i][1] += DT * GROUND * depth
                    speed[i][0] /= 1.0 + depth * ti.abs(speed[i][0])
                    touched[i] += 1
                elif touched[i] > 20:
                    speed[i][0] *= 1.0 - 0.1 * depth * depth

        @ti.kernel
        def move():
            for i in place:
                place[i] += DT * speed[i]

        @ti.kernel
        def warm():
            """Solve h + h³ = 0.1 + |v|² by Newton's method."""
            for i in heat:
                aim = 0.1 + speed[i].norm_sqr()
                heat[i] = aim
                trips = 0
                while ti.abs(heat[i] + heat[i] ** 3 - aim) > 1e-14 and trips < 12:
                    heat[i] -= (heat[i] + heat[i] ** 3 - aim) / (1.0 + 3.0 * heat[i] ** 2)
                    trips += 1

        @ti.kernel
        def turn(t: ti.i32):
            ti.loop_config(serialize=True)
            for i in range(POINTS - 1):
                if (t >> i) & 1:
                    order[i], order[i + 1] = order[i + 1], order[i]

        @ti.kernel
        def score(weight: ti.f64):
            for i in place:
                loss[None] += (
                    weight
                    * (place[order[i]][0] * (i + 1) - heat[i] ** 2)
                    / (1.0 + 0.01 * touched[i])
                )
            loss[None] *= 0.98

        return sense, think, act, clear, pull, shake, fall, touch, move, warm, turn, score


def in_numpy(start: dict[str, Array], noise: Array) -> complex:
    """The loss by NumPy, of complex numbers; branches look at real parts."""
    place, speed, hidden, rest = (
        start[name].astype(complex) for name in ("place", "speed", "hidden", "rest")
    )
    heat, touched, order = np.full(POINTS, 0.1 + 0j), np.zeros(POINTS), np.arange(POINTS)
    loss = 0j

    def score(weight: float) -> complex:
        terms = (place[order, 0] * np.arange(1, POINTS + 1) - heat**2) / (1 + 0.01 * touched)
        return (loss + weight * terms.sum()) * 0.98

    for t in range(STEPS):
        heights = place[order, 1]
        fast = [speed[k - 2, k % 2] for k in range(2, INPUTS)]
        sensed = np.concatenate(
            [
                np.sin(0.1 * t + np.array([0, 1.5])),
                heights - np.roll(heights, -1) + 0.5 * np.array(fast),
            ]
        )
        hidden = np.tanh(0.2 * hidden + sensed @ start["first"])
        rest = 0.5 * rest + 0.25 + 0.1 * np.tanh(hidden @ start["second"])
        away = np.diff(place, axis=0)
        length = np.sqrt((away**2).sum(1))
        pulls = (STIFF * (length - rest) / length)[:, None] * away
        force = np.zeros((POINTS, 2), complex)
        force[:-1] += pulls
        force[1:] -= pulls
        force[:, 0] += noise[t] * speed[:, 1]
        speed = (speed + DT * (force + np.array([0, -2.0]) - heat[:, None] * speed)) * (
            1 - DRAG * DT
        )
        for i in range(POINTS):
            depth = -place[i, 1]
            if depth.real > 0:
                speed[i, 1] += DT * GROUND * depth
                speed[i, 0] /= 1 + depth * speed[i, 0] * np.sign(speed[i, 0].real)
                touched[i] += 1
            elif touched[i] > 20:
                speed[i, 0] *= 1 - 0.1 * depth**2
        place = place + DT * speed
        aim = 0.1 + (speed**2).sum(1)
        heat = aim
        for _ in range(40):
            heat = heat - (heat + heat**3 - aim) / (1 + 3 * heat**2)
        for i in range(POINTS - 1):
            if (t >> i) & 1:
                order[[i, i + 1]] = order[[i + 1, i]]
        if t % 8 == 3:
            loss = score(0.1)
        if t == STEPS // 2:
            speed[1] = [0.2, 0.4]
    return score(1.0)


@pytest.mark.filterwarnings("ignore:field")
def test_a_hopper(threads: int) -> None:
    hopper = Hopper()
    inputs = {
        name: getattr(hopper, name)
        for name in ("place", "speed", "hidden", "rest", "first", "second")
    }
    before = {name: x.to_numpy() for name, x in inputs.items()}
    start = State([], hopper.loss)
    hopper.run()
    plain, left = hopper.loss[None], State([], hopper.loss)
    start.restore()
    with ti.ad.Tape(hopper.loss) as tape:
        hopper.run()
    left.check_same(hopper.loss)
    gradients = {name: x.grad.to_numpy() for name, x in inputs.items()}
    touched, noise = hopper.touched.to_numpy(), hopper.noise.to_numpy()
    assert touched.min() > 20 and touched.max() < STEPS - 20  # every branch was taken
    state = 8 * (3 * 2 * POINTS + POINTS + INPUTS + HIDDEN + POINTS) + 4 * 2 * POINTS
    # speeds are overwritten twice a step
    assert tape.explain().bytes <= STEPS * (state + 8 * 2 * POINTS)

    compare_with_numpy(before, noise, gradients, plain)
    random = np.random.default_rng(3)
    for _ in range(2):
        along = {name: random.uniform(-1, 1, g.shape) for name, g in gradients.items()}

        def at(h: float, along: dict[str, Array] = along) -> float:
            start.restore()
            for name, x in inputs.items():
                x.from_numpy(before[name] + h * along[name])
            hopper.loss[None] = 0.0
            hopper.run()
            return float(hopper.loss[None])

        found = sum(float((gradients[name] * d).sum()) for name, d in along.items())
        expected = slope(lambda h: at(h / 64))
        assert found / 64 == pytest.approx(expected, rel=1e-5)


def compare_with_numpy(
    before: dict[str, Array], noise: Array, gradients: dict[str, Array], plain: float
) -> None:
    """Compare the loss, and derivatives in single elements of every input, with complex steps."""
    assert in_numpy(before, noise).real == pytest.approx(plain, rel=1e-9)
    for name, gradient in gradients.items():
        for index in list(np.ndindex(gradient.shape))[::2]:
            moved = {key: value.astype(complex) for key, value in before.items()}
            moved[name][index] += 1e-30j
            expected = in_numpy(moved, noise).imag / 1e-30
            assert gradient[index] == pytest.approx(expected, rel=1e-7, abs=1e-9), f"{name}{index}"
