"""Rules and lowerings of the ops of sample.irdl, in all forms."""

from torch_mlir.dialects import arith, math, scf
from torch_mlir.ir import FloatAttr, IndexType, InsertionPoint, IntegerType

import mlirad as ti
from mlirad.mlir.terms import OGT, exp, r, sqrt, t, where, x, y, z

# terms, as in the table of mlirad
SIGMOID = 1.0 / (exp(-x) + 1.0)
ti.mlir.lowering("sample.swish", x * SIGMOID, elementwise=True)
ti.mlir.derivative("sample.swish", t * (SIGMOID + r * (1.0 + -SIGMOID)))

ti.mlir.lowering("sample.hypot3", sqrt(x * x + y * y + z * z))
ti.mlir.derivative("sample.hypot3", (t * x / r, t * y / r, t * z / r))

ti.mlir.lowering("sample.widened_product", "@widened_product")


# a linear map, whose transpose is derived
@ti.mlir.lowering("sample.polar", elementwise=True)
def polar(op):
    a, b = op.operands
    squares = arith.addf(arith.mulf(a, a), arith.mulf(b, b))
    return math.sqrt(squares), math.atan2(b, a)


@ti.mlir.derivative("sample.polar")
def polar_tangents(op, tangents):
    (a, b), (radius, _), (ta, tb) = op.operands, op.results, tangents
    along = arith.divf(arith.addf(arith.mulf(a, ta), arith.mulf(b, tb)), radius)
    across = arith.divf(arith.subf(arith.mulf(a, tb), arith.mulf(b, ta)), radius)
    return along, arith.divf(across, radius)


# partial derivatives in a function
@ti.mlir.lowering("sample.complex_power")
def complex_square(op):
    a, b = op.operands
    product = arith.mulf(a, b)
    return arith.subf(arith.mulf(a, a), arith.mulf(b, b)), arith.addf(product, product)


def complex_square_partials(op):
    a, b = op.operands
    twice, more = arith.addf(a, a), arith.addf(b, b)
    return [twice, arith.negf(more), more, twice]


ti.mlir.derivative("sample.complex_power", partials=complex_square_partials)


# an attribute
def slope_of(op):
    slope = FloatAttr(op.attributes["slope"]).value
    return arith.constant(op.operands[0].type, slope)


@ti.mlir.lowering("sample.leaky")
def leaky(op):
    (a,) = op.operands
    zero = arith.constant(a.type, 0.0)
    return arith.select(arith.cmpf(2, a, zero), a, arith.mulf(a, slope_of(op)))


@ti.mlir.derivative("sample.leaky")
def leaky_tangent(op, tangents):
    (a,), (tangent,) = op.operands, tangents
    zero = arith.constant(a.type, 0.0)
    return arith.select(arith.cmpf(2, a, zero), tangent, arith.mulf(tangent, slope_of(op)))


# a rule that reads the result, and so is its own derivative
ti.mlir.lowering("sample.exponential", exp(x))
ti.mlir.derivative("sample.exponential", (t * r,))
ti.mlir.lowering(
    "sample.root", sqrt(x), elementwise=True
)  # and no derivative: that of its lowering


# a pair, with a loop
@ti.mlir.lowering("sample.cubed")
def cubed(op):
    return repeated_product(op.operands[0], op.operands[0], 2)


def repeated_product(start, factor, times):
    """`start * factor ** times`, by a loop."""
    bounds = [arith.constant(IndexType.get(), k) for k in (0, times, 1)]
    loop = scf.ForOp(*bounds, [start])
    with InsertionPoint(loop.body):
        scf.yield_([arith.mulf(loop.inner_iter_args[0], factor)])
    return loop.results[0]


def cubed_slope(op, along):
    three = arith.constant(op.operands[0].type, 3.0)
    return arith.mulf(repeated_product(three, op.operands[0], 2), along[0])


ti.mlir.derivative("sample.cubed", cubed_slope, cubed_slope)


# integers
@ti.mlir.lowering("sample.scaled", elementwise=True)
def scaled(op):
    k, a, flag = op.operands
    factor = arith.sitofp(a.type, k)
    return arith.select(arith.trunci(integer(1), flag), arith.mulf(a, factor), a)


def integer(bits):
    return IntegerType.get_signless(bits)


@ti.mlir.derivative("sample.scaled")
def scaled_tangent(op, tangents):
    k, a, flag = op.operands
    factor = arith.sitofp(a.type, k)
    (tangent,) = tangents
    return arith.select(arith.trunci(integer(1), flag), arith.mulf(tangent, factor), tangent)


@ti.mlir.lowering("sample.larger")
def larger(op):
    a, b = op.operands
    first = arith.cmpf(2, a, b)
    position = arith.extui(integer(32), arith.xori(first, arith.constant(integer(1), 1)))
    return position, arith.select(first, a, b)


@ti.mlir.derivative("sample.larger")
def larger_tangent(op, tangents):
    """The operand that the first result says."""
    first = arith.cmpi(0, op.results[0], arith.constant(integer(32), 0))
    return arith.select(first, *tangents)


ti.mlir.derivative("sample.widened_product", partials="@widened_product_partials")
ti.mlir.lowering("sample.steps", where(OGT, x, 1.0, 2.0, 0.5))
ti.mlir.derivative("sample.steps", None)

SIGNATURES = {
    "sample.swish": ("(T) -> T", ""),
    "sample.hypot3": ("(T, T, T) -> T", ""),
    "sample.polar": ("(T, T) -> (T, T)", ""),
    "sample.complex_power": ("(T, T) -> (T, T)", ""),
    "sample.leaky": ("(T) -> T", "slope = 0.25 : T"),
    "sample.exponential": ("(T) -> T", ""),
    "sample.root": ("(T) -> T", ""),
    "sample.cubed": ("(T) -> T", ""),
    "sample.scaled": ("(i32, T, i32) -> T", ""),
    "sample.widened_product": ("(f32, f64) -> f64", ""),
    "sample.larger": ("(T, T) -> (i32, T)", ""),
}
