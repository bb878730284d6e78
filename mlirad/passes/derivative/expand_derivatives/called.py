"""Calls of functions of numbers, which their derivatives call too.

In the kernel such a call is a function with a derivative of its own (`grad.custom`): its value is
the call, its derivative a call of the callee's. Other calls are inlined: what a function does to
memory is differentiated where it is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlirad.bindings import ir
from mlirad.dialect.grad import CustomOp, function_named, yield_
from mlirad.ir import build as b
from mlirad.ir.custom import JVP, PRIMAL, VJP, move_out
from mlirad.ir.ops import Func, Memref
from mlirad.ir.requirements import symbol_of
from mlirad.ir.signature import function_type
from mlirad.ir.walk import at_end, before, operations, replace
from mlirad.passes.derivative.expand_derivatives.reached import reached_symbols
from mlirad.passes.derivative.expand_derivatives.target import Kind, Target

_FLOATS = frozenset(("f16", "f32", "f64"))
_DIALECTS = frozenset(("arith", "cf", "complex", "func", "math", "memref", "scf", "ub", "vector"))


class NumberFunctions:
    """The functions of a module that take floats of one type and integers, give floats of the type,
    and touch no memory that others see."""

    def __init__(self) -> None:
        self._verdicts: dict[str, bool] = {}

    def holds(self, function: ir.Operation) -> bool:
        """Return whether a symbol is such a function."""
        name = symbol_of(function)
        if name not in self._verdicts:
            self._verdicts[name] = _has_numbers(function) and all(
                map(_is_pure, reached_symbols(function))
            )
        return self._verdicts[name]

    def exclude(self, function: ir.Operation) -> None:
        """Leave out a function from now on."""
        self._verdicts[symbol_of(function)] = False

    def called_by(self, function: ir.Operation) -> list[ir.Operation]:
        """Return those that a function calls, itself or by calls of others."""
        called: dict[str, ir.Operation] = {}
        for caller in reached_symbols(function, stops_at=self.holds):
            for op in operations(caller):
                callee = function_named(op, _callee(op)) if op.name == Func.CALL else None
                if callee is not None and self.holds(callee):
                    called[symbol_of(callee)] = callee
        return list(called.values())


def float_arguments(function: ir.Operation) -> tuple[int, ...]:
    """Return the numbers of the arguments that are floats."""
    return tuple(k for k, t in enumerate(function_type(function).inputs) if b.is_float(t))


def _has_numbers(function: ir.Operation) -> bool:
    if function.name != Func.FUNC or not len(function.regions[0].blocks):
        return False
    type_ = function_type(function)
    floats = {str(t) for t in (*type_.inputs, *type_.results) if not _is_integer(t)}
    gives_floats = len(type_.results) and not any(map(_is_integer, type_.results))
    takes_floats = bool(float_arguments(function))
    return bool(gives_floats) and takes_floats and len(floats) == 1 and floats <= _FLOATS


def _is_integer(type_: ir.Type) -> bool:
    is_word = isinstance(type_, ir.IntegerType) and type_.width <= 64 and str(type_)[0] == "i"
    return is_word or isinstance(type_, ir.IndexType)


def _is_pure(symbol: ir.Operation) -> bool:
    """Return whether a symbol is a function with a body, and does nothing to the memory of
    others."""
    return (
        symbol.name == Func.FUNC
        and len(symbol.regions[0].blocks) > 0
        and all(
            op.name.partition(".")[0] in _DIALECTS
            and op.name not in (Memref.GET_GLOBAL, Func.CALL_INDIRECT)
            for op in operations(symbol)
        )
    )


def _callee(op: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(op.attributes["callee"]).value


def declare_functions(module: ir.Operation, targets: Sequence[Target]) -> None:
    """Declare the functions of some derivatives, and these."""
    declared = {symbol_of(target.primal): target.primal_type for target in targets}
    declared |= {target.name: target.type for target in targets}
    with at_end(module.regions[0].blocks[0], module.location):
        for name, type_ in declared.items():
            _declare(name, type_)


def keep_calls(root: ir.Operation, targets: Sequence[Target]) -> None:
    """Let calls of the functions of some derivatives be functions with these derivatives. Upstream
    inlines no function that holds one."""
    by_name: dict[str, list[Target]] = {}
    for target in targets:
        by_name.setdefault(symbol_of(target.primal), []).append(target)
    calls = [op for op in operations(root) if op.name == Func.CALL and _callee(op) in by_name]
    for op in calls:
        _keep(op, by_name[_callee(op)])


def restore_calls(module: ir.Operation, targets: Sequence[Target]) -> None:
    """Let functions with derivatives that stand for calls be these calls again; those with rules of
    their own stay."""
    names = {symbol_of(target.primal) for target in targets}
    for op in [op for op in operations(module) if CustomOp.holds(op)]:
        if ir.StringAttr(op.attributes["function"]).value in names:
            replace(op, move_out(op, PRIMAL, list(op.operands)))


def _declare(name: str, type_: ir.FunctionType) -> None:
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "sym_visibility": ir.StringAttr.get("private"),
        "function_type": ir.TypeAttr.get(type_),
    }
    ir.Operation.create(Func.FUNC, [], [], attributes, regions=1)


def _keep(call: ir.Operation, targets: Sequence[Target]) -> None:
    """Replace a call by a function with a derivative: floats come first, integers as words."""
    word = b.integer_type(64)
    floats = [v for v in call.operands if b.is_float(v.type)]
    integers = [v for v in call.operands if not b.is_float(v.type)]
    results = [v.type for v in call.results]
    with before(call):
        operands = floats + [_converted(v, word) for v in integers]
        sizes = ir.DenseI32ArrayAttr.get([len(floats), len(integers)])
        function = ir.StringAttr.get(_callee(call))
        attributes = {"function": function, "operandSegmentSizes": sizes}
        name = CustomOp.OPERATION_NAME
        op = ir.Operation.create(name, results, operands, attributes, regions=3)
    types = [v.type for v in operands]
    _fill(op, PRIMAL, types, targets[0])
    for target in targets:
        if target.kind is Kind.VJP:
            _fill(op, VJP, [*types, *results, *results], target)
        else:
            _fill(op, JVP, [*types, *results, *[v.type for v in floats]], target)
    replace(call, op.results)


def _fill(op: ir.Operation, region: int, types: Sequence[ir.Type], target: Target) -> None:
    """Let a region call the function, or its derivative on what comes behind the results."""
    body = b.block(op, region, types)
    type_ = target.primal_type
    with at_end(body, op.location):
        arguments = _arguments(type_.inputs, [*body.arguments])
        if region == PRIMAL:
            yield_(b.call(symbol_of(target.primal), arguments, type_.results).results)
            return
        along = [*body.arguments][len(type_.inputs) + len(type_.results) :]
        call = b.call(target.name, [*arguments, *along], target.type.results)
        count = len(type_.results)
        yield_([*call.results][count:] if region == JVP else call.results)


def _arguments(types: Iterable[ir.Type], values: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the arguments of a function, in its order, by what its `grad.custom` takes."""
    types = list(types)
    floats = iter(values)
    integers = iter(values[sum(map(b.is_float, types)) :])
    return [next(floats) if b.is_float(t) else _converted(next(integers), t) for t in types]


def _converted(value: ir.Value, type_: ir.Type) -> ir.Value:
    if value.type == type_:
        return value
    if isinstance(type_, ir.IndexType) or isinstance(value.type, ir.IndexType):
        return b.index_cast(value, type_)
    widens = ir.IntegerType(type_).width > ir.IntegerType(value.type).width
    return b.extui(value, type_) if widens else b.trunci(value, type_)
