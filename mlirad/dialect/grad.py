"""What differentiation leaves behind: values kept for the reverse sweep, until a pass decides where
they live."""

from collections.abc import Iterable, Sequence
from typing import Any

from mlirad.bindings import I64, ext, ir
from mlirad.dialect.field import array_of, is_array


class Grad(ext.Dialect, name="grad"):
    """Values saved for the reverse sweep."""


class StackType(Grad.Type, name="stack"):
    """Slots for one value an iteration. `!grad.stack<f32>`"""

    element: ir.TypeAttr


class AllocOp(Grad.Operation, name="alloc"):
    """As many slots as a loop has iterations. `%s = "grad.alloc"(%trips) : (index) ->
    !grad.stack<f32>`"""

    trips: ext.Operand[ir.IndexType]
    stack: ext.Result[Any]

    def verify_region_invariants(self) -> bool:
        return _check_stack(self.operation, self.operation.results[0].type)


class PushOp(Grad.Operation, name="push"):
    """Keep the value of iteration `trip`. `"grad.push"(%v, %s, %k) : (f32, !grad.stack<f32>, index)
    -> ()`"""

    value: ext.Operand[Any]
    stack: ext.Operand[Any]
    trip: ext.Operand[ir.IndexType]

    def verify_region_invariants(self) -> bool:
        return _check_element(
            self.operation, self.operation.operands[0].type, self.operation.operands[1].type
        )


class PopOp(Grad.Operation, name="pop"):
    """Give back the value of iteration `trip`. `%v = "grad.pop"(%s, %k) : (!grad.stack<f32>, index)
    -> f32`"""

    stack: ext.Operand[Any]
    trip: ext.Operand[ir.IndexType]
    value: ext.Result[Any]

    def verify_region_invariants(self) -> bool:
        return _check_element(
            self.operation, self.operation.results[0].type, self.operation.operands[0].type
        )


class FreeOp(Grad.Operation, name="free"):
    """The reverse sweep is past the loop. `"grad.free"(%s) : (!grad.stack<f32>) -> ()`"""

    stack: ext.Operand[Any]

    def verify_region_invariants(self) -> bool:
        return _check_stack(self.operation, self.operation.operands[0].type)


def stack_type(element: ir.Type) -> ir.Type:
    """The type of a stack of one element type."""
    return StackType.get(ir.TypeAttr.get(element))


def stack_element(type_: ir.Type) -> ir.Type:
    """The element type of a stack."""
    return ir.Type.parse(str(type_)[len("!grad.stack<") : -1])


def _check_stack(op: ir.Operation, type_: ir.Type) -> bool:
    if not str(type_).startswith("!grad.stack<"):
        op.location.emit_error(f"{type_} is not a stack")
        return False
    return True


def _check_element(op: ir.Operation, value: ir.Type, stack: ir.Type) -> bool:
    if str(stack) != f"!grad.stack<{value}>":
        op.location.emit_error(f"value of type {value} in {stack}")
        return False
    return True


class LogType(Grad.Type, name="log"):
    """Overwritten elements of one array, last first: an element type and a rank. `!grad.log<f32,
    2>`"""

    element: ir.TypeAttr
    rank: ir.IntegerAttr


class OpenOp(Grad.Operation, name="open"):
    """An empty log. `%l = "grad.open"() : () -> !grad.log<f32, 1>`"""

    log: ext.Result[Any]

    def verify_region_invariants(self) -> bool:
        return _check_log(self.operation, self.operation.results[0].type)


class RecordOp(Grad.Operation, name="record"):
    """Note what an element holds before it is overwritten.

    `"grad.record"(%old, %l, %i) : (f32, !grad.log<f32, 1>, index) -> ()`
    """

    value: ext.Operand[Any]
    log: ext.Operand[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]

    def verify_region_invariants(self) -> bool:
        operands = list(self.operation.operands)
        expected = f"!grad.log<{operands[0].type}, {len(operands) - 2} : i64>"
        if str(operands[1].type) != expected:
            self.operation.location.emit_error(f"record in {operands[1].type}, expected {expected}")
            return False
        return True


class MarkOp(Grad.Operation, name="mark"):
    """How many elements a log holds now. `%m = "grad.mark"(%l) : (!grad.log<f32, 1>) -> index`"""

    log: ext.Operand[Any]
    count: ext.Result[ir.IndexType]

    def verify_region_invariants(self) -> bool:
        return _check_log(self.operation, self.operation.operands[0].type)


class UndoOp(Grad.Operation, name="undo"):
    """Give an array back what was noted since a mark.

    `"grad.undo"(%l, %m, %x) : (!grad.log<f32, 1>, index, !field.array<f32, [16]>) -> ()`
    """

    log: ext.Operand[Any]
    count: ext.Operand[ir.IndexType]
    array: ext.Operand[Any]

    def verify_region_invariants(self) -> bool:
        op = self.operation
        log, _, array = (value.type for value in op.operands)
        if not _check_log(op, log):
            return False
        if not is_array(array) or str(log) != _log_of(*array_of(array)):
            op.location.emit_error(f"undo of {log} in {array}")
            return False
        return True


class CloseOp(Grad.Operation, name="close"):
    """The log is not used any more. `"grad.close"(%l) : (!grad.log<f32, 1>) -> ()`"""

    log: ext.Operand[Any]

    def verify_region_invariants(self) -> bool:
        return _check_log(self.operation, self.operation.operands[0].type)


def log_type(element: ir.Type, rank: int) -> ir.Type:
    """The type of a log of elements of an array of some rank."""
    return LogType.get(
        ir.TypeAttr.get(element), ir.IntegerAttr.get(ir.IntegerType.get_signless(64), rank)
    )


