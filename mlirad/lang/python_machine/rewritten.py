"""The text of a kernel, rewritten so that Python runs it with the meaning that it has compiled:
assignments copy, variables keep the type of their first assignment, atomics update places. Lines
stay where they are, for debuggers."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

from mlirad.errors import TaichiSyntaxError
from mlirad.frontend.python.places.variables import Update
from mlirad.frontend.python.source.function_source import FunctionSource
from mlirad.frontend.python.source.jumps import is_static
from mlirad.frontend.python.values.annotations import is_by_reference

_HELPERS = "__mlirad__"
_REFUSED = {
    ast.FunctionDef: "a function is defined",
    ast.ClassDef: "a class is defined",
    ast.With: "arch=ti.python does not support 'with' blocks",
    ast.Delete: "something is deleted",
    ast.Try: "exceptions are caught",
    ast.Global: "a global name is assigned to",
    ast.Nonlocal: "an outer name is assigned to",
}


def executable(
    function: Callable[..., Any], source: FunctionSource, helpers: object
) -> FunctionType:
    """Return a function as Python runs it."""
    assert isinstance(function, FunctionType)
    hints = function.__annotations__
    references = {name for name, hint in hints.items() if is_by_reference(hint)}
    node = _Rewriting(source, references).function()
    outer = _parameters([*function.__code__.co_freevars, _HELPERS])
    wrapper = _definition("__outer__", outer, [node])
    module = _located(ast.Module([ast.copy_location(wrapper, node)], []))
    file = function.__code__.co_filename
    code = _code_in(_code_in(compile(module, file, "exec"), "__outer__"), node.name)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells[_HELPERS] = CellType(helpers)
    closure = tuple([cells[name] for name in code.co_freevars])
    result = FunctionType(code, function.__globals__, function.__name__, None, closure)
    result.__defaults__, result.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return result


def _code_in(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


def _located(module: ast.Module) -> ast.Module:
    """Place nodes that have no place on the line where the node around them begins: a call of an
    attribute over several lines would count as one of the last."""
    places: list[tuple[Any, int, int]] = [(node, 1, 0) for node in module.body]
    while places:
        node, line, column = places.pop()
        if "lineno" in node._attributes:
            if not hasattr(node, "lineno"):
                node.lineno = node.end_lineno = line
                node.col_offset = node.end_col_offset = column
            line, column = node.lineno, node.col_offset
        places += [(child, line, column) for child in ast.iter_child_nodes(node)]
    return module


def _parameters(names: Sequence[str]) -> ast.arguments:
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(n) for n in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )


def _definition(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    return ast.FunctionDef(name, arguments, body, decorator_list=[], returns=None)


class _Expressions(ast.NodeTransformer):
    """Rewrites expressions; `scopes` are the names that the open blocks have assigned so far."""

    def __init__(self, source: FunctionSource, references: set[str]) -> None:
        self.source, self.references = source, references
        self.scopes: list[set[str]] = [set()]
        self.uncertain: set[str] = set()  # assigned in a branch that is chosen while compiling

    def _refuse(self, node: ast.AST, problem: str) -> None:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        place = self.source.place_of(self.source.node)
        raise TaichiSyntaxError(problem).at(type(place)(place.file, line, column + 1))

    def _new_value(self, target: ast.Name, value: ast.expr) -> ast.expr:
        """Return what a variable is set to; from now on it is one of the block."""
        name = target.id
        if name in self.references:
            self._refuse(target, f"arch=ti.python cannot set '{name}', which is a template")
        if not any(name in scope for scope in self.scopes):
            self.scopes[-1].add(name)
            return _call("value_of", value)
        return _call("keep", self._old_value(name), value)

    def _old_value(self, name: str) -> ast.expr:
        if name not in self.uncertain:
            return ast.Name(name, ast.Load())
        names = ast.Call(ast.Name("locals", ast.Load()), [], [])
        get = ast.Attribute(names, "get", ast.Load())
        return ast.Call(get, [ast.Constant(name), _helper("UNSET")], [])

    def _update(self, kind: str, target: ast.expr, value: ast.expr) -> ast.expr:
        """Return a call that updates an element or a member, or the new value of a variable."""
        operator = ast.Constant(kind)
        if isinstance(target, ast.Subscript):
            place = self.visit(target.value), self._key(target.slice)
            return _call("update", operator, *place, value)
        if isinstance(target, ast.Attribute):
            member = self.visit(target.value), ast.Constant(target.attr)
            return _call("update_member", operator, *member, value)
        if not isinstance(target, ast.Name):
            self._refuse(target, "what is updated is a variable, or an element of a field")
        assert isinstance(target, ast.Name)
        old = ast.Name(target.id, ast.Load())
        return self._new_value(target, _call("binary", operator, old, value))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Read an element."""
        return ast.copy_location(_call("load", self.visit(node.value), self._key(node.slice)), node)

    def _key(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Slice):
            bounds = [b and self.visit(b) for b in (node.lower, node.upper, node.step)]
            return _call("slice_", *[b or ast.Constant(None) for b in bounds])
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._key(element) for element in node.elts], ast.Load())
        visited: ast.expr = self.visit(node)
        return visited

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Compute; powers of integers are integers."""
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, ast.Pow):
            return _call("binary", ast.Constant("Pow"), left, right)
        return ast.copy_location(ast.BinOp(left, node.op, right), node)

    def visit_Starred(self, node: ast.Starred) -> ast.Starred:
        """Keep what is unpacked."""
        return ast.Starred(self.visit(node.value), node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Call what a name means in kernels; atomics update places."""
        kind = getattr(self._resolved(node.func), "update", None)
        if isinstance(kind, Update) and len(node.args) == 2:
            return ast.copy_location(self._atomic(_NAMES[kind], *node.args), node)
        node.func = _call("callee", self.visit(node.func))
        node.args = [self.visit(argument) for argument in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node

    def _atomic(self, kind: str, target: ast.expr, value: ast.expr) -> ast.expr:
        updated = self._update(kind, target, self.visit(value))
        if not isinstance(target, ast.Name):
            return updated
        old = ast.Name(target.id, ast.Load())
        return _call("first", old, ast.NamedExpr(_stored(target.id), updated))

    def _resolved(self, node: ast.expr) -> Any:
        """Return what a name or a dotted name means outside the function; None if nothing."""
        if isinstance(node, ast.Name):
            is_local = any(node.id in scope for scope in self.scopes)
            return None if is_local else self.source.names.get(node.id)
        if isinstance(node, ast.Attribute):
            return getattr(self._resolved(node.value), node.attr, None)
        return None


class _Rewriting(_Expressions):
    """Rewrites one function."""

    temporaries = 0

    def function(self) -> ast.FunctionDef:
        """Return the definition, rewritten."""
        node = copy.deepcopy(self.source.node)
        for inner in ast.walk(node):
            if hasattr(inner, "col_offset"):
                self._shift(inner)
        arguments = node.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            argument.annotation = None
            self.scopes[0].add(argument.arg)
        arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kwonlyargs)
        result = _definition(node.name, arguments, self._statements(node.body))
        return ast.copy_location(result, node)

    def _shift(self, node: Any) -> None:
        """Move a node to where it stands in the file."""
        node.lineno += self.source.line_offset
        node.end_lineno += self.source.line_offset
        node.col_offset += self.source.column_offset
        node.end_col_offset += self.source.column_offset

    # Blocks.

    def _statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        statements: list[ast.stmt] = []
        for statement in body:
            for kind, action in _REFUSED.items():
                if isinstance(statement, kind):
                    self._refuse(statement, f"{action}, in a kernel or a @ti.func")
            visited = self.visit(statement)
            for new in visited if isinstance(visited, list) else [visited]:
                statements.append(ast.copy_location(new, statement))
        return statements

    def _block(self, body: Sequence[ast.stmt], names: Sequence[str] = ()) -> list[ast.stmt]:
        self.scopes.append({*names})
        statements = self._statements(body)
        self.scopes.pop()
        return statements

    def visit_If(self, node: ast.If) -> ast.If:
        """Rewrite both branches; one that is chosen while compiling is part of the block."""
        static, test = is_static(node.test), self.visit(node.test)
        if not static:
            return ast.If(test, self._block(node.body), self._block(node.orelse))
        outer, before = self.scopes[-1], set(self.scopes[-1])
        body = self._statements(node.body)
        assigned = set(outer)
        self.scopes[-1] = before
        orelse = self._statements(node.orelse)
        self.uncertain |= (assigned | before) - (assigned & before)
        self.scopes[-1] = assigned | before
        return ast.If(test, body, orelse)

    def visit_For(self, node: ast.For) -> ast.For:
        """Rewrite a loop; over a field or an array it goes over the indices."""
        visited = self.visit(node.iter)
        loop = visited if is_static(node.iter) else _call("domain", visited)
        names = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
        body = self._block(node.body, names)
        return ast.For(node.target, loop, body, self._block(node.orelse))

    def visit_While(self, node: ast.While) -> ast.While:
        """Rewrite the condition and the body."""
        return ast.While(self.visit(node.test), self._block(node.body), self._block(node.orelse))

    def visit_Return(self, node: ast.Return) -> ast.Return:
        """Return values, not places."""
        return ast.Return(node.value and _call("value_of", self.visit(node.value)))

    # Assignments.

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        """Assign values, to one target after the other."""
        value = self.visit(node.value)
        if len(node.targets) == 1 and not isinstance(node.targets[0], ast.Tuple | ast.List):
            return [self._store(node.targets[0], value)]
        name = self._temporary()
        statements: list[ast.stmt] = [_assign(_stored(name), _call("value_of", value))]
        for target in node.targets:
            statements += self._unpack(target, ast.Name(name, ast.Load()))
        return statements

    def _unpack(self, target: ast.expr, value: ast.expr) -> Iterator[ast.stmt]:
        if not isinstance(target, ast.Tuple | ast.List):
            yield self._store(target, value)
            return
        names = [self._temporary() for _ in target.elts]
        pattern: list[ast.expr] = [
            ast.Starred(_stored(name), ast.Store()) if isinstance(t, ast.Starred) else _stored(name)
            for name, t in zip(names, target.elts)
        ]
        yield _assign(ast.Tuple(pattern, ast.Store()), value)
        for name, element in zip(names, target.elts):
            inner = element.value if isinstance(element, ast.Starred) else element
            yield from self._unpack(inner, ast.Name(name, ast.Load()))

    def _temporary(self) -> str:
        self.temporaries += 1
        return f"{_HELPERS}{self.temporaries}"

    def _store(self, target: ast.expr, value: ast.expr) -> ast.stmt:
        if isinstance(target, ast.Subscript):
            place = self.visit(target.value), self._key(target.slice)
            return ast.Expr(_call("put", *place, value))
        if isinstance(target, ast.Attribute):
            return ast.Expr(
                _call("put_member", self.visit(target.value), ast.Constant(target.attr), value)
            )
        assert isinstance(target, ast.Name)
        return _assign(_stored(target.id), self._new_value(target, value))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """Make a variable of the declared type."""
        if not isinstance(node.target, ast.Name) or node.value is None:
            self._refuse(node, "a declaration is of a variable, and gives it a value")
        assert isinstance(node.target, ast.Name) and node.value is not None
        value = self.visit(node.value)
        self.scopes[-1].add(node.target.id)
        return _assign(_stored(node.target.id), _call("typed", self.visit(node.annotation), value))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """Update a variable, an element or a member."""
        value = self._update(type(node.op).__name__, node.target, self.visit(node.value))
        if isinstance(node.target, ast.Name):
            return _assign(_stored(node.target.id), value)
        return ast.Expr(value)


_NAMES = {
    Update.ADD: "Add",
    Update.SUB: "Sub",
    Update.MUL: "Mult",
    Update.MIN: "min",
    Update.MAX: "max",
    Update.AND: "BitAnd",
    Update.OR: "BitOr",
    Update.XOR: "BitXor",
    Update.EXCHANGE: "exchange",
}


def _helper(name: str) -> ast.expr:
    return ast.Attribute(ast.Name(_HELPERS, ast.Load()), name, ast.Load())


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(_helper(name), list(arguments), [])


def _stored(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _assign(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign([target], value)
