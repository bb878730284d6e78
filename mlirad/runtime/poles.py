"""Fields of a program that may hold infinities: those to which a kernel compiled so far, or Python,
writes them, and those to which they are passed on. Beside their numbers a reverse keeps an adjoint
of 0 at 0 by a test (`passes/_finite.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirad.bindings import ir
from mlirad.dialect.snode import INFINITE, places
from mlirad.types import DataType, f16, f32, f64

_LARGEST = {dtype.bits: float(np.finfo(dtype.numpy).max) for dtype in (f16, f32, f64)}


class Poles:
    """`version` grows with `infinite`, the names of the fields."""

    def __init__(self) -> None:
        self.version = 0
        self.infinite: frozenset[str] = frozenset()
        self._onwards: dict[str, set[str]] = {}  # the fields that numbers of a field are passed to

    def note(self, module: ir.Operation) -> None:
        """Take in what `mark-poles` found in a kernel."""
        targets = set()
        for entry in ir.ArrayAttr(module.attributes["field.poles"]):
            target, has_pole, *sources = ir.ArrayAttr(entry)
            if isinstance(target, ir.FlatSymbolRefAttr):
                if ir.BoolAttr(has_pole).value:
                    targets.add(target.value)
                for source in sources:
                    if isinstance(source, ir.FlatSymbolRefAttr):
                        self._onwards.setdefault(source.value, set()).add(target.value)
        self._give(targets)

    def note_values(self, symbol: str, values: Any, dtype: DataType) -> None:
        """Take in what Python writes to a field of floats; what is too large for it
        becomes infinite."""
        if symbol in self.infinite:
            return
        largest = _LARGEST[dtype.bits]
        if isinstance(values, (int, float)):  # an element: not worth NumPy's overhead
            if not -largest <= values <= largest:
                self._give({symbol})
        elif not _all_within(np.asarray(values), largest, dtype.numpy):
            self._give({symbol})

    def note_copy(self, source: str, target: str) -> None:
        """Take in that one field is copied to another."""
        self._onwards.setdefault(source, set()).add(target)
        if source in self.infinite:
            self._give({target})

    def _give(self, symbols: set[str]) -> None:
        infinite, pending = set(self.infinite), [*self.infinite, *symbols]
        infinite.update(symbols)
        while pending:
            new = self._onwards.get(pending.pop(), set()) - infinite
            infinite |= new
            pending += new
        if len(infinite) > len(self.infinite):
            self.infinite, self.version = frozenset(infinite), self.version + 1

    def among(self, symbols: Sequence[str]) -> frozenset[str]:
        """The fields, among some, that may hold infinities."""
        return self.infinite.intersection(symbols)


def mark_infinite(module: ir.Operation, symbols: frozenset[str]) -> None:
    """Mark fields of a module as holding infinities."""
    for place in places(module):
        if ir.StringAttr(place.attributes["sym_name"]).value in symbols:
            place.attributes[INFINITE] = ir.UnitAttr.get()


def _all_within(values: np.ndarray[Any, Any], largest: float, dtype: np.dtype[Any]) -> bool:
    """Return whether no value is infinite, NaN, or too large for a type of floats."""
    if values.dtype == dtype or not values.size:
        with np.errstate(all="ignore"):  # a sum is finite only if all of them are
            return bool(np.isfinite(np.sum(values)))
    if values.dtype == object:  # as memory takes them
        values = values.astype(np.float64)
    # compared as Python's numbers: NumPy would round `largest` to the type of the array
    low, high = values.min().item(), values.max().item()
    return bool(-largest <= low and high <= largest)
