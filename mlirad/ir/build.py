"""One-line creation of the upstream ops that passes emit."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce

from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind
from mlirad.ir.elementwise import binary, conversion, ternary, unary
from mlirad.ir.ops import Arith, Builtin, Func, Llvm, Math, Memref, Scf
from mlirad.ir.structured import For, If, Parallel, While


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
OEQ, OGT, OGE, OLT, OLE, ONE, UEQ, UNO = 1, 2, 3, 4, 5, 6, 8, 14
UNORDERED_GT, UNORDERED_LT, UNE = 9, 11, 13


def make(
    name: str, result: ir.Type, operands: Sequence[ir.Value], **attributes: ir.Attribute
) -> ir.Value:
    """An op with one result."""
    return ir.Operation.create(name, [result], operands, attributes).result


def effect(name: str, operands: Sequence[ir.Value], **attributes: ir.Attribute) -> ir.Operation:
    """An op without results."""
    return ir.Operation.create(name, [], operands, attributes)


# of integers
add, sub, mul = binary(Arith.ADDI), binary(Arith.SUBI), binary(Arith.MULI)
div, rem = binary(Arith.DIVUI), binary(Arith.REMUI)  # of numbers that are not negative
floordivsi, ceildivsi = binary(Arith.FLOORDIVSI), binary(Arith.CEILDIVSI)
divsi, remsi = binary(Arith.DIVSI), binary(Arith.REMSI)
minsi, maxsi = binary(Arith.MINSI), binary(Arith.MAXSI)
minui, maxui = binary(Arith.MINUI), binary(Arith.MAXUI)
andi, ori, xori = binary(Arith.ANDI), binary(Arith.ORI), binary(Arith.XORI)
shli, shrsi, shrui = binary(Arith.SHLI), binary(Arith.SHRSI), binary(Arith.SHRUI)
# of floats
addf, subf = binary(Arith.ADDF), binary(Arith.SUBF)
mulf, divf = binary(Arith.MULF), binary(Arith.DIVF)
negf, fma = unary(Arith.NEGF), ternary(Math.FMA)
absf, floor, sqrt = unary(Math.ABSF), unary(Math.FLOOR), unary(Math.SQRT)
# of a condition and two values
select = ternary(Arith.SELECT)

extf, truncf = conversion(Arith.EXTF), conversion(Arith.TRUNCF)
extsi, extui, trunci = map(conversion, (Arith.EXTSI, Arith.EXTUI, Arith.TRUNCI))
sitofp, uitofp = conversion(Arith.SITOFP), conversion(Arith.UITOFP)
fptosi, fptoui = conversion(Arith.FPTOSI), conversion(Arith.FPTOUI)
index_cast, index_castui = conversion(Arith.INDEX_CAST), conversion(Arith.INDEX_CASTUI)
bitcast, unrealized_cast = conversion(Arith.BITCAST), conversion(Builtin.UNREALIZED_CONVERSION_CAST)
ptrtoint, inttoptr = conversion(Llvm.PTRTOINT), conversion(Llvm.INTTOPTR)


def to_index(value: ir.Value) -> ir.Value:
    """Convert an integer to `index`."""
    return index_cast(value, index_type())


def index(value: int) -> ir.Value:
    """An `index` constant."""
    return make(Arith.CONSTANT, index_type(), [], value=ir.IntegerAttr.get(index_type(), value))


def number(value: float, type_: ir.Type) -> ir.Value:
    """A constant of a float, integer or index type; of a vector type the same in all elements."""
    return make(Arith.CONSTANT, type_, [], value=_constant(value, type_))


def _constant(value: float, type_: ir.Type) -> ir.Attribute:
    if isinstance(type_, ir.VectorType):
        return ir.DenseElementsAttr.get_splat(type_, _constant(value, type_.element_type))
    if isinstance(type_, ir.IntegerType | ir.IndexType):
        return ir.IntegerAttr.get(type_, int(value))
    return ir.FloatAttr.get(type_, value)


def llvm_constant(value: int, type_: ir.Type) -> ir.Value:
    """An integer constant of LLVM's dialect."""
    return make(Llvm.MLIR_CONSTANT, type_, [], value=ir.IntegerAttr.get(type_, value))


def compare(kind: int, a: ir.Value, b: ir.Value) -> ir.Value:
    """A comparison of integers, or of the elements of vectors."""
    return _compare(Arith.CMPI, kind, a, b)


