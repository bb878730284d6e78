"""Calls: types convert, specials translate themselves, `@ti.func` is inlined, Python functions run
at compile time."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mlirad.errors import SourceLocation, TaichiCompilationError, TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.building.builder import Anchor, current
from mlirad.frontend.python.calls.counterparts import refuse_counterpart
from mlirad.frontend.python.calls.custom_functions import call_custom
from mlirad.frontend.python.calls.parameters import Binding, Bindings, bind_parameters
from mlirad.frontend.python.calls.recursion import call_recursive, calls_itself
from mlirad.frontend.python.calls.specials import Special, print_special
from mlirad.frontend.python.places.place import Place, PlaceList
from mlirad.frontend.python.places.struct_places import make_local
from mlirad.frontend.python.places.variables import Variable, make_slot
from mlirad.frontend.python.source.function import Function
from mlirad.frontend.python.source.jumps import returns_early
from mlirad.frontend.python.source.nodes import statements_in
from mlirad.frontend.python.translation.choices import joined_result
from mlirad.frontend.python.translation.conversions import convert, convert_result
from mlirad.frontend.python.translation.python_objects import call_python
from mlirad.frontend.python.translation.scopes import Flag, Frame
from mlirad.frontend.python.translation.statements import visit_block
from mlirad.frontend.python.translation.text_format import format_braces
from mlirad.frontend.python.translation.translator import Translator, copy_value, handles
from mlirad.frontend.python.values import functions as fn
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.domains import make_range
from mlirad.frontend.python.values.leaves import without_derivative
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Expr
from mlirad.frontend.python.values.struct import Struct, members_of
from mlirad.ir.walk import owner_operation
from mlirad.types import DataType, u1

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
        if callee.requires_top_level and t.builder.region is not t.builder.root:
            raise TaichiSyntaxError(
                f"'{callee.__name__}' is declared with requires_top_level=True, but is called in "
                f"{t.builder.region.kind}, where its loops would not be outermost loops"
            )
        return call_bound(t, callee, bind_parameters(t, callee, node), node)
    positional, named = _arguments(t, node)
    if isinstance(callee, DataType) or callee in (int, float, bool):
        if _is_of_compile_time(t, callee, positional):
            return callee(*positional, **named)
        return convert(t, callee, positional if not named else [])
    if isinstance(callee, Variable | Place | Expr):
        raise TaichiTypeError("this value cannot be called")
    if getattr(callee, "__name__", "") == "format" and isinstance(
        getattr(callee, "__self__", None), str
    ):
        return format_braces(callee.__self__, positional, named).plain()
    replacement = _BUILTINS.get(callee) if getattr(callee, "__hash__", None) else None
    if replacement is not None:
        return replacement(*positional, **named)
    is_static = t.builder.static_arguments > 0
    refuse_counterpart(callee, [*positional, *named.values()], is_static=is_static)
    try:
        return call_python(callee, positional, named, t.new_objects, t.builder.region)
    except TypeError as error:
        inner = error.__traceback__ and error.__traceback__.tb_next
        if inner is not None and inner.tb_next is None:  # no code of the callee has run
            _refuse_call(callee, positional, named, ast.unparse(node.func))
        raise


def _refuse_call(callee: Any, positional: list[Any], named: dict[str, Any], name: str) -> None:
    """Raise TaichiTypeError if an object is no function, or does not have these parameters."""
    if not callable(callee):
        is_hidden = name in vars(builtins)
        raise TaichiTypeError(
            f"'{name}' is {'an' if isinstance(callee, int) else 'a'} {type(callee).__name__} here, "
            "and no function"
            + (": the program gives the name of Python's function to it" if is_hidden else "")
        )
    try:
        parameters = inspect.signature(callee)
    except (TypeError, ValueError):  # a function of C without a signature
        return
    try:
        parameters.bind(*positional, **named)
    except TypeError as error:
        plain = [p.replace(annotation=p.empty) for p in parameters.parameters.values()]
        raise TaichiTypeError(f"{name}{inspect.Signature(plain)}: {error}") from None


def _is_of_compile_time(t: Translator, callee: Any, positional: list[Any]) -> bool:
    """Return whether a conversion is Python's own: one of numbers, within `ti.static`."""
    is_static = t.builder.static_arguments > 0 and callee in (int, float, bool)
    return is_static and all(isinstance(value, int | float | str) for value in positional)


