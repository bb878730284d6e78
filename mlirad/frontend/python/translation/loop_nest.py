"""The box of indices that a loop goes over."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from mlirad.frontend.python.places.active_elements import ActivityTest
from mlirad.frontend.python.places.array_arguments import ArrayArgument
from mlirad.frontend.python.places.arrays import array_ref
from mlirad.frontend.python.values.domains import Bounds, GroupedDomain
from mlirad.frontend.python.values.scalar import Expr
from mlirad.types import DataType

T = TypeVar("T")


class Nest(msgspec.Struct, frozen=True):
    """A loop node, and the box of indices that it goes over."""

    node: ast.For
    bounds: Sequence[Bounds]
    dtypes: Sequence[DataType]  # of the indices
    step: Expr | int = 1
    is_grouped: bool = False
    active: ActivityTest = None
    axes: Sequence[int] = ()  # of the loops, the outermost first; none if they are in order

    def in_order(self, indices: Sequence[T]) -> list[T]:
        """Return indices of the loops in the order of the axes."""
        places = dict(zip(self.axes or range(len(indices)), indices))
        return [places[axis] for axis in range(len(indices))]


def in_memory_order(nest: Nest, domain: Any) -> Nest:
    """Return the loops over an ndarray as its axes lie in memory."""
    array = array_ref(domain.domain if isinstance(domain, GroupedDomain) else domain)
    layout = array.layout if isinstance(array, ArrayArgument) else None
    if layout is None:
        return nest
    return replace(nest, bounds=[nest.bounds[axis] for axis in layout], axes=layout)
