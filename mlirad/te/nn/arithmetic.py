"""Elementwise arithmetic of two tensors with broadcasting: axes of extent 1 and missing leading
axes are repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlirad.te.definitions.arguments import refuse
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.functions import maximum as maximum_of
from mlirad.te.definitions.functions import minimum as minimum_of
from mlirad.te.definitions.operators import Operator, named_operator
from mlirad.te.expressions import Expr, Extent, is_number, shown_extent
from mlirad.te.tensor import Tensor, same_shape


def _of_two(name: str, function: Callable[[Expr, Expr], Expr], sentence: str) -> Operator:
    def apply(a: Tensor, b: Tensor) -> Tensor:
        shape = _together(name, a.shape, b.shape)
        return compute(shape, lambda *i: function(_at(a, i), _at(b, i)), name)

    return named_operator(
        apply,
        name,
        f"Return {sentence} of two tensors, elementwise, broadcast as in NumPy: axes of extent 1 "
        "and missing leading axes are repeated. Raises TaichiTypeError if the shapes do not fit.",
    )


def _at(x: Tensor, indices: Sequence[Expr]) -> Expr:
    """Return an element for the indices of a shape that the tensor is spread over."""
    last = indices[len(indices) - x.ndim :]
    return x[tuple(0 if is_number(extent, 1) else i for extent, i in zip(x.shape, last))]


def _together(caller: str, left: Sequence[Extent], right: Sequence[Extent]) -> tuple[Any, ...]:
    rank = max(len(left), len(right))
    pairs = zip(*((*[1] * (rank - len(shape)), *shape) for shape in (left, right)))
    shape = []
    for extent, other in pairs:
        if not (is_number(extent, 1) or is_number(other, 1) or same_shape([extent], [other])):
            counts = f"{shown_extent(extent)} and {shown_extent(other)}"
            refuse(caller, "a and b:", f"{counts} elements along an axis")
        shape.append(other if is_number(extent, 1) else extent)
    return tuple(shape)


add = _of_two("add", lambda a, b: a + b, "the sum")
subtract = _of_two("subtract", lambda a, b: a - b, "the difference")
multiply = _of_two("multiply", lambda a, b: a * b, "the product")
divide = _of_two("divide", lambda a, b: a / b, "the quotient")
maximum = _of_two("maximum", maximum_of, "the maximum (in a tie the second element)")
minimum = _of_two("minimum", minimum_of, "the minimum (in a tie the second element)")
