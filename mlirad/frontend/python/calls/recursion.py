"""`@ti.real_func` that calls itself: a loop over the function's pieces, with a stack of its
variables.

Each iteration of the loop runs pieces of the innermost call. A call writes its arguments one level
up the stack, and notes the piece with which the caller goes on. The stack is memory of an iteration
of the loop around, `MAX_DEPTH` levels high; a call beyond it ends the function and fails the
launch.
"""

from __future__ import annotations

import ast
from typing import Any

from msgspec.structs import replace

from mlirad.dialect import field
from mlirad.errors import TaichiSyntaxError
from mlirad.frontend.python.building.builder import Anchor, constant
from mlirad.frontend.python.building.regions import if_op, while_op
from mlirad.frontend.python.calls.parameters import Bindings, bind_parameters
from mlirad.frontend.python.places.struct_places import as_place, make_local
from mlirad.frontend.python.places.variables import make_slot, read_slot, write_slot, zero
from mlirad.frontend.python.source.function import Function
from mlirad.frontend.python.source.function_source import FunctionSource
from mlirad.frontend.python.source.recursion_blocks import Branch, Jump, Leave, Recurse, pieces
from mlirad.frontend.python.translation.conversions import convert_result
from mlirad.frontend.python.translation.stack import MAX_DEPTH, Stack, StackFrame, new_variable
from mlirad.frontend.python.translation.statements import assign
from mlirad.frontend.python.translation.translator import Translator
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.annotations import MatrixType
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Expr
from mlirad.frontend.python.values.struct import Struct
from mlirad.frontend.python.values.struct_type import StructType
from mlirad.ir.walk import owner_operation
from mlirad.types import i32, u1

_NOTHING = -1  # in the place of a piece if the function has ended


def calls_itself(function: Function) -> bool:
    """Return whether a function's text holds a call of the function."""
    return any(
        isinstance(node, ast.Call) and _is_call_of(function, function.source, node)
        for node in ast.walk(function.source.node)
    )


def _is_call_of(function: Function, source: FunctionSource, node: ast.Call) -> bool:
    callee: Any = None
    if isinstance(node.func, ast.Name) and node.func.id not in source.stored:
        callee = source.names.get(node.func.id)
    elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        is_self = source.node.args.args[:1] and node.func.value.id == source.node.args.args[0].arg
        if function.owner is not None and is_self:
            callee = getattr(function.owner, node.func.attr, None)
    return isinstance(callee, Function) and callee.function is function.function


def call_recursive(t: Translator, function: Function, bindings: Bindings) -> Any:
    """Translate a call of a function that calls itself, and return its result."""
    return _Machine(t, function, bindings).run()


