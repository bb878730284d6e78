"""Expression nodes."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

from mlirad.errors import TaichiCompilationError, TaichiSyntaxError, TaichiTypeError, did_you_mean
from mlirad.frontend.python.places.arrays import array_ref
from mlirad.frontend.python.places.blocks import list_at
from mlirad.frontend.python.places.place import Place, ValuePlace, needs_static_index
from mlirad.frontend.python.places.views import KernelView
from mlirad.frontend.python.translation.python_objects import is_module_of_program, is_of_program
from mlirad.frontend.python.translation.text_format import FormattedText, format_percent
from mlirad.frontend.python.translation.translator import Translator, handles
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.python_numbers import refuse_whole
from mlirad.frontend.python.values.scalar import Expr
from mlirad.frontend.python.values.struct import Struct

BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_NO_OPERANDS: tuple[tuple[type, str], ...] = (  # and what to write instead
    (complex, "ti.Vector([re, im]) is a complex number, and ti.math.cmul multiplies two"),
    (type(None), "the function that was called returns no value here: give each path a return"),
    (str, "a kernel computes with numbers, and keeps texts for print only"),
)
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


@handles(ast.Constant)
def _constant(t: Translator, node: ast.Constant) -> Any:
    return node.value


@handles(ast.Name)
def _name(t: Translator, node: ast.Name) -> Any:
    return t.frame.lookup(node.id)


@handles(ast.Tuple, ast.List)
def _sequence(t: Translator, node: ast.Tuple | ast.List) -> Any:
    values = t.visit_values(node.elts)
    return (
        tuple(values)
        if isinstance(node, ast.Tuple)
        else t.new_objects.note(values, t.builder.region)
    )


@handles(ast.Dict)
def _dict(t: Translator, node: ast.Dict) -> Any:
    result: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values):
        item = t.visit_value(value)
        result.update(item if key is None else {t.visit_value(key): item})
    return t.new_objects.note(result, t.builder.region)


@handles(ast.JoinedStr)
def _joined_str(t: Translator, node: ast.JoinedStr) -> Any:
    pieces: list[Any] = []
    for item in node.values:
        if isinstance(item, ast.FormattedValue):
            spec = (
                "".join(str(t.visit_value(s)) for s in item.format_spec.values)
                if isinstance(item.format_spec, ast.JoinedStr)
                else ""
            )
            pieces.append((t.visit_value(item.value), spec))
        else:
            pieces.append(t.visit_value(item))
    return FormattedText(pieces).plain()


@handles(ast.BinOp)
def _bin_op(t: Translator, node: ast.BinOp) -> Any:
    left, right = t.visit_value(node.left), t.visit_value(node.right)
    if isinstance(left, str) and isinstance(node.op, ast.Mod):
        return format_percent(left, right)
    if isinstance(left, list | tuple) and isinstance(right, Expr | Matrix):
        if isinstance(node.op, ast.Mult) and isinstance(right, Expr) and _repeats(left, right):
            raise TaichiTypeError(
                "a list is repeated by a number that is known at run time only: the length of a "
                "list or a vector is fixed when the kernel is compiled; to multiply the entry, "
                "write ti.Vector([x]) * n"
            )
        left = Matrix(left)
    return t.new_objects.note(_apply(BINARY[type(node.op)], left, right), t.builder.region)


def _repeats(values: list[Any] | tuple[Any, ...], factor: Expr) -> bool:
    """Return whether `[x] * n` looks like a list of n entries; other lists are vectors."""
    return len(values) == 1 and factor.dtype.is_integer


@handles(ast.UnaryOp)
def _unary_op(t: Translator, node: ast.UnaryOp) -> Any:
    value = t.visit_value(node.operand)
    if isinstance(node.op, ast.Not):
        return (
            value.map_with(ex.logical_not, value)
            if isinstance(value, Matrix)
            else ex.logical_not(value)
        )
    if isinstance(node.op, ast.USub):
        return _apply(operator.neg, value)
    return ~value if isinstance(node.op, ast.Invert) else +value


@handles(ast.Compare)
def _compare(t: Translator, node: ast.Compare) -> Any:
    left = t.visit_value(node.left)
    result: Any = None
    for op, comparator in zip(node.ops, node.comparators):
        right = t.visit_value(comparator)
        test = _compare_pair(t, op, left, right)
        result = test if result is None else _and(result, test)
        left = right
    return result


def _compare_pair(t: Translator, op: ast.cmpop, left: Any, right: Any) -> Any:
    if isinstance(left, Struct) or isinstance(right, Struct):
        raise TaichiTypeError("structs cannot be compared: compare their members")
    if isinstance(op, ast.In | ast.NotIn):
        if isinstance(left, Expr) or not isinstance(right, list | tuple | dict | set | range | str):
            raise TaichiSyntaxError(
                "'in' needs values that are known at compile time: write out the comparisons, "
                "or use ti.static"
            )
        return (left in right) == isinstance(op, ast.In)
    if isinstance(op, ast.Is | ast.IsNot):
        if isinstance(left, Expr) or isinstance(right, Expr):
            raise TaichiSyntaxError("'is' compares Python objects, not values in a kernel: use ==")
        return (left is right) == isinstance(op, ast.Is)
    symbol = COMPARE[type(op)]
    if isinstance(left, Matrix) or isinstance(right, Matrix):
        return ex.COMPARISONS[symbol](left, right)
    if isinstance(left, Expr) or isinstance(right, Expr):
        return ex.comparison(symbol)(left, right)
    return _apply(ex.COMPARISONS[symbol], left, right)


def _apply(operation: Callable[..., Any], *operands: Any) -> Any:
    """Apply an operator of Python. Raises TaichiTypeError for whole fields, too."""
    try:
        return operation(*operands)
    except TypeError as error:
        refuse_whole(*operands)
        trace = error.__traceback__
        is_raised_inside = trace is not None and trace.tb_next is not None
        if is_raised_inside or not any(isinstance(o, Expr | Matrix | None) for o in operands):
            raise
        names = " and ".join(map(_named, operands))
        cures = [cure for kind, cure in _NO_OPERANDS if any(type(o) is kind for o in operands)]
        cure = f": {cures[0]}" if cures else ""
        raise TaichiTypeError(f"this operator does not apply to {names}{cure}") from None


def _named(operand: object) -> str:
    if isinstance(operand, Expr):
        return f"a scalar of type {operand.dtype}"
    if isinstance(operand, Matrix):
        return f"a value of shape {operand.shape}"
    return "None" if operand is None else f"a {type(operand).__name__}"


def _and(left: Expr | Matrix | bool, right: Expr | Matrix | bool) -> Any:
    if isinstance(left, bool):
        return right if left else False
    if isinstance(right, bool):
        return left if right else False
    return left & right


@handles(ast.Attribute)
def _attribute(t: Translator, node: ast.Attribute) -> Any:
    base = t.visit_base(node.value)
    if isinstance(base, Place):
        place = base.attribute(node.attr)
        if place is not None:
            return place
        base = base.load()
    if (
        getattr(type(base), "is_passed", False) and not t.builder.static_arguments
    ):  # its extents are those that a launch finds
        base = array_ref(base)
    if is_of_program(base):
        _refuse_store(node, f"an attribute of a {type(base).__name__}")
    try:
        value = getattr(base, node.attr)
    except AttributeError as error:
        cure = did_you_mean(node.attr, dir(base))
        if not cure and array_ref(base) is not None:
            raise TaichiCompilationError(
                f"a whole field or array has no '{node.attr}' in a kernel: use its elements x[i] "
                "in a loop"
            ) from None
        text = str(error)
        has_cure = text.endswith("?") or ": " in text
        raise TaichiCompilationError(f"{text}{'' if has_cure else cure}") from None
    if is_module_of_program(base):
        t.builder.note_name(vars(base), node.attr, value)
    elif is_of_program(base) and not callable(value):
        t.builder.note_attribute(base, node.attr, value)
    return value


@handles(ast.Subscript)
def _subscript(t: Translator, node: ast.Subscript) -> Any:
    base = t.visit_base(node.value)
    if isinstance(node.slice, ast.Slice) and isinstance(view := array_ref(base), KernelView):
        return view.sliced(*_slice_bounds(t, node.slice))
    key = t.visit_value(node.slice)
    has_slice = isinstance(key, slice) or (
        isinstance(key, tuple) and any(isinstance(k, slice) for k in key)
    )
    if isinstance(base, Place):
        return (
            base.slice_at(key if isinstance(key, tuple) else (key,)) if has_slice else base.at(key)
        )
    array = array_ref(base)
    if array is not None:
        if has_slice:
            raise TaichiSyntaxError(
                "fields cannot be sliced in a kernel: a loop, for i in range(...), visits elements "
                "x[i]"
            )
        if re.fullmatch(r"field(_\d+)?", array.name):  # no variable gave the field a name
            array.name = ast.unparse(node.value)
        items = list_at(array, key)
        return array.element(key) if items is None else items
    if isinstance(base, Matrix):
        return ValuePlace(base).at(key)
    if isinstance(key, Expr):
        entries = base.values() if isinstance(base, dict) else base
        raise needs_static_index(type(base).__name__, entries)
    _refuse_store(node, f"an entry of a {type(base).__name__}")
    return base[key]


def _refuse_store(node: ast.Subscript | ast.Attribute, target: str) -> None:
    """Raise TaichiTypeError if a part of a Python object is assigned to."""
    if isinstance(node.ctx, ast.Store):
        raise TaichiTypeError(
            f"{target} cannot be assigned in a kernel: assign to local variables and elements of "
            "fields"
        )


@handles(ast.Slice)
def _slice(t: Translator, node: ast.Slice) -> Any:
    bounds = _slice_bounds(t, node)
    if any(isinstance(bound, Expr) for bound in bounds):
        raise TaichiSyntaxError(
            "Taichi does not support variables in slice now, please use constant instead of it."
        )
    return slice(*bounds)


def _slice_bounds(t: Translator, node: ast.Slice) -> list[Any]:
    bounds = (node.lower, node.upper, node.step)
    return [None if bound is None else t.visit_value(bound) for bound in bounds]