def _arguments(t: Translator, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    named: dict[str, Any] = {}
    positional = t.visit_values(node.args)
    for keyword in node.keywords:
        value = t.visit_value(keyword.value)
        named.update({keyword.arg: value} if keyword.arg is not None else value)
    return positional, named


def call_bound(t: Translator, function: Function, bindings: Bindings, node: ast.Call) -> Any:
    """Translate a function for some arguments; `node` is the call."""
    if function.is_constant:
        with _no_derivative(t):
            constants = {name: _constant(function, name, b) for name, b in bindings.items()}
            return _translate_body(t, function, constants, node)
    if function.is_real and calls_itself(function):
        return _call_recursive(t, function, bindings, node)
    if function.vjp is None and function.jvp is None:
        return _translate_body(t, function, bindings, node)
    return call_custom(
        t, function, bindings, lambda callee, inner: _translate_body(t, callee, inner, node)
    )


@contextmanager
def _no_derivative(t: Translator) -> Iterator[None]:
    """Translate loads that carry no derivative."""
    outer, t.builder.is_constant = t.builder.is_constant, True
    try:
        yield
    finally:
        t.builder.is_constant = outer


def _constant(function: Function, name: str, binding: Binding) -> Binding:
    """Return an argument of a function through which no derivative passes."""
    if not binding.by_reference:
        subject = f"'{function.__name__}': argument '{name}'"
        is_value = isinstance(binding.value, Matrix | Struct | tuple | list | Expr)
        return Binding(without_derivative(binding.value, subject)) if is_value else binding
    if _holds_variable(binding.value):
        raise TaichiTypeError(
            f"'{function.__name__}' has no derivative (ti.ad.no_grad): pass its argument "
            f"'{name}' by value, not as a variable that it may change (ti.template())"
        )
    return binding


def _holds_variable(value: object) -> bool:
    """Return whether a place is a variable, or a vector or a struct of some."""
    if isinstance(value, PlaceList):
        return any(map(_holds_variable, value.places))
    if isinstance(value, Struct):
        return any(map(_holds_variable, members_of(value).values()))
    return isinstance(value, Variable)


def _call_recursive(t: Translator, function: Function, bindings: Bindings, node: ast.Call) -> Any:
    if function.vjp is not None or function.jvp is not None:
        raise TaichiSyntaxError(
            f"'{function.__name__}' calls itself and has its own derivatives: a function cannot "
            "have both"
        )
    with _note_call(function, t.place_of(node)):
        return call_recursive(t, function, bindings)


def _translate_body(t: Translator, function: Function, bindings: Bindings, node: ast.Call) -> Any:
    body = function.source.node.body
    if function.is_real and function.result_type() is None and _returns_value(body):
        raise TaichiSyntaxError(
            "A real function with a return value must be annotated by one type: "
            f"'{function.__name__}'"
        )
    frame, place = _frame(t, function, bindings), t.place_of(node)
    t.frames.append(frame)
    in_order = function.is_real or frame.live is not None
    outer, t.in_parallel = t.in_parallel, in_order or t.in_parallel
    stopped = len(t.builder.stopped)
    try:
        with _note_call(function, place):
            visit_block(t, body)
    finally:
        t.frames.pop()
        t.in_parallel = outer
        del t.builder.stopped[stopped:]
    result = joined_result(frame)
    if function.is_real and result is not None:
        return convert_result(t, function.result_type(), result)
    if result is None and function.annotation("return") is not None:
        raise TaichiSyntaxError(
            "Function has a return type but does not have a return statement: "
            f"'{function.__name__}'"
        )
    return result


def _returns_value(body: list[ast.stmt]) -> bool:
    """Return whether a function's body holds a `return` with a value."""
    returns = [inner for inner in statements_in(body) if isinstance(inner, ast.Return)]
    return any(node.value is not None for node in returns)


def _frame(t: Translator, function: Function, bindings: Bindings) -> Frame:
    """The names of a function at the start of its body."""
    frame = Frame(function.__name__, function.source, False, function.result_type())
    frame.entry_anchor = Anchor(owner_operation(make_slot(u1)), t.builder.region, t.depth)
    if returns_early(function.source.node.body):
        frame.live = Flag()
    for name, binding in bindings.items():
        value = (
            binding.value if binding.by_reference else _pass_by_value(frame, name, binding.value)
        )
        frame.define(name, value)
    return frame


def _pass_by_value(frame: Frame, name: str, value: object) -> Any:
    if isinstance(value, Struct):
        return make_local(value)
    if name in frame.source.mutable:
        if isinstance(value, list):
            return Variable(Matrix(value))
        if isinstance(value, Matrix) or ex.is_scalar(value):
            return Variable(value)
    return copy_value(value)


@contextmanager
def _note_call(function: Function, place: SourceLocation) -> Iterator[None]:
    """Note the place of a call in errors from inside the function."""
    calls = current().calls
    calls.append((function.__name__, place))
    try:
        yield
    except TaichiCompilationError as error:
        note = f"in '{function.__name__}', called at {place}"
        if note not in getattr(error, "__notes__", ()):  # a recursion comes by here again
            error.add_note(note)
        raise
    finally:
        calls.pop()
