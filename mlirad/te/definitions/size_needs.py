"""What the sizes of a call have to be for reads to be within bounds, where they decide it.

`te.needs` of a definition holds, for each read of it that no condition guards, a sum of sizes that
is not negative then, and sums of which all are positive where anything is read at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mlirad.analysis.linear import Linear, evaluate_sum
from mlirad.bindings import ir
from mlirad.dialect.turn import in_turn
from mlirad.errors import SourceLocation, TaichiRuntimeTypeError
from mlirad.ir.reports.location import place_attribute, read_place
from mlirad.ir.walk import operations, owner_operation
from mlirad.te.tensor import Tensor

_NEEDS = "te.needs"
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
        """Raise TaichiRuntimeTypeError where it is not so."""
        is_read = all(evaluate_sum(extent, sizes) > 0 for extent in self.extents)
        if is_read and evaluate_sum(self.least, sizes) < 0:
            names = dict.fromkeys(name for name, _ in sorted(self.least.terms))
            values = ", ".join(f"{name.partition('.')[0]} = {sizes[name]}" for name in names)
            raise TaichiRuntimeTypeError(
                f"{self.place}: {function}: {self.text} is out of bounds for {values}"
            )


@in_turn
def note_needs(tensor: Tensor, needs: Sequence[SizeNeed]) -> None:
    """Keep what a definition needs."""
    if needs:
        op = owner_operation(tensor.value)
        with op.context:
            _add(op, map(_attribute, needs))


@in_turn
def inherit_needs(tensors: Iterable[Tensor], sources: Iterable[Tensor]) -> None:
    """Let tensors need what those need that they are derived of, whose reads they have."""
    needs = [
        need for source in sources for need in _needs_attributes(owner_operation(source.value))
    ]
    if needs:
        for tensor in tensors:
            _add(owner_operation(tensor.value), needs)


def needs_of(module: ir.Module, sizes: Sequence[str]) -> list[SizeNeed]:
    """Return the conditions of the definitions in a module on sizes."""
    attributes = [need for op in operations(module.operation) for need in _needs_attributes(op)]
    needs = [_read(need) for need in dict.fromkeys(attributes)]
    return [need for need in needs if need.names <= {*sizes}]


def _needs_attributes(op: ir.Operation) -> list[ir.Attribute]:
    return list(ir.ArrayAttr(op.attributes[_NEEDS])) if _NEEDS in op.attributes else []


def _add(op: ir.Operation, needs: Iterable[ir.Attribute]) -> None:
    merged = dict.fromkeys([*_needs_attributes(op), *needs])
    op.attributes[_NEEDS] = ir.ArrayAttr.get(list(merged), op.context)


def _attribute(need: SizeNeed) -> ir.Attribute:
    return ir.DictAttr.get(
        {
            "least": _sum_attribute(need.least),
            "extents": ir.ArrayAttr.get([_sum_attribute(extent) for extent in need.extents]),
            "text": ir.StringAttr.get(need.text),
            "place": place_attribute(need.place),
        }
    )


def _sum_attribute(total: SumOfSizes) -> ir.Attribute:
    i64 = ir.IntegerType.get_signless(64)
    terms = {name: ir.IntegerAttr.get(i64, factor) for name, factor in total.terms}
    constant = ir.IntegerAttr.get(i64, total.constant)
    return ir.DictAttr.get({"constant": constant, "terms": ir.DictAttr.get(terms)})


def _read(attribute: ir.Attribute) -> SizeNeed:
    entry = ir.DictAttr(attribute)
    at = read_place(entry["place"])
    assert at is not None
    extents = tuple(map(_read_sum, ir.ArrayAttr(entry["extents"])))
    return SizeNeed(_read_sum(entry["least"]), extents, ir.StringAttr(entry["text"]).value, at)


def _read_sum(attribute: ir.Attribute) -> SumOfSizes:
    entry = ir.DictAttr(attribute)
    terms = ir.DictAttr(entry["terms"])
    named = (terms[number] for number in range(len(terms)))
    constant = ir.IntegerAttr(entry["constant"]).value
    return Linear(
        frozenset((term.name, ir.IntegerAttr(term.attr).value) for term in named), constant
    )
