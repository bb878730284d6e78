"""Nests of loops that do nothing but add products of two elements to a third."""

from __future__ import annotations

from dataclasses import dataclass

from mlirad.analysis.elements import Element, are_apart, element_of
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir.rounding import EXACT, LANES
from mlirad.ir.structured import For, is_for
from mlirad.ir.walk import (
    block_operations,
    constant_integer,
    defining_op,
    is_defined_in,
)

_STEPS = {"arith.addf": False, "arith.subf": True}


@dataclass(frozen=True, eq=False)
class Index:
    """One index of a nest, which goes up in ones."""

    value: ir.Value
    lower: ir.Value
    upper: ir.Value
    extent: int | None

    @property
    def expected(self) -> int:
        """How many values it has, or a guess: enough for tiles to pay."""
        return 64 if self.extent is None else self.extent


@dataclass(frozen=True, eq=False)
class Contraction:
    """`output += left * right`, or `-=`, for every point of a box."""

    loop: ir.Operation
    indices: tuple[Index, ...]
    output: Element
    left: Element
    right: Element
    is_negative: bool

    @property
    def element_type(self) -> ir.Type:
        """The type of the numbers."""
        return ir.MemRefType(self.output.memref.type).element_type

    def swapped(self) -> Contraction:
        """The same, with the factors in the other order."""
        return Contraction(
            self.loop, self.indices, self.output, self.right, self.left, self.is_negative
        )

    def moving(self, *, output: bool, left: bool, right: bool) -> list[Index]:
        """The indices that some of the elements depend on, and the others do not."""
        wanted = (output, left, right)
        elements = (self.output, self.left, self.right)
        return [
            index
            for index in self.indices
            if tuple(element.moves_with(index.value) for element in elements) == wanted
        ]


def contraction(loop: ir.Operation) -> Contraction | None:
    """What a loop is as a contraction; None where it is not one, or not certainly."""
    indices: list[Index] = []
    op = loop
    while True:
        if len(op.results) or constant_integer(op.operands[2]) != 1:
            return None
        low, high = op.operands[0], op.operands[1]
        if is_defined_in(low, loop) or is_defined_in(high, loop):
            return None
        indices.append(Index(For(op).induction, low, high, spans(op)[0].trips))
        work = [inner for inner in block_operations(For(op).body)[:-1] if not _is_index(inner)]
        if len(work) != 1:
            break
        op = work[0]
        if not is_for(op):
            return None
    found = _update(work)
    if found is None:
        return None
    output, left, right, is_negative = found
    result = Contraction(loop, tuple(indices), output, left, right, is_negative)
    return result if _is_sound(result) else None


def _is_index(op: ir.Operation) -> bool:
    """Whether an op computes nothing but an integer."""
    return (
        op.name.startswith("arith.")
        and len(op.results) == 1
        and isinstance(op.results[0].type, ir.IndexType | ir.IntegerType)
    )


def _update(work: list[ir.Operation]) -> tuple[Element, Element, Element, bool] | None:
    """The elements of a body that adds a product to an element, and whether it subtracts it."""
    stores = [op for op in work if op.name == "memref.store"]
    if len(stores) != 1:
        return None
    store = stores[0]
    step = defining_op(store.operands[0])
    if step is None or step.name not in _STEPS or _is_bound(step):
        return None
    is_negative = _STEPS[step.name]
    pairs = [(0, 1)] if is_negative else [(0, 1), (1, 0)]
    for mine, other in pairs:
        old, product = defining_op(step.operands[mine]), defining_op(step.operands[other])
        if old is None or product is None or product.name != "arith.mulf" or _is_bound(product):
            continue
        factors = [defining_op(factor) for factor in product.operands]
        read = [op for op in (old, *factors) if op is not None and op.name == "memref.load"]
        if len(read) < 3 or set(work) != {store, step, product, *read}:
            continue
        elements = [element_of(op.operands[0], list(op.operands)[1:]) for op in read]
        if elements[0] == element_of(store.operands[1], list(store.operands)[2:]):
            return elements[0], elements[1], elements[2], is_negative
    return None


def _is_bound(op: ir.Operation) -> bool:
    """Whether an op may not be rounded in another way."""
    return EXACT in op.attributes or LANES in op.attributes


def _is_sound(found: Contraction) -> bool:
    """Whether the factors are certainly not what is written, and elements are known by sums of the
    indices and of what the nest does not change."""
    indices = {index.value for index in found.indices}
    elements = (found.output, found.left, found.right)
    names = {name for element in elements for name in element.names}
    types = {str(ir.MemRefType(element.memref.type).element_type) for element in elements}
    return (
        len(types) == 1
        and types <= {"f32", "f64"}
        and all(are_apart(found.output.memref, x.memref) for x in (found.left, found.right))
        and not any(is_defined_in(name, found.loop) for name in names - indices)
        and not any(is_defined_in(element.memref, found.loop) for element in elements)
    )
