"""The addresses of the sums of a kernel: their argument, and their distances."""

from __future__ import annotations

from collections import Counter
from math import gcd
from typing import NamedTuple

from mlirad.bindings import ir
from mlirad.ir.ops import Llvm
from mlirad.ir.signature import ALIGN
from mlirad.ir.walk import defining_op
from mlirad.passes.gpu.merge_atomics.vector_sums import VECTORS


class Place(NamedTuple):
    """Elements behind an argument, as a sum of values times integers: it lies at a `multiple` of so
    many elements."""

    base: ir.Value
    terms: frozenset[tuple[ir.Value, int]]
    multiple: int


def place_of(sum_: ir.Operation) -> tuple[Place, int] | None:
    """Return where an atomic sum goes, and how many elements behind that; None if it is not
    known."""
    address, type_ = defining_op(sum_.operands[0]), sum_.results[0].type
    if address is None or address.name != Llvm.GETELEMENTPTR or len(address.operands) != 2:
        return None
    base, index = address.operands
    if ir.TypeAttr(address.attributes["elem_type"]).value != type_ or ALIGN not in labels_of(base):
        return None
    terms: Counter[ir.Value] = Counter()
    offset = _add(index, 1, terms)
    aligned = ir.IntegerAttr(labels_of(base)[ALIGN]).value // VECTORS[str(type_)].size
    multiple = gcd(aligned, *terms.values())
    return Place(base, frozenset(terms.items()), multiple), offset


def base_of(pointer: ir.Value) -> ir.Value:
    """Return what an address is an address behind."""
    op = defining_op(pointer)
    while op is not None and op.name == Llvm.GETELEMENTPTR:
        pointer = op.operands[0]
        op = defining_op(pointer)
    return pointer


def labels_of(base: ir.Value) -> ir.DictAttr | dict[str, ir.Attribute]:
    """Return what is known of a function's argument; nothing of other values."""
    if not isinstance(base, ir.BlockArgument):
        return {}
    function = base.owner.owner.operation
    if "arg_attrs" not in function.attributes or base.owner != function.regions[0].blocks[0]:
        return {}
    return ir.DictAttr(ir.ArrayAttr(function.attributes["arg_attrs"])[base.arg_number])


def _add(value: ir.Value, factor: int, terms: Counter[ir.Value]) -> int:
    """Add a multiple of a value to terms; the constant part of it.

    A number of 32 bits that wraps around has passed a negative one, which is no index: those of
    sums that are made differ by as much as the constants in them.
    """
    op = defining_op(value)
    if op is not None and op.name == Llvm.SEXT and _is_word(op.operands[0].type):
        return _add(op.operands[0], factor, terms)
    if op is not None and op.name == Llvm.MLIR_CONSTANT:
        return factor * ir.IntegerAttr(op.attributes["value"]).value
    if op is not None and op.name == Llvm.ADD:
        return sum(_add(operand, factor, terms) for operand in op.operands)
    if op is not None and op.name == Llvm.MUL:
        by = defining_op(op.operands[1])
        if by is not None and by.name == Llvm.MLIR_CONSTANT:
            return _add(
                op.operands[0], factor * ir.IntegerAttr(by.attributes["value"]).value, terms
            )
    terms[value] += factor
    return 0


def _is_word(type_: ir.Type) -> bool:
    return ir.IntegerType(type_).width == 32
