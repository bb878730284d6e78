"""Replace derivatives of functions by code.

A function in a region, on dual numbers (`grad.dual`), becomes its code, and beside it the tangents.
Assumes that locals are values (`mem2reg`): what a region takes from memory is constant in it.

The derivative of a function that is named (`grad.vjp`, `grad.jvp`) becomes a function beside it:
`@f.vjp` of `@f`, one for all equal derivatives. It is of upstream's dialects, with `grad.custom` as
it was in the function, and differentiated like any other; so what is differentiated first is a
function in which no derivative is left. Where two of its memrefs might share memory, one of which
is written to, it is refused.
"""

from mlirad.bindings import ir
from mlirad.dialect.grad import DualOp, is_derivative
from mlirad.ir.graph import Graph
from mlirad.ir.ops import Arith, Func
from mlirad.ir.requirements import Requests
from mlirad.ir.walk import at_start, before, captured_values, operations


def expand_derivatives(module: ir.Operation, *, recursion: bool = False) -> Requests:
    """Replace functions on dual numbers by code for values and tangents, and derivatives of named
    functions by new functions, innermost first.

    With `recursion`, functions of numbers that call themselves have derivatives where they are
    called.
    """
    ops = [op for op in operations(module) if DualOp.holds(op) or is_derivative(op)]
    are_named = any(map(is_derivative, ops))
    for op in reversed([op for op in ops if DualOp.holds(op)]):
        _expand(op)
    if are_named or (recursion and any(op.name == Func.CALL for op in operations(module))):
        # which few programs need
        from mlirad.passes.derivative.expand_derivatives.named import NamedDerivatives

        derivatives = NamedDerivatives(module)
        yield from derivatives.expand()
        if recursion:
            yield from derivatives.keep_recursion()


def _expand(op: ir.Operation) -> None:
    from mlirad.analysis.derivatives.activity import Activity  # which few programs need
    from mlirad.sweeps.forward import Forward

    _take_constants(op)
    graph = Graph(op)
    arguments, yielded = graph.body.arguments, graph.body.terminator.operands
    count = ir.IntegerAttr(op.attributes["directions"]).value
    values = list(op.operands)
    primals, tangents = values[: len(arguments)], values[len(arguments) :]
    environment = {v: graph.values[v] for v in graph.outside.arguments} | dict(
        zip(arguments, primals)
    )
    with before(op):
        forward = Forward(graph, Activity(None, op, graph), count, environment, again=True)
        for number, argument in enumerate(arguments):
            forward.tangents[argument] = tangents[number :: len(arguments)]
        forward.block(graph.body)
        results = forward.values(yielded)
        along = [forward.tangents_of(v) for v in yielded]
        results += [along[j][direction] for direction in range(count) for j in range(len(yielded))]
    for result, value in zip(op.results, results):
        result.replace_all_uses_with(value)
    op.erase()


def _take_constants(op: ir.Operation) -> None:
    """Give the region the constants that canonicalize moved out of it: what is known of them saves
    work."""
    body = op.regions[0].blocks[0]
    for value in captured_values(op):
        if not isinstance(value, ir.BlockArgument) and value.owner.operation.name == Arith.CONSTANT:
            with at_start(body, op.location):
                constant = value.owner.operation.clone().results[0]
            for inner in operations(op):
                for position, operand in enumerate(inner.operands):
                    if operand == value:
                        inner.operands[position] = constant
