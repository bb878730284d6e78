"""Tensors with something around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.te.definitions.arguments import refuse, shown_value
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.functions import all as all_of
from mlirad.te.definitions.functions import maximum, minimum
from mlirad.te.definitions.operators import operator
from mlirad.te.expressions import Expr, Extent, select
from mlirad.te.nn.geometry.per_axis import check_elements, extent_of, fixed_extent
from mlirad.te.tensor import Tensor

# of an index that may lie outside, and the extent
Inside = Callable[[Expr, Extent], Expr]


def _reflect(index: Expr, extent: Extent) -> Expr:
    inner = select(index < 0, 0 - index, index)
    return select(index >= extent, (extent - 1) * 2 - index, inner)


MODES: dict[str, Inside] = {
    "edge": lambda index, extent: minimum(maximum(index, 0), extent - 1),
    "reflect": _reflect,
    "wrap": lambda index, extent: index % extent,
}


@operator
def pad(
    x: Tensor, widths: Sequence[int | Sequence[int]], mode: str = "constant", value: float = 0.0
) -> Tensor:
    """Return x with elements added before and after it along each axis.

    Args:
        x: the tensor.
        widths: for each axis a pair of numbers, or one number for both sides.
        mode: the values of the new elements: "constant" (`value`), "edge" (the nearest element),
            "reflect" (mirrored at the last element; at most `extent - 1`), or "wrap" (from the
            other end). The last two need integer extents.
        value: the constant.

    Raises:
        TaichiTypeError: the arguments do not fit.
    """
    ends = [tuple(width) if isinstance(width, tuple | list) else (width, width) for width in widths]
    if len(ends) != x.ndim or not all(len(end) == 2 and min(end) >= 0 for end in ends):
        refuse(
            "pad", "widths", f"is {shown_value(widths)}, expected a pair for each of {x.ndim} axes"
        )
    if mode != "constant" and mode not in MODES:
        names = ", ".join(map(repr, ("constant", *MODES)))
        refuse("pad", "mode", f"is {mode!r}, expected one of {names}")
    padded = [k for k, pair in enumerate(ends) if max(pair)] if mode != "constant" else []
    check_elements("pad", x, padded, f"mode={mode!r} has no element to repeat")
    for k in padded:
        if mode == "wrap":
            fixed_extent("pad", "x", x.shape[k], "because it wraps around")
        if mode == "reflect" and max(ends[k]) >= fixed_extent(
            "pad", "x", x.shape[k], "because it is mirrored"
        ):
            refuse(
                "pad", "widths:", f"a mirror of {x.shape[k]} elements cannot fill {max(ends[k])}"
            )

    def element(*indices: Expr) -> Expr:
        moved = [i - before if before else i for i, (before, _) in zip(indices, ends)]
        if mode != "constant":
            move = MODES[mode]
            return x[tuple(move(i, n) if max(e) else i for i, n, e in zip(moved, x.shape, ends))]
        conditions = [i >= 0 for i, (before, _) in zip(moved, ends) if before]
        conditions += [i < n for i, n, (_, behind) in zip(moved, x.shape, ends) if behind]
        return select(all_of(*conditions), x[tuple(moved)], value) if conditions else x[indices]

    shape = [extent_of("pad", "widths", n + sum(pair)) for n, pair in zip(x.shape, ends)]
    return compute(shape, element, "pad")
