"""Conditions on the sizes of a call under which reads are within bounds, if the sizes decide it.

A definition needs, for each read of it that no condition guards, a sum of sizes that is not
negative, if some sums are positive: those of the extents over which it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mlirad.analysis.linear import Linear, evaluate_sum
from mlirad.bindings import ir
from mlirad.dialect.turn import in_turn
from mlirad.errors import SourceLocation, TaichiRuntimeTypeError
from mlirad.te.graph import graph
from mlirad.te.tensor import Tensor

SumOfSizes = Linear[str]


@dataclass(frozen=True)
class SizeNeed:
    """A condition of a read on sizes: `least` is not negative where all of `extents` are
    positive."""

    least: SumOfSizes
    extents: tuple[SumOfSizes, ...]
    text: str
    place: SourceLocation

    @property
    def names(self) -> set[str]:
        """The names of the sizes."""
        return {name for total in (self.least, *self.extents) for name in total.names}

    def check(self, function: str, sizes: Mapping[str, int]) -> None:
        """Raise TaichiRuntimeTypeError if it is not so."""
        is_read = all(evaluate_sum(extent, sizes) > 0 for extent in self.extents)
        if is_read and evaluate_sum(self.least, sizes) < 0:
            names = dict.fromkeys(name for name, _ in sorted(self.least.terms))
            values = ", ".join(f"{name.partition('.')[0]} = {sizes[name]}" for name in names)
            raise TaichiRuntimeTypeError(
                f"{self.place}: {function}: {self.text} is out of bounds for {values}"
            )


@in_turn
def note_needs(tensor: Tensor, needs: Iterable[SizeNeed]) -> None:
    """Keep the conditions of a definition on sizes."""
    table = graph().needs
    merged = tuple(dict.fromkeys([*table.get(tensor.value, ()), *needs]))
    if merged:
        table[tensor.value] = merged


@in_turn
def inherit_needs(tensors: Iterable[Tensor], sources: Iterable[Tensor]) -> None:
    """Let tensors have the conditions of those that they are derived of, whose reads they have."""
    table = graph().needs
    needs = [need for source in sources for need in table.get(source.value, ())]
    for tensor in tensors:
        note_needs(tensor, needs)


def needs_of(ops: Iterable[ir.Operation], sizes: Sequence[str]) -> list[SizeNeed]:
    """Return the conditions of definitions on sizes."""
    table = graph().needs
    results = [result for op in ops for result in op.results]
    needs = dict.fromkeys(need for result in results for need in table.get(result, ()))
    return [need for need in needs if need.names <= {*sizes}]
