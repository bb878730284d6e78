"""Random programs: their numbers by NumPy, tangents by differences, adjoints by tangents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from te.derivatives import STEP, given
from te.random_programs import AsArrays, AsTensors, Writer

import mlirad as ti
from mlirad import te

TOGETHER = 10


class _Case:
    """One program: what is built of it, and what that has to give."""

    def __init__(self, seed: int) -> None:
        self.seed, self.program = seed, Writer(seed).written()
        self.tensors = AsTensors(self.program)
        floats = [x for x in self.tensors.inputs if x.dtype.is_float]
        head = given(*self.tensors.output.shape, name="head")
        directions = [given(*x.shape, name="direction") for x in floats]
        output = self.tensors.output
        tangent = te.jvp(output, floats, directions)
        self.outputs = [output, tangent, *te.differentiate(output, floats, head)]
        self.inputs = [*self.tensors.inputs, head, *directions]
        random = np.random.default_rng(seed)
        limits = {one.name: one.limit for one in self.program.inputs if one.is_integer}
        self.values: list[Any] = [
            np.asarray(random.normal(size=x.shape))
            if x.dtype.is_float
            else random.integers(0, limits[x.name], x.shape).astype(np.int32)
            for x in self.inputs
        ]

    def hold(self, value: Any, tangent: Any, *adjoints: Any) -> None:
        """Compare."""
        count = len(self.tensors.inputs)
        inputs, head, along = self.values[:count], self.values[count], self.values[count + 1 :]
        floats = [k for k, x in enumerate(self.tensors.inputs) if x.dtype.is_float]

        def moved(step: float) -> Any:
            changed = list(inputs)
            for k, direction in zip(floats, along):
                changed[k] = inputs[k] + step * direction
            return AsArrays(self.program, changed).output

        message = f"program {self.seed}"
        np.testing.assert_allclose(value, moved(0), 1e-9, 1e-9, err_msg=message)
        slope = (moved(STEP) - moved(-STEP)) / (2 * STEP)
        scale = 1e-5 * max(np.abs(slope).max(initial=1e-3), 1e-4 * np.abs(value).max(initial=0))
        np.testing.assert_allclose(tangent, slope, 0, scale, err_msg=message)
        terms = [float((own * direction).sum()) for own, direction in zip(adjoints, along)]
        weighed = head * tangent
        bound = 1e-10 * (1 + np.abs(terms).sum() + np.abs(weighed).sum())
        np.testing.assert_allclose(sum(terms), weighed.sum(), 0, bound, err_msg=message)


def check_programs(first: int, behind: int) -> None:
    """Programs of some seeds, in one function."""
    cases = [_Case(seed) for seed in range(first, behind)]
    step = te.build(
        [y for one in cases for y in one.outputs], [x for one in cases for x in one.inputs]
    )
    found = iter(step(*[value for one in cases for value in one.values]))
    for one in cases:
        one.hold(*[next(found) for _ in one.outputs])


@pytest.mark.parametrize("first", range(0, 100, TOGETHER))
def test_random_programs(first: int) -> None:
    ti.init(default_fp=ti.f64, opt_level=1, cpu_max_num_threads=1 + first // TOGETHER % 2)
    check_programs(first, first + TOGETHER)
