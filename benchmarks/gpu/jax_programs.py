"""Workloads of `benchmarks.workloads` as a user of JAX would write them, with the same numbers."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.gpu.starts import Arrays, start
from benchmarks.workloads import lbm, mass_spring, stencil2d
from benchmarks.workloads.nbody import SOFTENING
from benchmarks.workloads.softmax_attention import WIDTH

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # others run on the GPU, too
import jax
import jax.numpy as jnp

_ROWS = 1024  # of pairs at a time


class Program:
    """A loss and its gradient with respect to some arrays."""

    def __init__(self, loss: Callable[..., Any], inputs: Sequence[Any]) -> None:
        self._inputs = inputs
        self._loss = jax.jit(loss)
        self._both = jax.jit(jax.value_and_grad(loss, argnums=tuple(range(len(inputs)))))
        self._result: Any = None

    def primal(self) -> None:
        """The loss."""
        jax.block_until_ready(self._loss(*self._inputs))

    def gradient(self) -> None:
        """The loss and the gradients."""
        self._result = jax.block_until_ready(self._both(*self._inputs))

    def value(self) -> float:
        """The loss."""
        return float(self._result[0])

    def gradients(self) -> list[Any]:
        """Those of the last time."""
        return [np.asarray(one) for one in self._result[1]]


def build(case: str, size: int, arch: str, steps: int) -> Program:
    """One of them. Raises KeyError for a workload that is not written for JAX."""
    if arch != "cuda":
        jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_default_matmul_precision", "highest")  # f32, as the others
    arrays = {name: jnp.asarray(array) for name, array in start(case, size).items()}
    loss, names = PROGRAMS[case]
    return Program(partial(loss, arrays, steps), [arrays[name] for name in names])


def _saxpy_sum(_: Arrays, steps: int, x: Any, y: Any) -> Any:
    return jnp.sum((0.75 * x + y) ** 2)


def _stencil2d(arrays: Arrays, steps: int, begin: Any) -> Any:
    def swing(states: Any, _: Any) -> Any:
        last, before = states
        middle = last[1:-1, 1:-1]
        around = last[:-2, 1:-1] + last[2:, 1:-1] + last[1:-1, :-2] + last[1:-1, 2:]
        moved = middle + stencil2d.DAMPING * (middle - before[1:-1, 1:-1])
        return (jnp.pad(moved + stencil2d.SPEED * (around - 4.0 * middle), 1), last), None

    count = (steps or stencil2d.STEPS) - 2
    (last, _), _ = jax.lax.scan(swing, (begin, begin), None, length=count)
    return jnp.mean((last - arrays["wanted"]) ** 2)


def _nbody(arrays: Arrays, steps: int, place: Any) -> Any:
    mass = arrays["mass"]

    @jax.checkpoint
    def of_row(row: Any) -> Any:
        here, weight = row
        apart = here - place
        return weight * jnp.sum(mass / jnp.sqrt(jnp.sum(apart * apart, -1) + SOFTENING**2))

    return -0.5 * jnp.sum(jax.lax.map(of_row, (place, mass), batch_size=_ROWS))


def _network(arrays: Arrays, steps: int, inner: Any, outer: Any) -> Any:
    hidden = jnp.tanh(arrays["given"] @ inner.T)
    miss = jnp.tanh(hidden @ outer.T) - arrays["wanted"]
    return jnp.sum(miss * miss) / len(miss)


def _matmul(arrays: Arrays, steps: int, left: Any, right: Any) -> Any:
    return jnp.sum(arrays["weight"] * (left @ right))


def _conv2d(arrays: Arrays, steps: int, image: Any, kernel: Any) -> Any:
    axes = ("NHWC", "HWIO", "NHWC")
    result = jax.lax.conv_general_dilated(
        image[None], kernel, (1, 1), "VALID", dimension_numbers=axes
    )
    return jnp.sum(arrays["weight"] * result[0])


def _softmax_attention(arrays: Arrays, steps: int, query: Any, key: Any, value: Any) -> Any:
    weight = jax.nn.softmax(query @ key.T * WIDTH**-0.5, axis=-1)
    miss = weight @ value - arrays["wanted"]
    return jnp.sum(miss * miss) / len(miss)


def _mass_spring(arrays: Arrays, steps: int, length: Any) -> Any:
    first, second = arrays["first"], arrays["second"]

    def step(state: Any, _: Any) -> Any:
        place, speed = state
        apart = place[first] - place[second]
        distance = jnp.sqrt(jnp.sum(apart * apart, -1) + 1e-8)
        force = (mass_spring.STIFFNESS * (1.0 - length / distance))[:, None] * apart
        pull = jnp.zeros_like(place).at[first].add(-force).at[second].add(force)
        pull += jnp.array([0.0, mass_spring.GRAVITY], place.dtype)
        later = mass_spring.DRAG * speed + mass_spring.STEP * pull
        return (place + mass_spring.STEP * later, later), None

    begin = arrays["places"], jnp.zeros_like(arrays["places"])
    (place, _), _ = jax.lax.scan(step, begin, None, length=mass_spring.STEPS)
    return jnp.sum(place * place) / len(place)


def _at_rest(mass: Any, u: Any, v: Any) -> Any:
    along, across, weight = (
        np.array(row, np.float32) for row in (lbm.ALONG, lbm.ACROSS, lbm.WEIGHT)
    )
    speed = along * u[..., None] + across * v[..., None]
    square = (u * u + v * v)[..., None]
    return weight * mass[..., None] * (1 + 3 * speed + 4.5 * speed * speed - 1.5 * square)


def _lbm(_: Arrays, steps: int, along: Any, across: Any) -> Any:
    ways = np.array(lbm.ALONG, np.float32), np.array(lbm.ACROSS, np.float32)

    @jax.checkpoint
    def step(density: Any, _: Any) -> Any:
        shifts = list(zip(lbm.ALONG, lbm.ACROSS))
        came = jnp.stack(
            [jnp.roll(density[..., q], shift, (0, 1)) for q, shift in enumerate(shifts)], -1
        )
        mass = jnp.sum(came, -1)
        u, v = (came @ way / mass for way in ways)
        return came + lbm.RELAXATION * (_at_rest(mass, u, v) - came), None

    begin = _at_rest(jnp.ones_like(along), along, across)
    density, _ = jax.lax.scan(step, begin, None, length=lbm.STEPS)
    return jnp.sum((density @ ways[0]) ** 2)


PROGRAMS: dict[str, tuple[Callable[..., Any], Sequence[str]]] = {
    "saxpy_sum": (_saxpy_sum, ("x", "y")),
    "stencil2d": (_stencil2d, ("start",)),
    "nbody": (_nbody, ("place",)),
    "network": (_network, ("inner", "outer")),
    "matmul": (_matmul, ("left", "right")),
    "conv2d": (_conv2d, ("image", "kernel")),
    "softmax_attention": (_softmax_attention, ("query", "key", "value")),
    "mass_spring": (_mass_spring, ("length",)),
    "lbm": (_lbm, ("along", "across")),
}
