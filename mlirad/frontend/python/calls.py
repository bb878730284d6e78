"""Calls: types convert, specials translate themselves, `@ti.func` is inlined, Python functions run
at compile time."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Callable
from typing import Any

from mlirad.errors import (
    TaichiCompilationError,
    TaichiRuntimeError,
    TaichiSyntaxError,
    TaichiTypeError,
)
from mlirad.frontend.python import functions as fn
from mlirad.frontend.python import scalar as ex
from mlirad.frontend.python.annotations import MatrixType, evaluate_annotations, is_template
from mlirad.frontend.python.builder import Anchor
from mlirad.frontend.python.counterparts import refuse_counterpart
from mlirad.frontend.python.custom_functions import call_custom
from mlirad.frontend.python.loops import make_range
from mlirad.frontend.python.matrix import Matrix
from mlirad.frontend.python.places import Place, array_ref
from mlirad.frontend.python.python_objects import call_python
from mlirad.frontend.python.scalar import Expr
from mlirad.frontend.python.scopes import Flag, Frame
from mlirad.frontend.python.source import FunctionSource, read_source
from mlirad.frontend.python.specials import Special, print_special
from mlirad.frontend.python.statements import visit_block
from mlirad.frontend.python.text_format import format_braces
from mlirad.frontend.python.translator import Translator, frozen, handles
from mlirad.frontend.python.variables import Variable, make_slot
from mlirad.ir.walk import owner_operation
from mlirad.types import DataType, resolve, u1

MAX_INLINE_DEPTH = 64


class Function:
    """A `@ti.func`: inlined where it is called from a kernel; in Python scope the function
    itself."""

    def __init__(self, function: Callable[..., Any], owner: object = None) -> None:
        self.function = function
        self.owner = owner
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._source: FunctionSource | None = None
        self.vjp: Function | None = None
        self.jvp: Function | None = None

    @property
    def source(self) -> FunctionSource:
        """The syntax tree, read once."""
        if self._source is None:
            self._source = read_source(self.function)
        return self._source

    def __get__(self, owner: object, kind: type | None = None) -> Function:
        if owner is None:
            return self
        bound = Function(self.function, owner)
        bound._source, bound.vjp, bound.jvp = self.source, self.vjp, self.jvp
        return bound

    def def_vjp(self, rule: object) -> Function:
        """Decorate the function's derivative for reverse mode, in place of the one that would be
        derived from its body.

        `rule(*arguments, result, adjoint)` returns an adjoint of the shape of each argument that is
        a float, a vector or a matrix of floats (None for zeros); `result` is what the function
        returned, and `adjoint` has its structure. The function then only computes with its
        arguments. Raises TaichiRuntimeError where it has such a rule already, TaichiTypeError for a
        kernel.
        """
        self.vjp = self._rule(self.vjp, rule, "def_vjp")
        return self.vjp

    def def_jvp(self, rule: object) -> Function:
        """Decorate the function's derivative for forward mode, in place of one that calls the rule
        of `def_vjp`.

        `rule(*arguments, result, *tangents)`, with a tangent for each argument of floats, returns
        the tangent of the result, in its structure (None for zeros). Raises like `def_vjp`.
        """
        self.jvp = self._rule(self.jvp, rule, "def_jvp")
        return self.jvp

    def _rule(self, present: Function | None, rule: object, name: str) -> Function:
        if self.owner is not None:
            raise TaichiRuntimeError(
                f"'{self.__name__}' belongs to an object: {name} is used on the function in its "
                f"class"
            )
        if present is not None:
            raise TaichiRuntimeError(
                f"'{self.__name__}' has a {name} already: '{present.__name__}'"
            )
        if isinstance(rule, Function):
            return rule
        if not inspect.isfunction(rule):
            raise TaichiTypeError(
                f"{name} takes a @ti.func or a Python function, not a {type(rule).__name__}"
            )
        evaluate_annotations(rule, sys._getframe(2))
        return Function(rule)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.function(*([self.owner] if self.owner is not None else []), *args, **kwargs)


_BUILTINS: dict[Any, Callable[..., Any]] = {
    builtins.abs: fn.abs,
    builtins.min: fn.min,
    builtins.max: fn.max,
    builtins.pow: fn.pow,
    builtins.round: fn.round,
    builtins.range: make_range,
    builtins.all: fn.all,
    builtins.any: fn.any,
}


@handles(ast.Call)
def _call(t: Translator, node: ast.Call) -> Any:
    callee = t.visit(node.func)
    if callee is builtins.print:
        callee = print_special
    if isinstance(callee, Special):
        return callee.translate(t, node)
    if isinstance(callee, Function):
        return _inline(t, callee, node)
    positional, named = _arguments(t, node)
    if isinstance(callee, DataType) or callee in (int, float, bool):
        return _convert(t, callee, positional if not named else [])
    if isinstance(callee, Variable | Place | Expr):
        raise TaichiTypeError("this value cannot be called")
    if getattr(callee, "__name__", "") == "format" and isinstance(
        getattr(callee, "__self__", None), str
    ):
        return format_braces(callee.__self__, positional, named).plain()
    known = _BUILTINS.get(callee) if getattr(callee, "__hash__", None) else None
    if known is not None:
        return known(*positional, **named)
    refuse_counterpart(callee, [*positional, *named.values()], is_static=t.static_arguments > 0)
    return call_python(callee, positional, named, t.made, t.builder.region)


def _arguments(t: Translator, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    positional: list[Any] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            positional += list(t.visit_value(argument.value))
        else:
            positional.append(t.visit_value(argument))
    named: dict[str, Any] = {}
    for keyword in node.keywords:
        value = t.visit_value(keyword.value)
        named.update({keyword.arg: value} if keyword.arg is not None else value)
    return positional, named


def _convert(t: Translator, dtype: Any, arguments: list[Any]) -> Any:
    if len(arguments) != 1:
        raise TaichiSyntaxError("A primitive type can only decorate a single expression.")
    target = u1 if dtype is bool else resolve(dtype, t.builder.default_fp, t.builder.default_ip)
    value = arguments[0]
    if isinstance(value, Matrix):
        return value.cast(target)
    if isinstance(value, str):
        return dtype(value)
    return ex.cast(value, target)


def _inline(t: Translator, function: Function, node: ast.Call) -> Any:
    return call_bound(t, function, bind_parameters(t, function, node), node)


def bind_parameters(
    t: Translator, function: Function, node: ast.Call
) -> dict[str, tuple[Any, bool]]:
    """The arguments of a call by parameter name, each with whether it is passed by reference."""
    if len(t.frames) > MAX_INLINE_DEPTH:
        raise TaichiCompilationError(
            f"'{function.__name__}' calls itself: recursion is not supported"
        )
    return _bind_parameters(t, function, function.source, node)


def call_bound(
    t: Translator, function: Function, bindings: dict[str, tuple[Any, bool]], node: ast.Call
) -> Any:
    """Translate a function for some arguments; `node` is where it is called."""
    if function.vjp is None and function.jvp is None:
        return _translate_body(t, function, bindings, node)
    vjp, jvp = (
        None if rule is None else Function(rule.function, function.owner)
        for rule in (function.vjp, function.jvp)
    )
    return call_custom(
        t,
        function,
        bindings,
        vjp,
        jvp,
        lambda callee, given: _translate_body(t, callee, given, node),
    )


def _translate_body(
    t: Translator, function: Function, bindings: dict[str, tuple[Any, bool]], node: ast.Call
) -> Any:
    source = function.source
    frame = Frame(
        function.__name__,
        source.file,
        source.line_offset,
        source.column_offset,
        source.names,
        set(source.mutable),
        is_kernel=False,
        stored=source.stored,
    )
    frame.return_type = _declared_result(function)
    anchor = owner_operation(make_slot(u1))
    frame.entry_anchor = Anchor(anchor, t.builder.region, t.depth)
    body = source.node.body
    if _needs_live_flag(body):
        frame.live = Flag()
    for name, (value, by_reference) in bindings.items():
        frame.define(name, value if by_reference else _by_value(frame, name, value))
    t.frames.append(frame)
    outer, t.in_parallel = t.in_parallel, True if frame.live is not None else t.in_parallel
    stopped = len(t.builder.stopped)
    try:
        visit_block(t, body)
    except TaichiCompilationError as error:
        t.frames.pop()
        note = f"in '{function.__name__}', called at {t.place_of(node)}"
        if note not in getattr(
            error, "__notes__", ()
        ):  # a recursion comes by the same place again and again
            error.add_note(note)
        t.frames.append(frame)
        raise
    finally:
        t.frames.pop()
        t.in_parallel = outer
        del t.builder.stopped[stopped:]
    result = frame.result.load() if isinstance(frame.result, Variable) else frame.result
    if result is None and _annotation(function, "return") is not None:
        raise TaichiSyntaxError(
            "Function has a return type but does not have a return statement: "
            f"'{function.__name__}'"
        )
    return result


def _declared_result(function: Function) -> Any:
    """The type that a function's results are converted to, or None."""
    declared = _annotation(function, "return")
    kind = getattr(declared, "__args__", None) or (
        tuple(declared) if isinstance(declared, list) else declared
    )
    return (
        kind
        if isinstance(kind, tuple | MatrixType | DataType) or kind in (int, float, bool)
        else None
    )


