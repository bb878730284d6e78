"""Runs of sums that lie side by side, cut into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Llvm
from mlirad.ir.walk import before

MERGED = "red.relaxed.gpu.global.add"  # what every such instruction begins with


class _Vector(NamedTuple):
    """Instructions on elements of a type: bytes of one, counts from the greatest, how the assembler
    writes the type and the operation, and which registers it has."""

    size: int
    counts: tuple[int, ...]
    suffix: str
    operation: str
    register: str


VECTORS = {
    "f32": _Vector(4, (4, 2), "f32", MERGED, "f"),
    "f16": _Vector(2, (8, 4, 2), "f16", f"{MERGED}.noftz", "h"),
}


class _Sum(NamedTuple):
    """An address, and what is added there."""

    address: ir.Value
    value: ir.Value


def merge_run(run: list[ir.Operation], multiple: int, offset: int, last: ir.Operation) -> None:
    """Merge sums that lie side by side, from `offset` elements behind a multiple of so many on, in
    front of the last that is made."""
    vector = VECTORS[str(run[0].results[0].type)]
    aligned = next((n for n in vector.counts if multiple % n == 0), 1)
    begin = -offset % aligned  # in front of it and behind `end` are sums that are no whole vectors
    units = max(0, len(run) - begin) // aligned
    is_odd = 2 * aligned in vector.counts and units > 2 and units % 2 == 1
    if not is_odd and (aligned == 1 or units == 0):
        return
    sums, end = [_Sum(op.operands[0], op.operands[1]) for op in run], begin + units * aligned
    with before(last):
        if is_odd:
            _add_each(vector, sums[:begin], offset, multiple)
            _add_odd_units(vector, sums[begin:end], aligned)
            _add_each(vector, sums[end:], offset + end, multiple)
        else:
            _add_each(vector, sums, offset, multiple)
    for op in run:
        op.erase()


def _add_each(vector: _Vector, sums: Sequence[_Sum], offset: int, multiple: int) -> None:
    """Add sums by the widest vectors that are known to be aligned."""
    while sums:
        fits = (n for n in vector.counts if n <= len(sums) and not (multiple % n or offset % n))
        count = next(fits, 1)
        _add(vector, sums[0].address, [sum_.value for sum_ in sums[:count]])
        sums, offset = sums[count:], offset + count


def _add_odd_units(vector: _Vector, sums: Sequence[_Sum], unit: int) -> None:
    """Add an odd number of aligned vectors by vectors twice as wide, and one: the last, if the
    first lies at a multiple of the wide ones, else the first."""
    first = b.make(Llvm.PTRTOINT, b.integer_type(64), [sums[0].address])
    bit = b.make(Llvm.AND, first.type, [first, b.llvm_constant(unit * vector.size, first.type)])
    is_moved = _is_set(bit)

    def choose(moved: ir.Value, plain: ir.Value) -> ir.Value:
        return b.make(Llvm.SELECT, plain.type, [is_moved, moved, plain])

    for start in range(0, len(sums) - unit, 2 * unit):
        pairs = zip(sums[start + unit : start + 3 * unit], sums[start : start + 2 * unit])
        chosen = [_Sum(*map(choose, moved, plain)) for moved, plain in pairs]
        _add(vector, chosen[0].address, [sum_.value for sum_ in chosen])
    chosen = [_Sum(*map(choose, *pair)) for pair in zip(sums[:unit], sums[-unit:])]
    _add(vector, chosen[0].address, [sum_.value for sum_ in chosen])


def _is_set(bit: ir.Value) -> ir.Value:
    zero = b.llvm_constant(0, bit.type)
    return b.make(Llvm.ICMP, b.integer_type(1), [bit, zero], predicate=b.predicate(b.NE))


def _add(vector: _Vector, address: ir.Value, values: Sequence[ir.Value]) -> None:
    """Add neighbors by one instruction."""
    pointer = b.make(Llvm.ADDRSPACECAST, ir.Type.parse("!llvm.ptr<1>"), [address])
    if vector.register == "h":
        values = [b.make(Llvm.BITCAST, b.integer_type(16), [value]) for value in values]
    names = ", ".join(f"${number}" for number in range(1, len(values) + 1))
    width, names = (f".v{len(values)}", f"{{{names}}}") if len(values) > 1 else ("", names)
    b.effect(
        Llvm.INLINE_ASM,
        [pointer, *values],
        asm_string=ir.StringAttr.get(f"{vector.operation}{width}.{vector.suffix} [$0], {names};"),
        constraints=ir.StringAttr.get(f"l{f',{vector.register}' * len(values)},~{{memory}}"),
        has_side_effects=ir.UnitAttr.get(),
    )
