"""`python -m te.random_check FIRST COUNT`, in `test/`: random programs of tensor expressions, their
numbers by NumPy, tangents by differences, adjoints by tangents, second derivatives by differences
of adjoints."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from te.derivatives import STEP, curvature, given
from te.program_arrays import Array, AsArrays
from te.program_tensors import AsTensors
from te.random_programs import Writer

import mlirad as ti
from mlirad import te

TOGETHER = 10  # programs in one function: compiling is what takes time


class Case:
    """One program: what is built of it, and what that has to give."""

    def __init__(self, seed: int, size: int = 2) -> None:
        self.seed, self.program = seed, Writer(seed, size).written()
        self.tensors = AsTensors(self.program, f".{seed}" if seed % 4 == 1 else "")
        floats = [x for x in self.tensors.inputs if x.dtype.is_float]
        head = given(*self.tensors.output.shape, name="head")
        directions = [given(*x.shape, name="direction") for x in floats]
        output = self.tensors.output
        tangent = te.jvp(output, floats, directions)
        self.outputs = [output, tangent, *te.differentiate(output, floats, head)]
        if seed % 3 == 0:
            self.outputs += curvature(output, floats, head, directions)
        self.inputs = [*self.tensors.inputs, head, *directions]
        self._draw()

    def _draw(self) -> None:
        random = np.random.default_rng(self.seed)
        known = {one.name: one for one in self.program.tensors}
        shapes = [one.shape for one in self.program.inputs]
        floats = [one.shape for one in self.program.inputs if not one.is_integer]
        self.values: list[Any] = [
            random.integers(0, known[x.name].limit, shape).astype(np.int32)
            if not x.dtype.is_float
            else np.asarray(random.normal(size=shape))
            for x, shape in zip(
                self.inputs, [*shapes, self.program.tensors[-1].shape, *floats], strict=True
            )
        ]

    def moved(self, step: float) -> list[Any]:
        """The arguments, along the directions."""
        count = len(self.tensors.inputs)
        along, changed = iter(self.values[count + 1 :]), list(self.values)
        for k, x in enumerate(self.tensors.inputs):
            if x.dtype.is_float:
                changed[k] = self.values[k] + step * next(along)
        return changed

    def _array(self, step: float) -> Array:
        return AsArrays(self.program, self.moved(step)[: len(self.tensors.inputs)]).output

    def hold(self, at: Sequence[Any], ahead: Sequence[Any], back: Sequence[Any]) -> None:
        """Compare what three calls gave."""
        value, tangent, *rest = at
        count, message = len(self.tensors.inputs), f"program {self.seed}"
        head, along = self.values[count], self.values[count + 1 :]
        adjoints, products = rest[: len(along)], rest[len(along) :]
        np.testing.assert_allclose(value, self._array(0), 1e-9, 1e-9, err_msg=message)
        slope = (self._array(STEP) - self._array(-STEP)) / (2 * STEP)
        scale = 1e-5 * max(np.abs(slope).max(initial=1e-3), 1e-4 * np.abs(value).max(initial=0))
        np.testing.assert_allclose(tangent, slope, 0, scale, err_msg=message)
        terms = [float((own * direction).sum()) for own, direction in zip(adjoints, along)]
        weighed = head * tangent
        bound = 1e-10 * (1 + np.abs(terms).sum() + np.abs(weighed).sum())
        np.testing.assert_allclose(sum(terms), weighed.sum(), 0, bound, err_msg=message)
        for own, after, before, first in zip(products, ahead[2:], back[2:], adjoints):
            change = (after - before) / (2 * STEP)
            largest = max(np.abs(change).max(initial=1e-2), 1e-2 * np.abs(first).max(initial=0))
            np.testing.assert_allclose(own, change, 0, 1e-5 * largest, err_msg=message)


def check_programs(seeds: Sequence[int], size: int = 2) -> None:
    """Programs of some seeds, in one function."""
    cases = [Case(seed, size) for seed in seeds]
    step = te.build(
        [y for one in cases for y in one.outputs], [x for one in cases for x in one.inputs]
    )
    found = [
        iter(step(*[value for one in cases for value in one.moved(amount)]))
        for amount in (0, STEP, -STEP)
    ]
    for one in cases:
        one.hold(*[[next(each) for _ in one.outputs] for each in found])


def main() -> int:
    """Run programs; 1 if any failed. Those that fail together are run alone."""
    first, count, size = (int(argument) for argument in [*sys.argv[1:], "3"][:3])
    start, failures = time.process_time(), 0
    for begin in range(first, first + count, TOGETHER):
        seeds = range(begin, min(begin + TOGETHER, first + count))
        if _failure(seeds, size) is None:
            continue
        for seed in seeds:
            error = _failure([seed], size)
            if error is not None:
                failures += 1
                print(f"program {seed}: {error}", flush=True)
    print(f"{count} programs, {failures} failures, {time.process_time() - start:.0f} s")
    return 1 if failures else 0


def _failure(seeds: Sequence[int], size: int) -> str | None:
    """What went wrong, in a line."""
    ti.init(default_fp=ti.f64, opt_level=1, cpu_max_num_threads=1 + seeds[0] // TOGETHER % 2)
    try:
        check_programs(seeds, size)
    except Exception as error:  # whatever it is, the other programs are run
        return f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
    return None


if __name__ == "__main__":
    sys.exit(main())