def log_parts(type_: ir.Type) -> tuple[ir.Type, int]:
    """The element type and the rank of a log."""
    element, _, rank = str(type_)[len("!grad.log<") : -1].rpartition(", ")
    return ir.Type.parse(element), int(rank.split(" ")[0])


def _log_of(element: str, extents: tuple[int, ...]) -> str:
    return f"!grad.log<{element}, {len(extents)} : i64>"


def _check_log(op: ir.Operation, type_: ir.Type) -> bool:
    if not str(type_).startswith("!grad.log<"):
        op.location.emit_error(f"{type_} is not a log")
        return False
    return True


class YieldOp(Grad.Operation, name="yield", traits=[ir.IsTerminatorTrait]):
    """The results of a region of this dialect, all of one type. `"grad.yield"(%r) : (f32) -> ()`"""

    values: Sequence[ext.Operand[Any]]

    def verify_region_invariants(self) -> bool:
        op = self.operation
        if op.parent is None or not op.parent.name.startswith("grad."):
            op.location.emit_error("'grad.yield' stands outside a region of its dialect")
            return False
        return True


class JvpOp(Grad.Operation, name="jvp"):
    """A function in its region, with derivatives along `directions` tangents: values, then a
    tangent a direction.

    Operands are floats of one type, the primals, then their tangents, direction by direction; what
    the region takes from outside is constant; results are floats of one type.

    `%y, %dy = "grad.jvp"(%x, %dx) ({...}) {directions = 1} : (f32, f32) -> (f32, f32)`
    """

    inputs: Sequence[ext.Operand[Any]]
    outputs: Sequence[ext.Result[Any]]
    directions: ir.IntegerAttr
    body: ext.Region

    def verify_region_invariants(self) -> bool:
        problem = _problem_of_jvp(self.operation)
        if problem is not None:
            self.operation.location.emit_error(problem)
        return problem is None


def _problem_of_jvp(op: ir.Operation) -> str | None:
    attribute = op.attributes["directions"]
    if not isinstance(attribute, ir.IntegerAttr) or ir.IntegerAttr(attribute).value < 1:
        return f"{attribute} directions, expected one or more"
    if len(op.regions[0].blocks) != 1:
        return f"'grad.jvp' holds {len(op.regions[0].blocks)} blocks, expected one"
    count, body = 1 + ir.IntegerAttr(attribute).value, op.regions[0].blocks[0]
    last = list(body.operations)[-1].operation if len(body.operations) else None
    if last is None or last.name != "grad.yield":
        return "the region of 'grad.jvp' ends in no 'grad.yield'"
    sides = (("operand", op.operands, body.arguments), ("result", op.results, last.operands))
    for name, values, inner in sides:
        given, expected = [str(v.type) for v in values], [str(v.type) for v in inner]
        if any(not isinstance(v.type, ir.FloatType) for v in inner):
            return f"{name}s of types {', '.join(expected)}, expected floats"
        if len(given) != count * len(expected) or given != expected * count:
            return (
                f"{name}s of types ({', '.join(given)}), expected {count} times "
                f"({', '.join(expected)})"
            )
    return None


class CustomOp(Grad.Operation, name="custom", traits=[ext.Pure, ir.IsIsolatedFromAboveTrait]):
    """A function with derivatives of its own: regions for its value, its transposed derivative and
    its derivative.

    Arguments are floats of one type, then integers as i64; results are floats of one type. `primal`
    takes the arguments and yields the results. `vjp` takes the arguments, the results and their
    adjoints, and yields an adjoint for each float argument; `jvp` takes the arguments, the results
    and a tangent for each float argument, and yields a tangent for each result. One of these two
    may be empty. `%y = "grad.custom"(%x) ({...}, {...}, {}) {function = "f", operandSegmentSizes =
    array<i32: 1, 0>} : (f32) -> f32`
    """

    floats: Sequence[ext.Operand[Any]]
    integers: Sequence[ext.Operand[I64]]
    values: Sequence[ext.Result[Any]]
    function: ir.StringAttr
    primal: ext.Region
    vjp: ext.Region
    jvp: ext.Region

    def verify_region_invariants(self) -> bool:
        problem = _problem_of_custom(self.operation)
        if problem is not None:
            self.operation.location.emit_error(problem)
        return problem is None


def _problem_of_custom(op: ir.Operation) -> str | None:
    arguments, results = [v.type for v in op.operands], [v.type for v in op.results]
    floats: list[ir.Type] = [t for t in arguments if isinstance(t, ir.FloatType)]
    if len(floats) != ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0]:
        return f"arguments of types ({_listed(arguments)}), expected floats, then integers"
    if not results or not isinstance(results[0], ir.FloatType):
        return f"results of types ({_listed(results)}), expected floats"
    sides = {
        "primal": (arguments, results),
        "vjp": (arguments + results + results, floats),
        "jvp": (arguments + results + floats, results),
    }
    for region, (name, (taken, given)) in zip(op.regions, sides.items()):
        if not len(region.blocks) and name != "primal":
            continue
        if len(region.blocks) != 1:
            return (
                f"region '{name}' of 'grad.custom' holds {len(region.blocks)} blocks, expected one"
            )
        body = region.blocks[0]
        last = list(body.operations)[-1].operation
        if last.name != "grad.yield":
            return f"region '{name}' of 'grad.custom' ends in no 'grad.yield'"
        takes, yields = [v.type for v in body.arguments], [v.type for v in last.operands]
        for what, types, expected in (("takes", takes, taken), ("yields", yields, given)):
            if types != expected:
                return f"region '{name}' {what} ({_listed(types)}), expected ({_listed(expected)})"
    return None


def _listed(types: Iterable[ir.Type]) -> str:
    return ", ".join(map(str, types))
