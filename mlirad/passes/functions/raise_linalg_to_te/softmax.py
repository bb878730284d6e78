"""`linalg.softmax`: its quotients do not depend on what is subtracted, so no derivative passes
through the maximum."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Math
from mlirad.ir.walk import owner_operation
from mlirad.passes.functions.raise_linalg_to_te.definitions import Definitions, tensor_type


def define_softmax(op: ir.Operation, definitions: Definitions) -> None:
    """Define the powers of e, less the maximum, and their shares of their sum."""
    source, type_ = definitions.tensor(op.operands[0]), tensor_type(op.results[0].type)
    axis, element = ir.IntegerAttr(op.attributes["dimension"]).value, type_.element_type
    extent = type_.shape[axis]
    rows = ir.RankedTensorType.get([e for a, e in enumerate(type_.shape) if a != axis], element)

    def combined(tensor: ir.Value, kind: te.ReduceKind, combiner: str, identity: float) -> ir.Value:
        def fill(indices: list[ir.Value]) -> ir.Value:
            return te.reduce(
                kind,
                [(b.index(0), b.index(extent))],
                [b.number(identity, element)],
                lambda k: [te.read(tensor, [*indices[:axis], *k, *indices[axis:]])],
                lambda a, c: [b.make(combiner, element, [a[0], c[0]])],
            )[0]

        return te.compute(f"softmax.{kind}", rows, [], fill)

    def with_rows(name: str, tensor: ir.Value, by_rows: ir.Value, at: list[ir.Value]) -> ir.Value:
        row = te.read(by_rows, [*at[:axis], *at[axis + 1 :]])
        return b.make(name, element, [te.read(tensor, at), row])

    greatest = combined(source, te.ReduceKind.MAX, Arith.MAXIMUMF, float("-inf"))
    owner_operation(greatest).attributes[te.STOP] = ir.UnitAttr.get()
    powers = te.compute(
        "softmax.powers",
        type_,
        [],
        lambda at: b.make(Math.EXP, element, [with_rows(Arith.SUBF, source, greatest, at)]),
    )
    sums = combined(powers, te.ReduceKind.SUM, Arith.ADDF, 0.0)
    definitions.define(op.results[0], lambda at: with_rows(Arith.DIVF, powers, sums, at), op.name)