def compare_floats(kind: int, a: ir.Value, b: ir.Value, **attributes: ir.Attribute) -> ir.Value:
    """A comparison of floats, or of the elements of vectors."""
    return _compare(Arith.CMPF, kind, a, b, **attributes)


def is_nan_anywhere(values: Sequence[ir.Value]) -> ir.Value:
    """Return whether one of some floats is a NaN; of vectors, for each lane."""
    bit, tests = integer_type(1), list[ir.Value]()
    alike: dict[ir.Type, list[ir.Value]] = {}
    for value in values:
        alike.setdefault(value.type, []).append(value)
    for group in alike.values():
        for left, right in zip(group[::2], [*group[1::2], group[-1]]):
            tests.append(compare_floats(UNO, left, right))
    return reduce(ori, tests) if tests else number(0, bit)


def _compare(
    name: str, kind: int, a: ir.Value, b: ir.Value, **attributes: ir.Attribute
) -> ir.Value:
    result = with_element(a.type, integer_type(1))
    return make(name, result, [a, b], predicate=predicate(kind), **attributes)


def predicate_of(comparison: ir.Operation) -> int:
    """The predicate of a comparison."""
    return ir.IntegerAttr(comparison.attributes["predicate"]).value


def element_of(type_: ir.Type) -> ir.Type:
    """The type of a vector's elements, or of a scalar."""
    return type_.element_type if isinstance(type_, ir.VectorType) else type_


def with_element(type_: ir.Type, element: ir.Type) -> ir.Type:
    """The type of as many elements of another type."""
    return ir.VectorType.get(type_.shape, element) if isinstance(type_, ir.VectorType) else element


def all_of(conditions: Sequence[ir.Value]) -> ir.Value:
    """The conjunction of conditions, of which there is one at least."""
    return reduce(andi, conditions)


def is_float(type_: ir.Type) -> bool:
    """Return whether a type is a float type."""
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
    op = ir.Operation.create(Scf.FOR, types, [lower, upper, step, *initial], regions=1)
    block(op, 0, [lower.type, *types])
    return For(op)


