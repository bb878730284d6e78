"""One-line creation of the upstream ops that passes emit."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from mlirad.bindings import ir
from mlirad.ir.structured import (
    CONDITION,
    FOR,
    IF,
    PARALLEL,
    REDUCE,
    WHILE,
    YIELD,
    For,
    If,
    Parallel,
    While,
)


@lru_cache(maxsize=1)
def index_type() -> ir.Type:
    """MLIR's `index`."""
    return ir.IndexType.get()


@lru_cache(maxsize=16)
def integer_type(bits: int) -> ir.Type:
    """A signless integer type."""
    return ir.IntegerType.get_signless(bits)


@lru_cache(maxsize=64)
def predicate(number: int) -> ir.Attribute:
    """A comparison's predicate."""
    return ir.IntegerAttr.get(integer_type(64), number)


EQ, NE, SLT, SLE, SGT, SGE, ULT, ULE, UGT, UGE = range(10)
OEQ, OGT, OGE, OLT, OLE, ONE, UNO = 1, 2, 3, 4, 5, 6, 14
UNORDERED_GT, UNORDERED_LT, UNE = 9, 11, 13


def make(
    name: str, result: ir.Type, operands: Sequence[ir.Value], **attributes: ir.Attribute
) -> ir.Value:
    """An op with one result."""
    return ir.Operation.create(name, [result], operands, attributes).result


def effect(name: str, operands: Sequence[ir.Value], **attributes: ir.Attribute) -> ir.Operation:
    """An op without results."""
    return ir.Operation.create(name, [], operands, attributes)


def index(value: int) -> ir.Value:
    """An `index` constant."""
    return make("arith.constant", index_type(), [], value=ir.IntegerAttr.get(index_type(), value))


def number(value: float, type_: ir.Type) -> ir.Value:
    """A constant of a float, integer or index type; of a vector type the same in all elements."""
    return make("arith.constant", type_, [], value=_constant(value, type_))


def _constant(value: float, type_: ir.Type) -> ir.Attribute:
    if isinstance(type_, ir.VectorType):
        return ir.DenseElementsAttr.get_splat(type_, _constant(value, type_.element_type))
    if isinstance(type_, ir.IntegerType | ir.IndexType):
        return ir.IntegerAttr.get(type_, int(value))
    return ir.FloatAttr.get(type_, value)


def add(a: ir.Value, b: ir.Value) -> ir.Value:
    """`a + b` on index values."""
    return make("arith.addi", a.type, [a, b])


def sub(a: ir.Value, b: ir.Value) -> ir.Value:
    """`a - b` on index values."""
    return make("arith.subi", a.type, [a, b])


def mul(a: ir.Value, b: ir.Value) -> ir.Value:
    """`a * b` on index values."""
    return make("arith.muli", a.type, [a, b])


def div(a: ir.Value, b: ir.Value) -> ir.Value:
    """`a / b` on index values that are not negative."""
    return make("arith.divui", a.type, [a, b])


def compare(kind: int, a: ir.Value, b: ir.Value) -> ir.Value:
    """An integer comparison, of the elements of vectors too."""
    result = with_element(a.type, integer_type(1))
    return make("arith.cmpi", result, [a, b], predicate=predicate(kind))


def element_of(type_: ir.Type) -> ir.Type:
    """The type of a vector's elements, or of a scalar."""
    return type_.element_type if isinstance(type_, ir.VectorType) else type_


def with_element(type_: ir.Type, element: ir.Type) -> ir.Type:
    """The type of as many elements of another type."""
    return ir.VectorType.get(type_.shape, element) if isinstance(type_, ir.VectorType) else element


def all_of(conditions: Sequence[ir.Value]) -> ir.Value:
    """Whether all of some conditions hold, of which there is one at least."""
    result = conditions[0]
    for condition in conditions[1:]:
        result = make("arith.andi", result.type, [result, condition])
    return result


