"""A function that calls itself, cut into pieces between its calls of itself.

A piece is a list of statements without such a call, and what comes next: another piece, one of two,
a call and where it goes on, or the end of the function. A call inside an expression is first taken
out of it: the operands in front of it go into variables, as Python evaluates them first.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from copy import copy

import msgspec

from mlirad.errors import TaichiSyntaxError
from mlirad.frontend.python.source.jumps import may_leave
from mlirad.frontend.python.source.match_statements import at_place

TEMPORARY = "recursion."  # begins the names of variables that no program can name


class Jump(msgspec.Struct, frozen=True):
    """Go on with another piece."""

    then: int


class Branch(msgspec.Struct, frozen=True):
    """Go on with one of two pieces."""

    test: ast.expr
    then: int
    otherwise: int


class Recurse(msgspec.Struct, frozen=True):
    """Call the function; its result goes into a variable, and another piece follows."""

    call: ast.Call
    variable: ast.Name
    then: int


class Leave(msgspec.Struct, frozen=True):
    """End the function."""

    statement: ast.Return | None


End = Jump | Branch | Recurse | Leave


class Piece(msgspec.Struct):
    """Statements that run without interruption."""

    statements: list[ast.stmt] = msgspec.field(default_factory=list)
    end: End = msgspec.field(default_factory=lambda: Leave(None))


def pieces(body: Sequence[ast.stmt], recurses: Callable[[ast.Call], bool]) -> list[Piece]:
    """The pieces of a function's body, the first one first. Raises TaichiSyntaxError for a call in
    a place out of which it cannot be taken."""
    return _Cutter(recurses).cut(body)


class _Cutter:
    """Cuts one function. A piece is reached from those before it, except the heads of loops."""

    def __init__(self, recurses: Callable[[ast.Call], bool]) -> None:
        self._recurses = recurses
        self._pieces = [Piece()]
        self._loops: list[tuple[int, list[int]]] = []  # the head, and pieces that leave it
        self._names = 0

    def cut(self, body: Sequence[ast.stmt]) -> list[Piece]:
        self._block(body)
        return self._pieces

    @property
    def _last(self) -> int:
        return len(self._pieces) - 1

    def _start(self) -> int:
        self._pieces.append(Piece())
        return self._last

    def _end(self, end: End) -> None:
        self._pieces[-1].end = end

    def _calls(self, node: ast.AST) -> bool:
        return any(isinstance(n, ast.Call) and self._recurses(n) for n in ast.walk(node))

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if not self._calls(statement) and not may_leave(statement):
                self._pieces[-1].statements.append(statement)
            elif not self._cut_statement(statement):
                return

    def _cut_statement(self, node: ast.stmt) -> bool:
        """Cut a statement; return whether anything can follow it."""
        if isinstance(node, ast.Return):
            self._return(node)
            return False
        if isinstance(node, ast.Break | ast.Continue):
            self._jump_of_loop(node)
            return False
        if isinstance(node, ast.If):
            self._if(node.test, node.body, node.orelse)
        elif isinstance(node, ast.While):
            self._while(node, node.test, node.body, [])
        elif isinstance(node, ast.For):
            self._for(node)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr):
            changed = copy(node)
            changed.value = self._without_calls(node.value) if node.value is not None else None
            self._pieces[-1].statements.append(changed)
        else:
            raise _refusal(node, "in this statement")
        return True

    def _return(self, node: ast.Return) -> None:
        if isinstance(node.value, ast.IfExp) and self._calls(node.value):
            choice = node.value
            self._if(choice.test, [_return_of(choice.body)], [_return_of(choice.orelse)])
            return
        changed = copy(node)
        changed.value = None if node.value is None else self._without_calls(node.value)
        self._end(Leave(changed))

    def _jump_of_loop(self, node: ast.Break | ast.Continue) -> None:
        head, leaving = self._loops[-1]
        self._end(Jump(head))
        if isinstance(node, ast.Break):
            leaving.append(self._last)

    def _if(
        self, test: ast.expr, body: Sequence[ast.stmt], alternative: Sequence[ast.stmt]
    ) -> None:
        condition = self._without_calls(test)
        fork, then = self._last, self._start()
        self._block(body)
        after_then, otherwise = self._last, self._start()
        self._block(alternative)
        after_alternative, join = self._last, self._start()
        self._pieces[fork].end = Branch(condition, then, otherwise)
        for last in (after_then, after_alternative):
            self._go_on(last, join)

    def _go_on(self, last: int, following: int) -> None:
        """Let a piece that has no end of its own be followed by another one."""
        if self._pieces[last].end == Leave(None):
            self._pieces[last].end = Jump(following)

    def _while(
        self,
        node: ast.While | ast.For,
        test: ast.expr,
        body: Sequence[ast.stmt],
        step: Sequence[ast.stmt],
    ) -> None:
        """A loop; `step` runs between its iterations."""
        if node.orelse:
            raise TaichiSyntaxError("'else' of a loop is not supported")
        before, advance = self._last, self._start()
        self._pieces[-1].statements += step
        head = self._start()
        self._pieces[advance].end = Jump(head)
        self._pieces[before].end = Jump(head)
        condition = self._without_calls(test)
        fork, then = self._last, self._start()
        leaving: list[int] = []
        self._loops.append((advance, leaving))
        self._block(body)
        self._loops.pop()
        self._go_on(self._last, advance)
        after = self._start()
        self._pieces[fork].end = Branch(condition, then, after)
        for piece in leaving:
            self._pieces[piece].end = Jump(after)

    def _for(self, node: ast.For) -> None:
        """A loop over a range of integers, with a step that is a constant."""
        call, target = node.iter, node.target
        if not isinstance(call, ast.Call) or getattr(call.func, "id", "") != "range":
            raise _refusal(node, "in a loop that is not over a range")
        if not isinstance(target, ast.Name) or call.keywords:
            raise _refusal(node, "in a loop over a range with such a target")
        bounds = [self._without_calls(bound) for bound in call.args]
        step = bounds.pop() if len(bounds) == 3 else ast.Constant(1)
        try:
            up = ast.literal_eval(step) > 0
        except ValueError:
            raise _refusal(node, "in a loop whose step is not a number") from None
        low, high = bounds if len(bounds) == 2 else (ast.Constant(0), bounds[0])
        counter, stop = self._temporary(node), self._temporary(node)
        self._set(counter, low)
        self._set(stop, high)
        order: ast.cmpop = ast.Lt() if up else ast.Gt()
        test = at_place(ast.Compare(_read(counter), [order], [_read(stop)]), node)
        advance = at_place(ast.AugAssign(counter, ast.Add(), step), node)
        begin = at_place(ast.Assign([target], _read(counter)), node)
        self._while(node, test, [begin, *node.body], [advance])

    def _without_calls(self, node: ast.expr) -> ast.expr:
        """An expression with variables in the place of calls of the function."""
        if not self._calls(node):
            return node
        if isinstance(node, ast.BoolOp | ast.IfExp | ast.Lambda | ast.NamedExpr | _COMPREHENSIONS):
            raise _refusal(node, "in an expression that is evaluated conditionally: use 'if'")
        changed, operands = copy(node), _operands(node)
        last = max(
            (k for k, (_, _, operand) in enumerate(operands) if self._calls(operand)), default=-1
        )
        for name, position, operand in operands[: last + 1]:
            _replace(changed, name, position, self._saved_operand(operand))
        if not isinstance(changed, ast.Call) or not self._recurses(changed):
            return changed
        result = self._temporary(node)
        caller, following = self._last, self._start()
        self._pieces[caller].end = Recurse(changed, result, following)
        return _read(result)

    def _saved_operand(self, node: ast.expr) -> ast.expr:
        """An operand that a call behind it does not change: a variable that holds it, or itself."""
        if self._calls(node):
            return self._without_calls(node)
        if isinstance(node, ast.Name | ast.Constant | ast.Attribute | ast.Starred):
            return node
        variable = self._temporary(node)
        self._set(variable, node)
        return _read(variable)

    def _temporary(self, node: ast.AST) -> ast.Name:
        self._names += 1
        return at_place(ast.Name(f"{TEMPORARY}{self._names}", ast.Store()), node)

    def _set(self, variable: ast.Name, value: ast.expr) -> None:
        self._pieces[-1].statements.append(at_place(ast.Assign([variable], value), variable))


_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def _operands(node: ast.expr) -> list[tuple[str, int | None, ast.expr]]:
    """The expressions in an expression, in the order in which Python evaluates them."""
    operands: list[tuple[str, int | None, ast.expr]] = []
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.expr):
            operands.append((name, None, value))
        for position, operand in enumerate(value if isinstance(value, list) else []):
            operand = operand.value if isinstance(operand, ast.keyword) else operand
            if isinstance(operand, ast.expr):
                operands.append((name, position, operand))
    return operands


def _replace(node: ast.expr, name: str, position: int | None, operand: ast.expr) -> None:
    """Set one of the expressions in a node."""
    if position is None:
        setattr(node, name, operand)
        return
    operands = list(getattr(node, name))
    old = operands[position]
    operands[position] = ast.keyword(old.arg, operand) if isinstance(old, ast.keyword) else operand
    setattr(node, name, operands)


def _return_of(value: ast.expr) -> ast.stmt:
    return at_place(ast.Return(value), value)


def _read(variable: ast.Name) -> ast.Name:
    return at_place(ast.Name(variable.id, ast.Load()), variable)


def _refusal(node: ast.stmt | ast.expr, position: str) -> TaichiSyntaxError:
    return TaichiSyntaxError(f"a function cannot call itself {position}")
