"""Rules of ops of sample.irdl that are wrong, each in its way."""

from torch_mlir.dialects import arith, math, memref, scf
from torch_mlir.ir import F32Type, IndexType, InsertionPoint, MemRefType, Operation

import mlirad as ti
from mlirad.mlir.terms import t


@ti.mlir.derivative("sample.holder")
def holder(op, tangents):
    return tangents


@ti.mlir.derivative("sample.leaky")
def two_values(op, tangents):
    return [*tangents, *tangents]


@ti.mlir.derivative("sample.cubed")
def another_type(op, tangents):
    return arith.truncf(F32Type.get(), tangents[0])


@ti.mlir.derivative("sample.exponential")
def not_linear(op, tangents):
    return math.exp(tangents[0])


@ti.mlir.derivative("sample.root")
def square(op, tangents):
    return arith.mulf(tangents[0], tangents[0])


@ti.mlir.derivative("sample.unruled")
def affine(op, tangents):
    return arith.addf(tangents[0], op.operands[0])


@ti.mlir.derivative("sample.hypot3")
def loop(op, tangents):
    bounds = [arith.constant(IndexType.get(), k) for k in (0, 2, 1)]
    repeated = scf.ForOp(*bounds, [tangents[0]])
    with InsertionPoint(repeated.body):
        scf.yield_([repeated.inner_iter_args[0]])
    return repeated.results[0]


@ti.mlir.derivative("sample.polar")
def memory(op, tangents):
    memref.alloca(MemRefType.get([], tangents[0].type), [], [])
    return tangents


@ti.mlir.derivative("sample.larger")
def raises(op, tangents):
    return op.attributes["no"]


ti.mlir.derivative("sample.widened_product", partials="nowhere")
ti.mlir.derivative("sample.complex_power", (t, t))
ti.mlir.derivative("sample.scaled", (t, t, None))
ti.mlir.derivative("sample.swish", (t, t))


@ti.mlir.lowering("sample.steps")
def itself(op):
    (operand,) = op.operands
    return Operation.create("sample.steps", [operand.type], [operand]).result
