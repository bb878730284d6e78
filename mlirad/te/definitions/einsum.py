"""`te.einsum`: contractions by a formula."""

from __future__ import annotations

from functools import reduce

from mlirad.te.definitions.arguments import check_arguments, refuse
from mlirad.te.definitions.axes import reduce_axis
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.reductions import sum as sum_over
from mlirad.te.expressions import Expr, Extent, same_extent, shown_extent
from mlirad.te.tensor import Tensor


@check_arguments
def einsum(formula: str, *tensors: Tensor) -> Tensor:
    """Return a sum of products, by a formula as in NumPy: `te.einsum("ij,jk->ik", a, b)`.

    Each letter is an axis. A letter that occurs twice in one input selects its diagonal. The result
    has the axes after the arrow, which is required; other letters are summed over. The result has
    the common type of the tensors.

    Args:
        formula: the axes of each tensor and of the result.
        tensors: the tensors.

    Raises:
        TaichiTypeError: the formula does not fit the axes and extents, contains "...", or has a
            letter twice in the result.
    """
    operands, arrow, result = formula.replace(" ", "").partition("->")
    inputs = operands.split(",")
    if not arrow or len(inputs) != len(tensors):
        why = (
            f"is '{formula}', which is not a formula for {len(tensors)} tensors: an example for "
            "two is 'ij,jk->ik'"
        )
        refuse("einsum", "formula", why)
    extents = _extents(inputs, tensors)
    if len(set(result)) < len(result) or any(letter not in extents for letter in result):
        why = f"is '{formula}': the result has a letter twice, or a new one"
        refuse("einsum", "formula", why)
    summed = {
        name: reduce_axis(extent, name) for name, extent in extents.items() if name not in result
    }

    def element(*indices: Expr) -> Expr:
        at: dict[str, Expr] = dict(zip(result, indices)) | dict(summed)
        factors = [tensor[tuple(at[k] for k in names)] for names, tensor in zip(inputs, tensors)]
        value = reduce(lambda left, right: left * right, factors)
        return sum_over(value, axis=tuple(summed.values())) if summed else value

    return compute(tuple(extents[letter] for letter in result), element, "einsum")


def _extents(inputs: list[str], tensors: tuple[Tensor, ...]) -> dict[str, Extent]:
    extents: dict[str, Extent] = {}
    for names, tensor in zip(inputs, tensors):
        if len(names) != tensor.ndim or not (names.isalpha() or not names):
            why = f"has '{names}', which does not name the axes of {tensor!r} in tensors"
            refuse("einsum", "formula", why)
        for letter, extent in zip(names, tensor.shape):
            first = extents.setdefault(letter, extent)
            if not same_extent(first, extent):
                counts = f"{shown_extent(first)} and {shown_extent(extent)}"
                refuse(
                    "einsum",
                    "formula and tensors",
                    f"do not match: axis '{letter}' has the extents {counts}",
                )
    return extents
