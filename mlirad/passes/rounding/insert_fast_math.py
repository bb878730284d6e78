"""Let LLVM reassociate sums into lanes, contract products into FMAs and use reciprocal estimates.

A program's own ops are marked with how they round (`mark-rounding`), which holds in every mode, and
derivatives are marked as such; what has no mark is exact.
"""

from collections.abc import Sequence
from typing import Annotated

from mlirad.bindings import ir
from mlirad.ir.limits import Range, SomeOf
from mlirad.ir.marks.fast_math import fast_math, forbid
from mlirad.ir.marks.rounding import EXACT, is_marked, is_of_derivative, rounds
from mlirad.ir.ops import Arith, Math, Scf
from mlirad.ir.walk import constant_float, operations

Flags = Annotated[
    str, SomeOf(("none", "reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "fast"))
]


# zeros that have the signs of their operands', and products that one instruction adds up
_SIGNED = frozenset(
    (Math.SQRT, Arith.MULF, Arith.NEGF, Arith.EXTF, Arith.TRUNCF, Arith.ADDF, Arith.SUBF)
)
_NORMAL = 2.0**-126  # the least of f32


def insert_fast_math(
    root: ir.Operation,
    *,
    flags: Flags = "reassoc+contract+arcp+afn+nsz",
    long: Annotated[int, Range(0, 1_000_000_000)] = 2000,
    signed_divisors: bool = False,
) -> None:
    """Give float operations fast-math flags, except those marked exact. NaN and infinity keep their
    meaning.

    In code of more operations than `long`, products of derivatives and sums stay in order, and
    zeros keep their signs. With `signed-divisors` zeros that something is divided by keep theirs
    in any code: LLVM's NVPTX target makes -(x * x - 1) of 1 - x * x, and of infinity its negative.
    """
    everything, ops = flags.split("+"), list(operations(root))
    if len(ops) > long:
        # without signs LLVM's code for x86 tries for each FMA what negating those in front costs,
        # six deep: 2 ms
        everything = [flag for flag in everything if flag != "nsz"]
    fast, no_powi, no_estimate, in_order = (
        fast_math([f for f in everything if f not in without])
        for without in ((), ("afn",), ("afn", "arcp"), ("reassoc",))
    )
    for op in ops:
        if not rounds(op) or EXACT in op.attributes or not is_marked(op):
            continue
        if len(ops) > long and _is_chained(op):
            # a chain of adjoints: LLVM's combiner of machine code takes the square of its length
            op.attributes["fastmath"] = in_order
        else:
            # LLVM makes an approximate power of an integer exponent a call of compiler-rt's
            # __powisf2, which is not there.
            op.attributes["fastmath"] = (
                no_powi if op.name == Math.POWF else no_estimate if _needs_infinity(op) else fast
            )
    if signed_divisors:
        _keep_signs_of_divisors(ops)


def _is_chained(op: ir.Operation) -> bool:
    """Return whether an op is a product of a derivative, or a sum that no loop goes on with: with a
    product it becomes one op, and long ones of those are as dear."""
    if op.name in (Arith.ADDF, Arith.SUBF):
        return not any(use.owner.operation.name == Scf.YIELD for use in op.results[0].uses)
    return op.name == Arith.MULF and is_of_derivative(op)


def _needs_infinity(op: ir.Operation) -> bool:
    """Return whether an op divides by a square root that may be 0: its estimate, refined, would be
    NaN there."""
    if op.name == Math.RSQRT:
        return not _is_raised(op.operands[0])
    if op.name != Arith.DIVF or isinstance(op.operands[1], ir.BlockArgument):
        return False
    divisor = op.operands[1].owner.operation
    return divisor.name == Math.SQRT and not _is_raised(divisor.operands[0])


def _keep_signs_of_divisors(ops: Sequence[ir.Operation]) -> None:
    """Take `nsz` from what becomes a divisor, of ops in their order."""
    signed = set[ir.Value]()
    for op in reversed(ops):
        if op.name == Arith.DIVF:
            signed.add(op.operands[1])
        elif op.name == Math.RSQRT or (op.name in _SIGNED and op.results[0] in signed):
            signed.update(op.operands)
        if len(op.results) == 1 and op.results[0] in signed:
            forbid(op, "nsz")


def _is_raised(value: ir.Value) -> bool:
    """Return whether a value is a sum with a positive constant, as in `sqrt(r.dot(r) + eps)`;
    estimates take smaller numbers for 0."""
    if isinstance(value, ir.BlockArgument) or value.owner.operation.name != Arith.ADDF:
        return False
    constants = map(constant_float, value.owner.operation.operands)
    return any(constant is not None and constant >= _NORMAL for constant in constants)
