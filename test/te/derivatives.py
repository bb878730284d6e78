"""The oracle of tensor expressions: differences of the same function, both modes against each
other, and second derivatives against differences of the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import mlirad as ti
from mlirad import te

STEP = 1e-6


def given(*shape: Any, name: str = "x", dtype: Any = ti.f64) -> te.Tensor:
    """A tensor that a call is given."""
    return te.placeholder(shape, dtype, name)


def reduced(*extents: Any) -> Any:
    """Reduction axes."""
    axes = tuple(map(te.reduce_axis, extents))
    return axes if len(axes) > 1 else axes[0]


def check(
    output: te.Tensor,
    inputs: Sequence[te.Tensor],
    arrays: Sequence[np.ndarray[Any, Any]] | None = None,
    tolerance: float = 1e-6,
    second: bool = False,
) -> np.ndarray[Any, Any]:
    """Hold tangents against differences along a random direction, and adjoints against tangents;
    what the output is. `second`: also products with the second derivative."""
    random = np.random.default_rng(5)
    values = [random.normal(size=x.shape) for x in inputs] if arrays is None else list(arrays)
    floats = [k for k, x in enumerate(inputs) if x.dtype.is_float]
    wanted = [inputs[k] for k in floats]
    head = given(*output.shape, name="head")
    directions = [given(*x.shape, name="direction") for x in wanted]
    both = te.build([output, *te.differentiate(output, wanted, head=head)], [*inputs, head])
    forward = te.build(te.jvp(output, wanted, directions), [*inputs, *directions])
    alone = te.build(output, inputs)
    along = [random.normal(size=values[k].shape) for k in floats]
    value = alone(*values)
    adjoint = random.normal(size=value.shape)
    found, *adjoints = both(*values, adjoint)
    tangent = forward(*values, *along)

    def moved(step: float) -> list[np.ndarray[Any, Any]]:
        changed = list(values)
        for k, direction in zip(floats, along):
            changed[k] = values[k] + step * direction
        return changed

    difference = (alone(*moved(STEP)) - alone(*moved(-STEP))) / (2 * STEP)
    scale = np.abs(difference).max(initial=1e-3)
    np.testing.assert_allclose(tangent, difference, rtol=0, atol=tolerance * scale)
    np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-12)
    products = [float((a * d).sum()) for a, d in zip(adjoints, along)]
    terms = [abs(p) for p in products]
    np.testing.assert_allclose(
        sum(products), float((tangent * adjoint).sum()), rtol=0, atol=1e-10 * (1 + sum(terms))
    )
    for k, own in zip(floats, adjoints):
        assert own.shape == values[k].shape
    if second:
        product = te.build(
            curvature(output, wanted, head, directions), [*inputs, head, *directions]
        )
        curved = product(*values, adjoint, *along)
        ahead, back = (both(*moved(step), adjoint)[1:] for step in (STEP, -STEP))
        for own, after, before in zip(curved, ahead, back):
            slope = (after - before) / (2 * STEP)
            scale = max(np.abs(slope).max(initial=1e-3), 1e-2)
            np.testing.assert_allclose(own, slope, rtol=0, atol=10 * tolerance * scale)
    return found


def curvature(
    output: te.Tensor, wanted: Sequence[te.Tensor], head: te.Tensor, directions: Sequence[te.Tensor]
) -> list[te.Tensor]:
    """The second derivative of the output, weighed by a head, times directions."""
    axes = tuple(te.reduce_axis(extent) for extent in output.shape)

    def weighed() -> Any:
        product = output[axes] * head[axes]
        return te.sum(product, axis=axes) if axes else product

    return te.hvp(te.compute((), weighed), wanted, directions)
