"""Windows that slide over the axes of a tensor: of convolutions, of pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mlirad.te.definitions.arguments import refuse, shown_value
from mlirad.te.definitions.axes import reduce_axis
from mlirad.te.definitions.functions import all as all_of
from mlirad.te.expressions import Axis, Expr, Extent, Operand, expr, select
from mlirad.te.nn.geometry.per_axis import extent_of

PerAxis = int | Sequence[int]  # one for all axes, or one for each
Padding = str | int | Sequence[int | Sequence[int]]  # at both ends, or before and behind
PADDINGS = (  # of operators that have windows, for their docstrings
    'a number, one for each axis, or for each axis a pair: before and after; or "valid" (none), '
    '"same" (as many windows as points, at a stride of 1), or "causal" (all before).'
)


@dataclass(frozen=True)
class Windows:
    """Point r of window i lies at `i * stride + r * dilation - before`, of `extents`."""

    extents: tuple[Extent, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    behind: tuple[int, ...]

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The number of windows along each axis."""
        return tuple(
            (extent + before + behind - (kernel - 1) * dilation - 1) // stride + 1
            for extent, kernel, stride, dilation, before, behind in zip(
                self.extents, self.kernel, self.stride, self.dilation, self.before, self.behind
            )
        )

    @property
    def is_padded(self) -> bool:
        """Return whether windows reach beyond the tensor."""
        return any(self.before) or any(self.behind)

    def axes(self) -> list[Axis]:
        """Reduction axes over the points of a window."""
        return [reduce_axis(extent, f"r{k}") for k, extent in enumerate(self.kernel)]

    def at(self, window: Sequence[Expr], point: Sequence[Expr]) -> list[Expr]:
        """The indices of a point of a window."""
        return [
            _add(_scale(i, stride), _scale(r, dilation), -before)
            for i, r, stride, dilation, before in zip(
                window, point, self.stride, self.dilation, self.before
            )
        ]

    def inside(self, at: Sequence[Expr]) -> Expr | None:
        """Return whether a point is no padding; None if none is."""
        conditions = [index >= 0 for index, before in zip(at, self.before) if before]
        conditions += [i < n for i, n, behind in zip(at, self.extents, self.behind) if behind]
        return all_of(*conditions) if conditions else None

    def read_padded(self, at: Sequence[Expr], read: Callable[[Sequence[Expr]], Expr]) -> Expr:
        """Read a point, 0 in the padding."""
        inside = self.inside(at)
        return read(at) if inside is None else select(inside, read(at), 0.0)

    def read_around(self, at: Sequence[Expr], read: Callable[[Sequence[Expr]], Expr]) -> Expr:
        """Read a point, in the padding from the other end."""
        padded = [before or other for before, other in zip(self.before, self.behind)]
        return read([index % n if k else index for index, n, k in zip(at, self.extents, padded)])


def _scale(index: Expr, factor: int) -> Expr:
    return index if factor == 1 else index * factor


def _add(left: Expr, right: Expr, constant: int) -> Expr:
    total = left + right
    return total + constant if constant else total


def windows(
    caller: str,
    extents: Sequence[Extent],
    kernel: PerAxis,
    stride: PerAxis,
    dilation: PerAxis,
    padding: Padding,
    argument: str = "kernel",
) -> Windows:
    """Windows over some axes, for the operator `caller`, whose `argument` says the kernel.

    `padding` has the values that `PADDINGS` describes. Raises TaichiTypeError for other values, and
    if no window fits.
    """
    rank = len(extents)
    sizes, steps, gaps = (
        per_axis(caller, value, rank, name, 1)
        for value, name in ((kernel, argument), (stride, "stride"), (dilation, "dilation"))
    )
    reach = [(size - 1) * gap for size, gap in zip(sizes, gaps)]
    before, behind = _paddings(caller, padding, reach)
    for extent, first, last, far in zip(extents, before, behind, reach):
        extent_of(caller, "padding", extent + first + last)
        if isinstance(extent, int) and extent + first + last <= far:
            padded = f", padded by {first} and {last}" * bool(first + last)
            why = f"a window that reaches over {far + 1} elements does not fit into"
            refuse(caller, f"x and {argument}:", f"{why} {extent}{padded}")
    return Windows(tuple(extents), sizes, steps, gaps, before, behind)


def per_axis(caller: str, value: Any, rank: int, argument: str, least: int) -> tuple[int, ...]:
    """A number for each axis. Raises TaichiTypeError for other ones."""
    numbers = tuple(value) if isinstance(value, tuple | list) else (value,) * rank
    if len(numbers) != rank or not all(_is_integer(n) and n >= least for n in numbers):
        refuse(
            caller,
            f"{argument}={shown_value(value)}:",
            f"expected an integer of at least {least}, or one for each of {rank} axes",
        )
    return tuple(extent_of(caller, argument, number) for number in numbers)


def _paddings(
    caller: str, padding: Any, reach: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    named: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
        "valid": (tuple(0 for _ in reach), tuple(0 for _ in reach)),
        "same": (tuple(far // 2 for far in reach), tuple(far - far // 2 for far in reach)),
        "causal": (tuple(reach), tuple(0 for _ in reach)),
    }
    if isinstance(padding, str) and padding in named:
        return named[padding]
    entries = list(padding) if isinstance(padding, tuple | list) else [padding] * len(reach)
    pairs = [tuple(e) if isinstance(e, tuple | list) else (e, e) for e in entries]
    are_pairs = all(len(p) == 2 and all(_is_integer(n) and n >= 0 for n in p) for p in pairs)
    if len(pairs) != len(reach) or not are_pairs:
        refuse(
            caller,
            f"padding={shown_value(padding)}:",
            "expected an integer of at least 0, an integer or a pair of them for each of "
            f"{len(reach)} axes, or 'valid', 'same' or 'causal'",
        )
    return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def conjunction(condition: Expr | None, other: Operand) -> Expr:
    """Both of two conditions, of which the first one may be none."""
    return expr(other) if condition is None else all_of(condition, other)
