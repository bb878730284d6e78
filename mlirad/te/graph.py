"""The module in which tensors are defined: one a process, from which `te.build` takes what it
needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.te import size
from mlirad.dialect.turn import compiling
from mlirad.errors import SourceLocation
from mlirad.ir import build as b
from mlirad.te.emission import integer_value
from mlirad.te.expressions import Extent, Expr, Size
from mlirad.te.places import location


class Graph:
    """Definitions in the order in which they were made."""

    def __init__(self) -> None:
        with context(), ir.Location.unknown():
            self.module = ir.Module.create()
        self._sizes: dict[Size, ir.Value] = {}
        self._constants: dict[int, ir.Value] = {}

    @contextmanager
    def defining(self, at: SourceLocation) -> Iterator[None]:
        """Add definitions, which a place of the program makes."""
        with compiling, context(), location(at), ir.InsertionPoint(self.module.body):
            yield

    def extent(self, extent: Extent) -> ir.Value:
        """An extent, at the insertion point."""
        if isinstance(extent, int):
            return self._constant(extent)
        return integer_value(extent, self._size, self._constant)

    def sizes(self, shape: tuple[Extent, ...]) -> list[ir.Value]:
        """The extents of a shape that a tensor's type does not say."""
        return [self.extent(extent) for extent in shape if isinstance(extent, Expr)]

    def _constant(self, value: int) -> ir.Value:
        if value not in self._constants:
            with ir.InsertionPoint.at_block_begin(self.module.body):
                self._constants[value] = b.index(value)
        return self._constants[value]

    def _size(self, one: Size) -> ir.Value:
        if one not in self._sizes:
            with ir.InsertionPoint.at_block_begin(self.module.body):
                self._sizes[one] = size(one.name)
        return self._sizes[one]


@cache
def graph() -> Graph:
    """The process' one."""
    return Graph()
