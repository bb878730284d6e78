"""Programs of tensor expressions held against differences, many of them in one function: compiling
is what takes time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from te.derivatives import given

import mlirad as ti
from mlirad import te

Array = np.ndarray[Any, Any]
STEP = 1e-5


@dataclass
class Program:
    """A tensor, what it is made of, and the same by NumPy; in both modes and to the second order
    where it `is_full`, or its number says so (`check_all`), else in reverse alone."""

    output: te.Tensor
    inputs: Sequence[te.Tensor]
    expected: Callable[..., Any] | None = None
    arrays: Sequence[Array] | None = None  # else random ones
    is_full: bool = False
    wanted: list[te.Tensor] = field(init=False)

    def __post_init__(self) -> None:
        self.wanted = [one for one in self.inputs if one.dtype.is_float]


def squares(y: te.Tensor, head: te.Tensor) -> te.Tensor:
    """The sum of half the squares of some numbers, each times one of a head."""
    axes = tuple(te.reduce_axis(extent) for extent in y.shape)
    if not axes:
        return te.compute((), lambda: y[()] * y[()] * head[()] * 0.5)
    value = y[axes] * y[axes] * head[axes] * 0.5
    return te.compute((), lambda: te.sum(value, axis=axes), "squares")


class _Checked:
    """One program among those of a function; a tensor that several have is the same one."""

    def __init__(
        self, program: Program, arrays: dict[te.Tensor, Array], along: dict[te.Tensor, Array]
    ) -> None:
        self.program = program
        random = np.random.default_rng(len(arrays))
        y, wanted = program.output, program.wanted
        for number, x in enumerate(program.inputs):
            own = None if program.arrays is None else program.arrays[number]
            arrays.setdefault(x, random.normal(size=x.shape) if own is None else own)
            along.setdefault(x, random.normal(size=x.shape))
        self.values = [arrays[x] for x in program.inputs]
        self.along = [along[x] for x in wanted]
        self.head = given(*y.shape, name="head")
        self.directions = [given(*x.shape, name="direction") for x in wanted]
        self.above = random.normal(size=y.shape)
        self.inputs = [*program.inputs, self.head, *(self.directions if program.is_full else [])]
        if program.is_full:
            total = squares(y, self.head)
            self.outputs = [y, *te.differentiate(total, wanted)]
            self.outputs += [te.jvp(y, wanted, self.directions)]
            self.outputs += te.hvp(total, wanted, self.directions)
        else:
            self.outputs = [y, *te.differentiate(y, wanted, head=self.head)]

    def arguments(self, step: float) -> list[Array]:
        """The arrays of a call, moved along the directions."""
        directions = iter(self.along)
        values = [
            value + step * next(directions) if one.dtype.is_float else value
            for one, value in zip(self.program.inputs, self.values)
        ]
        return [*values, self.above, *(self.along if self.program.is_full else [])]

    def check(self, at: list[Array], ahead: list[Array], back: list[Array]) -> None:
        """Hold the results of three calls against each other."""
        count, expected = len(self.along), self.program.expected
        value, adjoints, rest = at[0], at[1 : 1 + count], at[1 + count :]
        if expected is not None:
            np.testing.assert_allclose(value, expected(*self.values), rtol=1e-10, atol=1e-11)
        slope = (ahead[0] - back[0]) / (2 * STEP)
        terms = slope * self.above * (value if self.program.is_full else 1)
        found = sum(float((a * d).sum()) for a, d in zip(adjoints, self.along))
        scale = 1e-6 * (1 + np.abs(terms).sum())
        np.testing.assert_allclose(found, terms.sum(), rtol=0, atol=scale)
        if self.program.is_full:
            tangent, *products = rest
            tolerance = 1e-6 * (1 + np.abs(slope).max())
            np.testing.assert_allclose(tangent, slope, rtol=0, atol=tolerance)
            for product, after, before in zip(products, ahead[1:], back[1:]):
                change = (after - before) / (2 * STEP)
                tolerance = 1e-5 * (1 + np.abs(change).max())
                np.testing.assert_allclose(product, change, rtol=0, atol=tolerance)


def check_all(
    programs: dict[str, Program], threads: Sequence[int] = (2,), *, thirds: bool = True
) -> None:
    """Hold values against NumPy's, adjoints against differences, and of every third program
    (`thirds`) tangents and second derivatives."""
    for one in list(programs.values())[1::3] if thirds else ():
        one.is_full = True
    arrays: dict[te.Tensor, Array] = {}
    along: dict[te.Tensor, Array] = {}
    checked = [_Checked(one, arrays, along) for one in programs.values()]
    tensors = [one for own in checked for one in own.inputs]
    f = te.build([one for own in checked for one in own.outputs], list(dict.fromkeys(tensors)))
    for number in threads:
        ti.init(default_fp=ti.f64, opt_level=1, cpu_max_num_threads=number)
        results = [iter(_called(f, checked, step)) for step in (0.0, STEP, -STEP)]
        for name, own in zip(programs, checked):
            parts = [[next(one) for _ in own.outputs] for one in results]
            try:
                own.check(*parts)
            except AssertionError as error:
                error.add_note(f"of '{name}'")
                raise


def _called(f: Any, checked: Sequence[_Checked], step: float) -> list[Array]:
    arrays = {
        tensor: array for own in checked for tensor, array in zip(own.inputs, own.arguments(step))
    }
    found: list[Array] = f(*arrays.values())
    return found
