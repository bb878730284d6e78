"""Domains of loops: ranges, boxes of indices, and domains with one vector for an index."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from mlirad.errors import TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Expr, Scalar

Bounds = tuple[Any, Any]  # lower and upper, numbers or kernel scalars


class NdRange:
    """A box of indices: `ti.ndrange(n, (lower, upper), ...)`."""

    def __init__(
        self, *ranges: Scalar | Matrix | list | tuple, axes: Sequence[int] | None = None
    ) -> None:
        self.bounds: list[Bounds] = []
        for item in ranges:
            if isinstance(item, Matrix):
                self.bounds += [(0, extent) for extent in item.entries]
            elif isinstance(item, list | tuple):
                if len(item) != 2:
                    raise TaichiSyntaxError(
                        "Every argument of ndrange should be a scalar or a tuple/list like "
                        "(begin, end)"
                    )
                self.bounds.append((item[0], item[1]))
            else:
                self.bounds.append((0, item))
        for bound in itertools.chain.from_iterable(self.bounds):
            if not _is_integer(bound):
                raise TaichiTypeError(
                    "Every argument of ndrange should be an integer scalar or a tuple/list of "
                    f"(int, int), not {_named(bound)}"
                )

        self.axes = _nesting(axes, len(self.bounds))

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        ranges = [range(*self.bounds[axis]) for axis in self.axes]
        places = [self.axes.index(axis) for axis in range(len(ranges))]
        indices = itertools.product(*ranges)
        if places == sorted(places):
            return indices
        return (tuple(index[place] for place in places) for index in indices)

    def vectors(self) -> Iterator[Matrix]:
        """The indices as vectors, for loops that are unrolled."""
        for index in self:
            yield Matrix.of_shape((len(index),), list(index))


def _is_integer(bound: object) -> bool:
    """Return whether a bound of a loop is an integer, constant or not."""
    if isinstance(bound, Expr):
        return not bound.dtype.is_float
    return not isinstance(bound, float) and hasattr(type(bound), "__index__")


def _named(bound: object) -> str:
    """Return what messages call a bound that is no integer."""
    if isinstance(bound, tuple | list):
        return f"a {type(bound).__name__}: x.shape[0] is an extent"
    if hasattr(type(bound), "__kernel_ref__") or hasattr(bound, "element_shape"):
        return "a field or array: x.shape[0] is an extent, and `for i in x:` visits its elements"
    kind = str(bound.dtype) if isinstance(bound, Expr) else f"a {type(bound).__name__}"
    is_number = isinstance(bound, Expr | float)
    return f"{kind}: int(n) is an integer, and so is n // 2" if is_number else kind


def _nesting(axes: Any, count: int) -> tuple[int, ...]:
    """The axes of a box, the outermost loop first. Raises TaichiSyntaxError for what is no order of
    them."""
    if axes is None:
        return tuple(range(count))
    if not isinstance(axes, list | tuple) or any(type(axis) is not int for axis in axes):
        raise TaichiTypeError(f"expected a tuple of integers as axes of ndrange, got {axes!r}")
    if sorted(axes) != [*range(count)]:
        raise TaichiSyntaxError(f"axes={axes!r} of ndrange is not a permutation of range({count})")
    return tuple(axes)


class GroupedDomain:
    """A loop domain whose index is one vector: `ti.grouped(...)`."""

    def __init__(self, domain: object) -> None:
        self.domain: Any = domain

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.domain, NdRange):
            return self.domain.vectors()
        shape = self.domain.shape
        return NdRange(*shape).vectors()


class Range(msgspec.Struct):
    """`range(...)` in a kernel."""

    lower: Any
    upper: Any
    step: Any = 1

    def __iter__(self) -> Iterator[int]:
        if any(isinstance(bound, Expr) for bound in (self.lower, self.upper, self.step)):
            raise TaichiTypeError(
                "this range is unrolled, so its bounds must be known at compile time: declare a "
                "parameter as ti.template(), or loop without ti.static"
            )
        return iter(range(self.lower, self.upper, self.step))


def make_range(*arguments: Scalar) -> Range:
    """`range` with bounds that may be known only at run time."""
    if not 1 <= len(arguments) <= 3:
        raise TaichiSyntaxError(f"range takes 1 to 3 arguments, got {len(arguments)}")
    for argument in arguments:
        if not _is_integer(argument):
            raise TaichiTypeError(
                f"the arguments of range must be integers, not {_named(argument)}"
            )
    lower, upper, step = (0, arguments[0], 1) if len(arguments) == 1 else (*arguments, 1)[:3]
    if not isinstance(step, Expr) and step == 0:
        raise TaichiSyntaxError("the step of this range is 0, so the loop would never end")
    return Range(lower, upper, step)
