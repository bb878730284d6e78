"""Functions with derivatives of their own (`grad.custom`): what their regions read, and regions in
place of calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mlirad.bindings import ir
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.graph import Node
from mlirad.ir.reports.location import source_location
from mlirad.ir.walk import block_operations, captured_values, has_uses

PRIMAL, VJP, JVP = range(3)


def is_given(op: ir.Operation, region: int) -> bool:
    """Return whether a function has the derivative that a region would hold."""
    return len(op.regions[region].blocks) > 0


def require_derivative(op: ir.Operation) -> None:
    """Raise TaichiCompilationError where a function has no derivative of either kind."""
    if not (is_given(op, VJP) or is_given(op, JVP)):
        name = ir.StringAttr(op.attributes["function"]).value
        raise TaichiCompilationError(
            f"'{name}' is differentiated more often than its derivative was",
            source_location(op.location),
        )


def vjp_reads(node: Node, varied: Collection[int]) -> set[int]:
    """The arguments and results of a call that the adjoints of its varied arguments are made of.

    Raises TaichiCompilationError where the function has no such derivative.
    """
    require_derivative(node.op)
    if not is_given(node.op, VJP):
        name = ir.StringAttr(node.op.attributes["function"]).value
        raise TaichiCompilationError(
            f"'{name}' has a derivative of its own for forward mode (def_jvp), and none for "
            "reverse mode: def_vjp gives it one",
            source_location(node.op.location),
        )
    block = node.op.regions[VJP].blocks[0]
    adjoints = block_operations(block)[-1].operands
    positions = [k for k in range(len(adjoints)) if node.operands[k] in varied]
    read = (
        _made_of(block, [adjoints[k] for k in positions])
        if len(positions) < len(adjoints)
        else None
    )
    values = [*node.operands, *node.results]
    return {
        value
        for value, argument in zip(values, block.arguments)
        if (has_uses(argument) if read is None else argument in read)
    }


def _made_of(block: ir.Block, values: Sequence[ir.Value]) -> set[ir.Value]:
    """Some values of a block and, transitively, what they are made of."""
    sources = set(values)
    for op in reversed(block_operations(block)[:-1]):
        if not len(op.results) or any(result in sources for result in op.results):
            sources.update(op.operands)
            if len(op.regions):
                sources.update(captured_values(op))
    return sources


def apply_region(
    op: ir.Operation, region: int, arguments: Sequence[ir.Value | None]
) -> list[ir.Value]:
    """Return the values that a region of an op yields, computed at the insertion point; arguments
    that are None are not read."""
    copy = op.clone()
    values = move_out(copy, region, arguments)
    copy.erase()
    return values


def move_out(op: ir.Operation, region: int, arguments: Sequence[ir.Value | None]) -> list[ir.Value]:
    """Move the ops of a region in front of its op, and give what the region yielded."""
    block = op.regions[region].blocks[0]
    *body, terminator = block_operations(block)
    for argument, value in zip(block.arguments, arguments):
        if has_uses(argument):
            argument.replace_all_uses_with(
                _zero_before(op, argument.type) if value is None else value
            )
    for child in body:
        child.move_before(op)
    return list(terminator.operands)


def _zero_before(op: ir.Operation, type_: ir.Type) -> ir.Value:
    with ir.InsertionPoint(op), op.location:
        return b.number(0, type_)


def unless_all_zero(factors: Sequence[ir.Value], products: Sequence[ir.Value]) -> list[ir.Value]:
    """Return values that are linear in some factors, and exactly 0 if all factors are, even if they
    are computed from infinite numbers.

    Its derivative in the factors is left alone, also where they are 0.
    """
    idle: ir.Value | None = None
    for factor in factors:
        test = b.compare_floats(b.OEQ, factor, b.number(0.0, factor.type))
        idle = test if idle is None else b.andi(idle, test)
    return [product if idle is None else _unless_nan(product, idle) for product in products]


def _unless_nan(value: ir.Value, idle: ir.Value) -> ir.Value:
    is_nan = b.compare_floats(b.UNO, value, value)
    return b.select(b.andi(idle, is_nan), b.number(0.0, value.type), value)