def is_float(type_: ir.Type) -> bool:
    """Whether a type is a float type."""
    return isinstance(type_, ir.FloatType)


def block(op: ir.Operation, region: int, arguments: Sequence[ir.Type] = ()) -> ir.Block:
    """The first block of a region, created with its arguments."""
    return ir.Block.create_at_start(
        op.regions[region], list(arguments), [op.location] * len(arguments)
    )


def for_loop(
    lower: ir.Value, upper: ir.Value, step: ir.Value, initial: Sequence[ir.Value] = ()
) -> For:
    """`scf.for`; the caller fills its body and yields."""
    types = [v.type for v in initial]
    op = ir.Operation.create(FOR, types, [lower, upper, step, *initial], regions=1)
    block(op, 0, [index_type(), *types])
    return For(op)


def while_loop(
    initial: Sequence[ir.Value],
    results: Sequence[ir.Type] = (),
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> While:
    """`scf.while`; the caller fills its blocks."""
    op = ir.Operation.create(WHILE, results, initial, attributes, regions=2)
    block(op, 0, [v.type for v in initial])
    block(op, 1, results)
    return While(op)


def if_else(condition: ir.Value, results: Sequence[ir.Type], with_else: bool = True) -> If:
    """`scf.if`; the caller fills its blocks and yields."""
    op = ir.Operation.create(IF, list(results), [condition], regions=2)
    block(op, 0)
    if with_else:
        block(op, 1)
    return If(op)


def parallel_loop(
    lower: Sequence[ir.Value],
    upper: Sequence[ir.Value],
    steps: Sequence[ir.Value],
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> Parallel:
    """`scf.parallel`; the caller fills its body and ends it."""
    rank = len(lower)
    sizes = ir.DenseI32ArrayAttr.get([rank, rank, rank, 0])
    given = {**(attributes or {}), "operandSegmentSizes": sizes}
    op = ir.Operation.create(PARALLEL, [], [*lower, *upper, *steps], given, regions=1)
    block(op, 0, [index_type()] * rank)
    return Parallel(op)


def yield_(values: Sequence[ir.Value] = ()) -> None:
    """`scf.yield`."""
    effect(YIELD, values)


def go_on_if(condition: ir.Value, passed: Sequence[ir.Value] = ()) -> None:
    """`scf.condition`, the end of the first block of a while loop."""
    effect(CONDITION, [condition, *passed])


def end_parallel() -> None:
    """`scf.reduce` of nothing, the end of the body of a parallel loop."""
    effect(REDUCE, [])


def slot(type_: ir.Type) -> ir.Value:
    """A scalar in memory, for `mem2reg`."""
    return make(
        "memref.alloca",
        ir.MemRefType.get([], type_),
        [],
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([0, 0]),
    )


def read(memory: ir.Value, indices: Sequence[ir.Value] = ()) -> ir.Value:
    """`memref.load`."""
    return make("memref.load", ir.MemRefType(memory.type).element_type, [memory, *indices])


def write(value: ir.Value, memory: ir.Value, indices: Sequence[ir.Value] = ()) -> None:
    """`memref.store`."""
    effect("memref.store", [value, memory, *indices])


def combine(kind: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """The result of an atomic kind on two values."""
    if kind == "exchange":
        return b
    if is_float(a.type):
        if kind in ("min", "max"):  # as the frontend does: a tie gives the second operand
            test = make(
                "arith.cmpf",
                integer_type(1),
                [a, b],
                predicate=predicate(OLT if kind == "min" else OGT),
            )
            return make("arith.select", a.type, [test, a, b])
        return make({"add": "arith.addf", "mul": "arith.mulf"}[kind], a.type, [a, b])
    names = {
        "add": "addi",
        "mul": "muli",
        "min": "minsi",
        "max": "maxsi",
        "minu": "minui",
        "maxu": "maxui",
        "and": "andi",
        "or": "ori",
        "xor": "xori",
    }
    return make(f"arith.{names[kind]}", a.type, [a, b])