def _annotation(function: Function, name: str) -> Any:
    declared = function.function.__annotations__.get(name)
    if isinstance(declared, str):
        raise TaichiSyntaxError(
            f"Invalid type annotation (argument {name}) of '{function.__name__}': {declared}"
        )
    return declared


def _needs_live_flag(body: list[ast.stmt]) -> bool:
    """Whether some `return` is not the function's last statement."""
    returns = [n for statement in body for n in ast.walk(statement) if isinstance(n, ast.Return)]
    return any(r is not body[-1] for r in returns) and not _only_static(body)


def _only_static(body: list[ast.stmt]) -> bool:
    """Whether every `return` stands under `if ti.static(...)` only, so that one is chosen while
    compiling."""

    def holds(statements: list[ast.stmt]) -> bool:
        for statement in statements:
            if isinstance(statement, ast.If):
                test = statement.test
                is_static = isinstance(test, ast.Call) and "static" in (
                    getattr(test.func, "attr", ""),
                    getattr(test.func, "id", ""),
                )
                inner = statement.body + statement.orelse
                if any(isinstance(n, ast.Return) for s in inner for n in ast.walk(s)) and not (
                    is_static and holds(statement.body) and holds(statement.orelse)
                ):
                    return False
            elif not isinstance(statement, ast.Return) and any(
                isinstance(n, ast.Return) for n in ast.walk(statement)
            ):
                return False
        return True

    return holds(body)


