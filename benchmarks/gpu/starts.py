"""The numbers that `benchmarks.workloads` begin with, for programs that are written otherwise."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workloads.conv2d import FILTERS, INPUTS, WINDOW
from benchmarks.workloads.mass_spring import cloth
from benchmarks.workloads.network import HIDDEN, OUTPUTS
from benchmarks.workloads.network import INPUTS as NETWORK_INPUTS
from benchmarks.workloads.softmax_attention import WIDTH

Arrays = dict[str, Any]


def start(case: str, size: int) -> Arrays:
    """Arrays of a workload by name, floats of 32 bits. Raises KeyError for another one."""
    return {
        name: array.astype(np.float32 if array.dtype.kind == "f" else np.int32)
        for name, array in _STARTS[case](size).items()
    }


def _normal(seed: int, **shapes: tuple[float, tuple[int, ...]]) -> Arrays:
    random = np.random.default_rng(seed)
    return {name: random.normal(0, spread, shape) for name, (spread, shape) in shapes.items()}


def _copy(size: int) -> Arrays:
    return {"x": np.full(size, 0.5)}


def _saxpy_sum(size: int) -> Arrays:
    random = np.random.default_rng(11)
    return {name: random.uniform(-1, 1, size) for name in "xy"}


def _stencil2d(size: int) -> Arrays:
    ramp = np.linspace(0, np.pi, size)
    return {
        "start": np.outer(np.sin(3 * ramp), np.sin(2 * ramp)),
        "wanted": np.outer(np.sin(ramp), np.sin(ramp)),
    }


def _nbody(size: int) -> Arrays:
    random = np.random.default_rng(17)
    return {"place": random.normal(0, 1, (size, 3)), "mass": random.uniform(0.5, 1.5, size) / size}


def _network(size: int) -> Arrays:
    return _normal(
        31,
        given=(1.0, (size, NETWORK_INPUTS)),
        wanted=(0.5, (size, OUTPUTS)),
        inner=(NETWORK_INPUTS**-0.5, (HIDDEN, NETWORK_INPUTS)),
        outer=(HIDDEN**-0.5, (OUTPUTS, HIDDEN)),
    )


def _matmul(size: int) -> Arrays:
    spread = size**-0.5, (size, size)
    return _normal(47, left=spread, right=spread, weight=spread)


def _conv2d(size: int) -> Arrays:
    out = size - WINDOW + 1
    return _normal(
        61,
        image=(1.0, (size, size, INPUTS)),
        kernel=((WINDOW * WINDOW * INPUTS) ** -0.5, (WINDOW, WINDOW, INPUTS, FILTERS)),
        weight=(1 / size, (out, out, FILTERS)),
    )


def _softmax_attention(size: int) -> Arrays:
    shape = 1.0, (size, WIDTH)
    return _normal(29, query=shape, key=shape, value=shape, wanted=shape)


def _mass_spring(size: int) -> Arrays:
    places, pairs = cloth(size)
    first, second = pairs[:, 0], pairs[:, 1]
    rest = np.linalg.norm(places[first] - places[second], axis=1)
    stretched = rest * np.random.default_rng(23).uniform(0.9, 1.1, len(pairs))
    return {"places": places, "first": first, "second": second, "length": stretched}


def _lbm(size: int) -> Arrays:
    spread = 0.05, (size, size)
    return _normal(53, along=spread, across=spread)


_STARTS: dict[str, Callable[[int], Arrays]] = {
    "copy": _copy,
    "saxpy_sum": _saxpy_sum,
    "stencil2d": _stencil2d,
    "nbody": _nbody,
    "network": _network,
    "matmul": _matmul,
    "conv2d": _conv2d,
    "softmax_attention": _softmax_attention,
    "mass_spring": _mass_spring,
    "lbm": _lbm,
}
