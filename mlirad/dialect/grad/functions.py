"""Functions whose derivatives are asked for, or given."""

from collections.abc import Iterable, Sequence
from typing import Any

from mlirad.bindings import I64, ext, ir
from mlirad.dialect.effects import OfRegions
from mlirad.dialect.grad.stacks import Grad
from mlirad.dialect.view import View


class YieldOp(View, dialect=Grad, name="yield", traits=[ir.IsTerminatorTrait], effects=[]):
    """The results of a region of this dialect, all of the same type. `grad.yield %r : f32`"""

    values: Sequence[ext.Operand[Any]]

    def problem(self) -> str | None:
        parent = self.operation.parent
        if parent is None or not parent.name.startswith("grad."):
            return "'grad.yield' stands outside a region of its dialect"
        return None


class DetachOp(View, dialect=Grad, name="detach", traits=[ext.Pure]):
    """A float that carries no derivative (`ti.stop_grad`). `%c = grad.detach %x : f32`"""

    value: ext.Operand[Any]
    result: ext.Result[Any]

    def problem(self) -> str | None:
        operand, result = self.operation.operands[0].type, self.operation.results[0].type
        if isinstance(operand, ir.FloatType) and operand == result:
            return None
        return f"a value of type {result} for one of type {operand}, expected the same float type"


class DualOp(View, dialect=Grad, name="dual", traits=[OfRegions]):
    """A function in its region, with derivatives along `directions` tangents. The results are the
    values, then one tangent per direction.

    Operands are floats of one type: the primals, then their tangents, direction by direction.
    Values that the region uses from outside are constant. Results are floats of one type.

    `%y, %dy = "grad.dual"(%x, %dx) ({...}) {directions = 1} : (f32, f32) -> (f32, f32)`
    """

    inputs: Sequence[ext.Operand[Any]]
    outputs: Sequence[ext.Result[Any]]
    directions: ir.IntegerAttr
    body: ext.Region

    def problem(self) -> str | None:
        return _problem_of_dual(self.operation)


def _problem_of_dual(op: ir.Operation) -> str | None:
    attribute = op.attributes["directions"]
    if not isinstance(attribute, ir.IntegerAttr) or ir.IntegerAttr(attribute).value < 1:
        return f"{attribute} directions, expected one or more"
    if len(op.regions[0].blocks) != 1:
        return f"'grad.dual' holds {len(op.regions[0].blocks)} blocks, expected one"
    count, body = 1 + ir.IntegerAttr(attribute).value, op.regions[0].blocks[0]
    last = list(body.operations)[-1].operation if len(body.operations) else None
    if last is None or not YieldOp.holds(last):
        return "the region of 'grad.dual' ends in no 'grad.yield'"
    sides = (("operand", op.operands, body.arguments), ("result", op.results, last.operands))
    for name, values, inner in sides:
        outer, expected = [str(v.type) for v in values], [str(v.type) for v in inner]
        if any(not isinstance(v.type, ir.FloatType) for v in inner):
            return f"{name}s of types {', '.join(expected)}, expected floats"
        if len(outer) != count * len(expected) or outer != expected * count:
            return (
                f"{name}s of types ({', '.join(outer)}), expected {count} times "
                f"({', '.join(expected)})"
            )
    return None


class CustomOp(View, dialect=Grad, name="custom", traits=[ext.Pure, ir.IsIsolatedFromAboveTrait]):
    """A function with its own derivatives: regions for its value, its transposed derivative, and
    its derivative.

    Arguments are floats of one type, then integers as i64; results are floats of one type. `primal`
    takes the arguments and yields the results. `vjp` takes the arguments, the results and their
    adjoints, and yields an adjoint for each float argument; `jvp` takes the arguments, the results
    and a tangent for each float argument, and yields a tangent for each result. One of these two
    may be empty; if both are, the function cannot be differentiated.

    `%y = "grad.custom"(%x) ({...}, {...}, {}) {function = "f", operandSegmentSizes =
    array<i32: 1, 0>} : (f32) -> f32`
    """

    floats: Sequence[ext.Operand[Any]]
    integers: Sequence[ext.Operand[I64]]
    values: Sequence[ext.Result[Any]]
    function: ir.StringAttr
    primal: ext.Region
    vjp: ext.Region
    jvp: ext.Region

    def problem(self) -> str | None:
        return _problem_of_custom(self.operation)


def _problem_of_custom(op: ir.Operation) -> str | None:
    arguments, results = [v.type for v in op.operands], [v.type for v in op.results]
    floats: list[ir.Type] = [t for t in arguments if isinstance(t, ir.FloatType)]
    if len(floats) != ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0]:
        return f"arguments of types ({_join(arguments)}), expected floats, then integers"
    if not results or not isinstance(results[0], ir.FloatType):
        return f"results of types ({_join(results)}), expected floats"
    sides = {
        "primal": (arguments, results),
        "vjp": (arguments + results + results, floats),
        "jvp": (arguments + results + floats, results),
    }
    for region, (name, (inputs, outputs)) in zip(op.regions, sides.items()):
        if not len(region.blocks) and name != "primal":
            continue
        if len(region.blocks) != 1:
            return (
                f"region '{name}' of 'grad.custom' holds {len(region.blocks)} blocks, expected one"
            )
        body = region.blocks[0]
        last = list(body.operations)[-1].operation
        if not YieldOp.holds(last):
            return f"region '{name}' of 'grad.custom' ends in no 'grad.yield'"
        takes, yields = [v.type for v in body.arguments], [v.type for v in last.operands]
        for what, types, expected in (("takes", takes, inputs), ("yields", yields, outputs)):
            if types != expected:
                return f"region '{name}' {what} ({_join(types)}), expected ({_join(expected)})"
    return None


def _join(types: Iterable[ir.Type]) -> str:
    return ", ".join(map(str, types))


def detach(value: ir.Value) -> ir.Value:
    """`grad.detach`."""
    return ir.Operation.create(DetachOp.OPERATION_NAME, [value.type], [value]).results[0]


def yield_(values: Sequence[ir.Value]) -> None:
    """`grad.yield`."""
    ir.Operation.create(YieldOp.OPERATION_NAME, [], values)
