"""Derivatives of functions that are named: a function each, and calls of it."""

from __future__ import annotations

from collections.abc import Generator

from mlirad.bindings import ir
from mlirad.dialect.grad import active_arguments, callee_of, function_named, is_derivative
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.ops import Func
from mlirad.ir.requirements import Request, Requests, is_private, refuse, symbol_of
from mlirad.ir.walk import before, functions, operations, users_of
from mlirad.ir.walk import replace as replace_results
from mlirad.passes.derivative.expand_derivatives.aliases import Aliases
from mlirad.passes.derivative.expand_derivatives.called import (
    NumberFunctions,
    float_arguments,
    keep_calls,
)
from mlirad.passes.derivative.expand_derivatives.derivative_function import derive
from mlirad.passes.derivative.expand_derivatives.reached import reached_functions, refuse_recursion
from mlirad.passes.derivative.expand_derivatives.recursion import (
    call_themselves,
    calls_of,
    give_private_copy,
)
from mlirad.passes.derivative.expand_derivatives.target import Kind, Target

_REFERS = (Func.CALL, Func.CONSTANT)


class NamedDerivatives:
    """The derivatives of a module that have functions so far."""

    def __init__(self, module: ir.Operation) -> None:
        self.module = module
        self.targets: dict[tuple[Kind, str, tuple[int, ...]], Target] = {}
        self.numbers = NumberFunctions()
        self._around: list[str] = []  # functions that are at work
        self._ready: set[str] = set()  # in which no derivative is left

    def expand(self) -> Requests:
        """Replace all, innermost first."""
        for function in functions(self.module):
            yield from self._visit(function)

    def keep_recursion(self) -> Requests:
        """Let calls of functions of numbers that call themselves, which are not inlined, be
        functions with derivatives, where a kernel is made of what calls them."""
        recursive = call_themselves(filter(self.numbers.holds, functions(self.module)))
        for function in recursive:
            if not is_private(function):
                give_private_copy(function)
        if recursive:
            self.numbers = NumberFunctions()
        inner = self._called_in_recursion()
        called = {
            name: function_named(op, name)
            for op in functions(self.module)
            if symbol_of(op) not in inner
            for name in calls_of(op) & inner
        }
        targets = list[Target]()
        for callee in called.values():
            assert callee is not None
            for kind in Kind:
                target = yield from self._derived(callee, kind, float_arguments(callee))
                targets.append(target)
        inner = self._called_in_recursion()
        for function in functions(self.module):
            if symbol_of(function) not in inner:
                keep_calls(function, targets)

    def _called_in_recursion(self) -> set[str]:
        """Return the functions of numbers that call themselves, and all that these call."""
        numbers = [f for f in functions(self.module) if self.numbers.holds(f)]
        return {
            symbol_of(function)
            for recursive in call_themselves(numbers)
            for function in reached_functions(recursive)
        }

    def _visit(self, function: ir.Operation) -> Requests:
        """Replace the derivatives in a function, and in those that it calls."""
        name = symbol_of(function)
        if name in self._ready or name in self._around:
            return
        self._around.append(name)
        ops = [op for op in operations(function) if op.name in _REFERS or is_derivative(op)]
        for op in ops:
            if is_derivative(op):
                yield from self._replace(op)
            elif (callee := function_named(op, _referred(op))) is not None and _has_body(callee):
                yield from self._visit(callee)
        self._around.pop()
        self._ready.add(name)

    def _replace(self, op: ir.Operation) -> Requests:
        name = callee_of(op)
        callee = function_named(op, name)
        if callee is None or not _has_body(callee):
            refuse(op, f"@{name} is only declared: what has no body cannot be differentiated")
        if name in self._around:
            refuse(op, f"@{name} takes this derivative of itself, directly or by what it calls")
        yield from self._visit(callee)
        if any(is_derivative(inner) for f in reached_functions(callee) for inner in operations(f)):
            refuse(op, f"@{name} takes this derivative of itself, by what it calls")
        target = yield from self._derived(callee, Kind(op.name), active_arguments(op))
        _call(op, target)

    def _derived(
        self, function: ir.Operation, kind: Kind, active: tuple[int, ...]
    ) -> Generator[Request, None, Target]:
        """Return a derivative, made if there is none yet; first those that it calls, which may call
        it."""
        key = kind, symbol_of(function), active
        if key not in self.targets:
            names = {target.name for target in self.targets.values()}
            self.targets[key] = target = Target.beside(function, kind, active, names)
            try:
                called = yield from self._called(function, kind)
                refuse_recursion(function, self.numbers.holds)
                yield from derive(target, called, self.numbers.holds)
            except TaichiCompilationError:
                del self.targets[key]
                raise
        return self.targets[key]

    def _called(self, function: ir.Operation, kind: Kind) -> Generator[Request, None, list[Target]]:
        """Return the derivatives of the functions of numbers that a function calls. A function that
        has none is inlined: perhaps nothing that carries a derivative is passed to it."""
        called: dict[str, Target] = {}
        while True:
            callees = {symbol_of(op): op for op in self.numbers.called_by(function)}
            missing = next((name for name in callees if name not in called), None)
            if missing is None:
                return [called[name] for name in callees]
            callee = callees[missing]
            try:
                called[missing] = yield from self._derived(callee, kind, float_arguments(callee))
            except TaichiCompilationError:
                self.numbers.exclude(callee)


def _call(op: ir.Operation, target: Target) -> None:
    """Call a derivative where it is called, and name it where something else is done with it."""
    uses = users_of(op.results[0])
    for user in dict.fromkeys(uses):
        if user.name == Func.CALL_INDIRECT and user.operands[0] == op.results[0]:
            _, *arguments = user.operands
            Aliases(user, target).require_apart(arguments)
            with before(user):
                call = b.call(target.name, arguments, [result.type for result in user.results])
            replace_results(user, call.results)
        else:
            refuse(user, f"a derivative of @{symbol_of(target.primal)}, expected to be called only")
    op.erase()


def _has_body(function: ir.Operation) -> bool:
    return len(function.regions[0].blocks) > 0


def _referred(op: ir.Operation) -> str:
    attribute = op.attributes["callee" if op.name == Func.CALL else "value"]
    return ir.FlatSymbolRefAttr(attribute).value
