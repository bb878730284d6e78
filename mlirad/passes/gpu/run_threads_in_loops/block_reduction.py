"""A value of all threads of a block, made of one from each."""

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import at_end, block_operations, clone

_INTEGERS = {
    "add": Arith.ADDI,
    "mul": Arith.MULI,
    "minsi": Arith.MINSI,
    "minui": Arith.MINUI,
    "maxsi": Arith.MAXSI,
    "maxui": Arith.MAXUI,
    "and": Arith.ANDI,
    "or": Arith.ORI,
    "xor": Arith.XORI,
}
_FLOATS = {
    "add": Arith.ADDF,
    "mul": Arith.MULF,
    "minnumf": Arith.MINNUMF,
    "maxnumf": Arith.MAXNUMF,
    "minimumf": Arith.MINIMUMF,
    "maximumf": Arith.MAXIMUMF,
}


def reduce_over_threads(op: ir.Operation, buffer: ir.Value, count: ir.Value) -> ir.Value:
    """Return what a `gpu.all_reduce` makes of the values in a buffer, the first one first."""
    unit = b.index(1)
    loop = b.for_loop(unit, count, unit, [b.read(buffer, [b.index(0)])])
    with at_end(loop.body, op.location):
        value = b.read(buffer, [loop.induction])
        b.yield_([_combine(op, loop.carried[0], value)])
    return loop.op.result


def _combine(op: ir.Operation, a: ir.Value, c: ir.Value) -> ir.Value:
    if len(op.regions[0].blocks):
        return _inline(op.regions[0].blocks[0], a, c)
    kind = str(op.attributes["op"]).rpartition(" ")[2].rstrip(">")
    names = _FLOATS if b.is_float(a.type) else _INTEGERS
    if kind not in names:
        refuse(op, f"'{kind}' of values of type '{a.type}'")
    return b.make(names[kind], a.type, [a, c])


def _inline(block: ir.Block, a: ir.Value, c: ir.Value) -> ir.Value:
    """The result of a region, whose operations are copied."""
    copies: dict[ir.Value, ir.Value] = dict(zip(block.arguments, (a, c)))
    *body, last = block_operations(block)
    for op in body:
        clone(op, copies)
    return copies.get(last.operands[0], last.operands[0])