def _by_value(frame: Frame, name: str, value: object) -> Any:
    if name in frame.mutable:
        if isinstance(value, list):
            return Variable(Matrix(value))
        if isinstance(value, Matrix) or ex.is_scalar(value):
            return Variable(value)
    return frozen(value)


def _bind_parameters(
    t: Translator, function: Function, source: FunctionSource, node: ast.Call
) -> dict[str, tuple[Any, bool]]:
    """Arguments by parameter name, each with whether it is passed by reference."""
    arguments = source.node.args
    if arguments.vararg or arguments.kwarg:
        raise TaichiSyntaxError(
            f"'{function.__name__}' takes *args or **kwargs, which a @ti.func cannot"
        )
    names = [argument.arg for argument in arguments.args]
    annotations = {a.arg: a.annotation for a in arguments.args}
    bound: dict[str, tuple[Any, bool]] = {}
    if function.owner is not None:
        bound[names[0]] = (function.owner, True)
        names = names[1:]
    given: list[tuple[str, Any]] = []
    position = 0
    for argument in node.args:
        starred = (
            list(t.visit_value(argument.value)) if isinstance(argument, ast.Starred) else [argument]
        )
        for item in starred:
            if position >= len(names):
                raise TaichiSyntaxError(
                    f"Too many arguments: '{function.__name__}' takes {len(names)}"
                )
            given.append((names[position], item))
            position += 1
    for keyword in node.keywords:
        if keyword.arg not in names:
            raise TaichiSyntaxError(
                f"Unexpected argument '{keyword.arg}' for '{function.__name__}'"
            )
        given.append((keyword.arg, keyword.value))
    for name, item in given:
        if name in bound:
            raise TaichiSyntaxError(
                f"Multiple values for argument '{name}' of '{function.__name__}'"
            )
        bound[name] = _bind_one(t, function, name, annotations[name], item)
    defaults = dict(
        zip(
            reversed([a.arg for a in arguments.args]),
            reversed(function.function.__defaults__ or ()),
        )
    )
    for name in names:
        if name not in bound:
            if name not in defaults:
                raise TaichiSyntaxError(
                    f"Parameter `{name}` missing in a call of '{function.__name__}'"
                )
            bound[name] = (defaults[name], False)
    return bound


def _bind_one(
    t: Translator, function: Function, name: str, annotation: ast.expr | None, item: Any
) -> tuple[Any, bool]:
    declared = _annotation(function, name)
    if is_template(declared):
        if not isinstance(item, ast.AST):
            return item, True
        return t.visit(item), True
    value = t.visit_value(item) if isinstance(item, ast.AST) else item
    if array_ref(value) is not None:
        return value, True
    if isinstance(declared, MatrixType):
        return declared(value), False
    if isinstance(declared, DataType) or declared in (int, float, bool):
        if not ex.is_scalar(value):
            raise TaichiTypeError(
                f"parameter '{name}' of '{function.__name__}' is a scalar, "
                f"but got a {type(value).__name__}"
            )
        return _convert(t, declared, [value]), False
    return value, False