def while_loop(
    initial: Sequence[ir.Value],
    results: Sequence[ir.Type] = (),
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> While:
    """`scf.while`; the caller fills its blocks."""
    op = ir.Operation.create(Scf.WHILE, results, initial, attributes, regions=2)
    block(op, 0, [v.type for v in initial])
    block(op, 1, results)
    return While(op)


def if_else(condition: ir.Value, results: Sequence[ir.Type], with_else: bool = True) -> If:
    """`scf.if`; the caller fills its blocks and yields."""
    op = ir.Operation.create(Scf.IF, list(results), [condition], regions=2)
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
    attributes = {**(attributes or {}), "operandSegmentSizes": sizes}
    op = ir.Operation.create(Scf.PARALLEL, [], [*lower, *upper, *steps], attributes, regions=1)
    block(op, 0, [index_type()] * rank)
    return Parallel(op)


def yield_(values: Sequence[ir.Value] = ()) -> None:
    """`scf.yield`."""
    effect(Scf.YIELD, values)


def go_on_if(condition: ir.Value, passed: Sequence[ir.Value] = ()) -> None:
    """`scf.condition`, the end of the first block of a while loop."""
    effect(Scf.CONDITION, [condition, *passed])


def end_parallel() -> None:
    """`scf.reduce` of nothing, the end of the body of a parallel loop."""
    effect(Scf.REDUCE, [])


def slot(type_: ir.Type) -> ir.Value:
    """A scalar in memory, for `mem2reg`."""
    return alloca(ir.MemRefType.get([], type_))


def alloca(type_: ir.Type, **attributes: ir.Attribute) -> ir.Value:
    """Memory of known size on the stack."""
    return _memory(Memref.ALLOCA, type_, (), **attributes)


def alloc(type_: ir.Type, sizes: Sequence[ir.Value] = (), **attributes: ir.Attribute) -> ir.Value:
    """Memory on the heap; `sizes` are those that the type leaves open."""
    return _memory(Memref.ALLOC, type_, sizes, **attributes)


def _memory(
    name: str, type_: ir.Type, sizes: Sequence[ir.Value], **attributes: ir.Attribute
) -> ir.Value:
    segments = ir.DenseI32ArrayAttr.get([len(sizes), 0])
    return make(name, type_, sizes, operandSegmentSizes=segments, **attributes)


def dealloc(memory: ir.Value) -> ir.Operation:
    """Give memory back."""
    return effect(Memref.DEALLOC, [memory])


def read(
    memory: ir.Value, indices: Sequence[ir.Value] = (), **attributes: ir.Attribute
) -> ir.Value:
    """`memref.load`."""
    element = ir.MemRefType(memory.type).element_type
    return make(Memref.LOAD, element, [memory, *indices], **attributes)


def write(
    value: ir.Value, memory: ir.Value, indices: Sequence[ir.Value] = (), **attributes: ir.Attribute
) -> None:
    """`memref.store`."""
    effect(Memref.STORE, [value, memory, *indices], **attributes)


def plus(a: ir.Value, b: ir.Value) -> ir.Value:
    """The sum of floats; if one is an opposite, the difference: `canonicalize` makes the same, and
    drops the marks of the sum."""
    for value, other in ((b, a), (a, b)):
        if not isinstance(value, ir.BlockArgument) and value.owner.name == Arith.NEGF:
            return subf(other, value.owner.operands[0])
    return addf(a, b)


def combine(kind: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """The result of an atomic kind on two values."""
    if kind == AtomicKind.EXCHANGE:
        return b
    return (_ON_FLOATS if is_float(a.type) else _ON_INTEGERS)[kind](a, b)


# as the frontend does: a tie gives the second operand
_ON_FLOATS: dict[str, Callable[[ir.Value, ir.Value], ir.Value]] = {
    AtomicKind.ADD: plus,
    AtomicKind.MUL: mulf,
    AtomicKind.MIN: lambda a, b: select(compare_floats(OLT, a, b), a, b),
    AtomicKind.MAX: lambda a, b: select(compare_floats(OGT, a, b), a, b),
}
_ON_INTEGERS: dict[str, Callable[[ir.Value, ir.Value], ir.Value]] = {
    AtomicKind.ADD: add,
    AtomicKind.MUL: mul,
    AtomicKind.MIN: minsi,
    AtomicKind.MAX: maxsi,
    AtomicKind.MINU: minui,
    AtomicKind.MAXU: maxui,
    AtomicKind.AND: andi,
    AtomicKind.OR: ori,
    AtomicKind.XOR: xori,
}


def llvm_call(
    name: str, operands: Sequence[ir.Value], results: Sequence[ir.Type] = ()
) -> ir.Operation:
    """`llvm.call`, of a function or, without a name, of the first operand."""
    attributes = _without_bundles(operands)
    if name:
        attributes["callee"] = ir.FlatSymbolRefAttr.get(name)
    return ir.Operation.create(Llvm.CALL, results, operands, attributes)


def call_intrinsic(name: str, operands: Sequence[ir.Value], type_: ir.Type) -> ir.Value:
    """The result of a function of LLVM."""
    intrin = ir.StringAttr.get(f"llvm.{name}")
    return make(Llvm.CALL_INTRINSIC, type_, operands, intrin=intrin, **_without_bundles(operands))


def _without_bundles(operands: Sequence[ir.Value]) -> dict[str, ir.Attribute]:
    return {
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
    }


def function(
    name: str,
    inputs: Sequence[ir.Type],
    results: Sequence[ir.Type] = (),
    attributes: Mapping[str, ir.Attribute] | None = None,
    *,
    is_private: bool = True,
) -> ir.Operation:
    """`func.func`; the caller fills its block."""
    everything = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, results)),
        **({"sym_visibility": ir.StringAttr.get("private")} if is_private else {}),
        **(attributes or {}),
    }
    op = ir.Operation.create(Func.FUNC, [], [], everything, regions=1)
    block(op, 0, inputs)
    return op


def function_like(
    old: ir.Operation,
    inputs: Sequence[ir.Type],
    results: Sequence[ir.Type],
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> ir.Operation:
    """`func.func` in front of another, with its attributes except its type and those given; the
    caller fills its block."""
    name = ir.StringAttr(old.attributes["sym_name"]).value
    copied = {
        key: old.attributes[key]
        for key in old.attributes
        if key not in ("function_type", "res_attrs")
    }
    with ir.InsertionPoint(old), old.location:
        return function(name, inputs, results, {**copied, **(attributes or {})}, is_private=False)


def return_(values: Sequence[ir.Value] = ()) -> ir.Operation:
    """`func.return`."""
    return effect(Func.RETURN, values)


def call(name: str, operands: Sequence[ir.Value], results: Sequence[ir.Type] = ()) -> ir.Operation:
    """`func.call`."""
    callee = {"callee": ir.FlatSymbolRefAttr.get(name)}
    return ir.Operation.create(Func.CALL, results, operands, callee)