class _Machine:
    """The loop of one call from outside."""

    def __init__(self, t: Translator, function: Function, bindings: Bindings) -> None:
        self.t, self.function, self.bindings = t, function, bindings
        source = function.source
        body = source.node.body
        self.pieces = pieces(body, lambda node: _is_call_of(function, source, node))
        self.anchor = Anchor(owner_operation(make_slot(u1)), t.builder.region, t.depth)
        self.level_slot, self.state = make_slot(i32), make_slot(i32)
        with self.anchor.inserting():
            self.return_pieces = Stack(i32, function.__name__)
            self.result = _result(t, function.result_type())
        write_slot(self.level_slot, constant(0, i32))
        write_slot(self.state, constant(0, i32))
        self.frame = self._frame()
        self.received: dict[
            int, ast.Name
        ] = {}  # variables for results of calls, by the piece behind
        self.variables = {
            name: new_variable(self.frame, binding.value)
            for name, binding in bindings.items()
            if not binding.by_reference
            and (isinstance(binding.value, Matrix | Struct) or ex.is_scalar(binding.value))
        }
        for name, binding in bindings.items():
            self.frame.define(name, self.variables.get(name, binding.value))

    def run(self) -> Any:
        """Translate the loop."""
        t = self.t
        t.frames.append(self.frame)
        outer, t.in_parallel = t.in_parallel, True
        try:
            with t.at_run_time():
                while_op(lambda: (self._level() >= 0).value, self._translate)
        finally:
            t.frames.pop()
            t.in_parallel = outer
        return _load(self.result)

    def _frame(self) -> StackFrame:
        assigned = {
            piece.end.variable.id for piece in self.pieces if isinstance(piece.end, Recurse)
        }
        assigned.update(
            node.id
            for piece in self.pieces
            for statement in piece.statements
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        source = replace(self.function.source, mutable=assigned | set(self.bindings))
        frame = StackFrame(self.function.__name__, source, False, level=self._level)
        frame.entry_anchor = self.anchor
        return frame

    def _level(self) -> Expr:
        return read_slot(self.level_slot, i32)

    def _translate(self) -> None:
        """Translate the pieces that are reached, each under the condition that it is next."""
        reached, done = {0}, set[int]()
        while reached - done:
            number = min(reached - done)
            done.add(number)
            reached.update(self._translate_if_next(number))

    def _translate_if_next(self, number: int) -> set[int]:
        """Translate a piece for the case that it is next; return the pieces that may follow."""
        following: set[int] = set()
        is_next = read_slot(self.state, i32) == number
        if_op(is_next.value, lambda: following.update(self._piece(number)))
        return following

    def _piece(self, number: int) -> set[int]:
        """Translate one piece and its end; return the pieces that may follow."""
        if number in self.received and self.result is not None:
            assign(self.t, self.received[number], _load(self.result))
        piece = self.pieces[number]
        for statement in piece.statements:
            self.t.visit(statement)
        end = piece.end
        if isinstance(end, Leave):
            self._leave(end)
            return set()
        if isinstance(end, Recurse):
            return self._recurse(end)
        if isinstance(end, Branch):
            condition = ex.truth(self.t.visit_value(end.test))
            if not isinstance(condition, bool):
                chosen = ex.select(condition, ex.cast(end.then, i32), ex.cast(end.otherwise, i32))
                write_slot(self.state, chosen.value)
                return {end.then, end.otherwise}
            end = Jump(end.then if condition else end.otherwise)
        write_slot(self.state, constant(end.then, i32))
        return {end.then}

    def _recurse(self, end: Recurse) -> set[int]:
        """Put the arguments one level up, and start again there."""
        bindings = bind_parameters(self.t, self.function, end.call)
        arguments = {}
        for name, binding in bindings.items():
            if name in self.variables:
                arguments[name] = binding.value
            elif binding.value is not self.bindings[name].value:
                raise TaichiSyntaxError(
                    f"'{self.function.__name__}' calls itself with a different '{name}': only "
                    "scalars, vectors and matrices can change between calls"
                )
        self.return_pieces.write(self._level(), constant(end.then, i32))
        above = self._level() + 1
        fits = above < MAX_DEPTH
        message = f"'{self.function.__name__}' calls itself more than {MAX_DEPTH} calls deep"
        field.assert_(fits.value, message)
        write_slot(self.level_slot, ex.select(fits, above, -1).value)
        write_slot(self.state, ex.select(fits, 0, _NOTHING).value)

        def pass_on() -> None:
            for name, value in arguments.items():
                self.variables[name].store(value)

        if_op(fits.value, pass_on)
        self.received[end.then] = end.variable
        return {0, end.then}

    def _leave(self, end: Leave) -> None:
        value = None
        if end.statement is not None and end.statement.value is not None:
            value = self.t.visit_value(end.statement.value)
        if value is not None:
            _store(self.result, convert_result(self.t, self.function.result_type(), value))
        below = self._level() - 1
        write_slot(self.level_slot, below.value)
        return_piece = self.return_pieces.read(ex.select(below >= 0, below, 0))
        write_slot(self.state, ex.select(below >= 0, return_piece, _NOTHING).value)


def _result(t: Translator, declared: Any) -> Any:
    """Variables for the result, or None."""
    if isinstance(declared, tuple):
        return tuple(_result(t, component) for component in declared)
    if declared is None:
        return None
    if isinstance(declared, StructType):
        return as_place(make_local(declared()))
    is_matrix = isinstance(declared, MatrixType)
    return as_place(make_local(declared(0) if is_matrix else zero(t.resolve(declared))))


def _store(places: Any, value: Any) -> None:
    if isinstance(places, tuple):
        for place, component in zip(places, value):
            _store(place, component)
    else:
        places.store(value)


def _load(places: Any) -> Any:
    if isinstance(places, tuple):
        return tuple(_load(place) for place in places)
    return None if places is None else places.load()
