"""Sizes that a call decides, and the indices that reductions go through."""

from __future__ import annotations

from itertools import count
from typing import Any

from mlirad.te.definitions.arguments import check_arguments, refuse, shown_value
from mlirad.te.expressions import INDEX, Axis, Expr, Size
from mlirad.te.tensor import checked_extent

_numbers = count(1)


@check_arguments
def var(name: str = "n") -> Expr:
    """Return a size that is known when the built function is called: `n = te.var("n")`.

    Every call returns a new size, even if the name is the same.
    """
    return Size(INDEX, f"{name}.{next(_numbers)}")


@check_arguments
def reduce_axis(extent: Any, name: str = "k") -> Axis:
    """Return an index for a reduction, from 0 to `extent - 1`. Raises TaichiTypeError if the extent
    is neither an integer nor an expression of sizes."""
    if isinstance(extent, tuple | list):
        refuse(
            "reduce_axis",
            "extent",
            f"is {shown_value(extent)}, expected an integer or an expression of sizes; ranges "
            "begin at 0",
        )
    return Axis(INDEX, name, checked_extent(extent, "reduce_axis: extent"), is_reduced=True)
