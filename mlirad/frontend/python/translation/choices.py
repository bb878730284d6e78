"""Values of which one is chosen at run time: by `and`, `or` and conditional expressions, and by the
`return` that a function reaches."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from mlirad.bindings import ir
from mlirad.errors import TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.building.builder import Anchor, constant
from mlirad.frontend.python.building.open_regions import Region
from mlirad.frontend.python.building.regions import if_op
from mlirad.frontend.python.places.variables import make_slot, read_slot, write_slot
from mlirad.frontend.python.translation.scopes import Frame
from mlirad.frontend.python.translation.translator import Translator, handles
from mlirad.frontend.python.values import functions as fn
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.leaves import kind_of, like, scalars_of
from mlirad.frontend.python.values.matrix import Matrix, Value
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.frontend.python.values.struct import Struct
from mlirad.ir.walk import owner_operation
from mlirad.types import i64, promote, u1

Evaluate = Callable[[], Any]


@handles(ast.BoolOp)
def _bool_op(t: Translator, node: ast.BoolOp) -> Any:
    """`and` and `or`: the value of the operand that decides, as in Python; elementwise, as 0 and 1,
    on vectors."""
    conjunction = isinstance(node.op, ast.And)
    result = t.visit_value(node.values[0])
    for operand in node.values[1:]:
        if isinstance(result, Matrix):
            right = t.visit_value(operand)
            result = (fn.logical_and if conjunction else fn.logical_or)(result, right)
        elif not isinstance(result, Expr):
            if bool(ex.truth(result)) != conjunction:
                return result
            result = t.visit_value(operand)
        elif _is_cheap(operand):
            result = _combine(result, t.visit_value(operand), conjunction)
        else:
            result = _short_circuit(t, result, operand, conjunction)
    return result


def _combine(left: Expr, right: Value, conjunction: bool) -> Any:
    if isinstance(right, Matrix):
        return right.map_with(fn.logical_and if conjunction else fn.logical_or, left, right)
    if left.dtype == u1 and isinstance(right, bool):
        return left if right == conjunction else right
    if left.dtype == u1 and isinstance(right, Expr) and right.dtype == u1:
        return left & right if conjunction else left | right
    return ex.select(left, right, left) if conjunction else ex.select(left, left, right)


def _short_circuit(t: Translator, left: Expr, operand: ast.expr, conjunction: bool) -> Any:
    def evaluate() -> Any:
        right = t.visit_value(operand)
        if isinstance(right, Matrix):
            raise TaichiTypeError(
                "'and' and 'or' cannot combine a scalar and a vector: use ti.select, or compare "
                "entries"
            )
        return right

    first: list[Any] = [evaluate, lambda: left] if conjunction else [lambda: left, evaluate]
    return choose(t, ex.truth(left), *first)


def _is_cheap(node: ast.expr) -> bool:
    """Return whether evaluating a node early touches no memory and calls nothing."""
    return not any(
        isinstance(n, ast.Subscript | ast.Call | ast.Div | ast.FloorDiv | ast.Mod)
        for n in ast.walk(node)
    )


@handles(ast.IfExp)
def _if_exp(t: Translator, node: ast.IfExp) -> Any:
    test = t.visit_value(node.test)
    if isinstance(test, Matrix):
        raise TaichiSyntaxError(
            "The condition of a conditional expression must be a scalar. "
            'Please use "ti.select" instead.'
        )
    condition = ex.truth(test)
    if isinstance(condition, bool):
        return t.visit_value(node.body if condition else node.orelse)
    return choose(
        t, condition, lambda: t.visit_value(node.body), lambda: t.visit_value(node.orelse)
    )


def choose(t: Translator, condition: Expr, then: Evaluate, otherwise: Evaluate) -> Any:
    """The value of one of two branches, of which only the one taken runs."""
    anchor = owner_operation(make_slot(u1))
    values: list[Any] = []
    branches: list[Region] = []

    def branch(evaluate: Evaluate) -> Callable[[], None]:
        def run() -> None:
            with t.at_run_time():
                branches.append(t.builder.region)
                values.append(evaluate())

        return run

    op = if_op(condition.value, branch(then), branch(otherwise))
    subject = "Cannot broadcast tensor to tensor: the branches of a conditional expression"
    values = [_without_lists(value, Matrix) for value in values]
    model = _model(values, subject)
    lists = [_like_model(value, model, subject) for value in values]
    with branches[0].reopen(), branches[1].reopen():
        results = [_join(op, anchor, [pair[0], pair[1]]) for pair in zip(*lists)]
    return like(model, results)


def _without_lists(value: Any, kind: Callable[[Any], Any]) -> Any:
    """A value with a vector or a tuple in the place of a list; within a tuple, a tuple."""
    if isinstance(value, tuple):
        return tuple([_without_lists(item, tuple) for item in value])
    if not isinstance(value, list):
        return value
    return kind([_without_lists(item, tuple) for item in value] if kind is tuple else value)


def _model(values: Sequence[object], subject: str) -> Any:
    """The structure of several values' common result: tuples are joined entry by entry, and a
    scalar stands for all entries of a vector."""
    composites = [value for value in values if not ex.is_scalar(value)]
    if any(isinstance(value, Matrix) for value in composites):
        composites = [Matrix(value) if isinstance(value, tuple) else value for value in composites]
    has_tree = any(isinstance(value, Struct | tuple) for value in composites)
    compared = values if has_tree else composites
    lengths = {len(value) if isinstance(value, tuple) else -1 for value in compared}
    if len(lengths) == 1 and lengths != {-1}:
        columns = zip(*[value for value in composites if isinstance(value, tuple)])
        return tuple([_model(column, subject) for column in columns])
    kinds = {kind_of(value) for value in compared}
    if len(kinds) > 1:
        raise TaichiTypeError(f"{subject} are {' and '.join(sorted(kinds))}")
    return composites[0] if composites else values[0]


def _like_model(value: Any, model: object, subject: str) -> list[Scalar]:
    """The scalars of a value, in the structure of the common result."""
    if isinstance(model, tuple):
        pairs = zip(value, model)
        return [
            scalar
            for item, item_model in pairs
            for scalar in _like_model(item, item_model, subject)
        ]
    scalars = scalars_of(model, subject)
    return [value] * len(scalars) if ex.is_scalar(value) else scalars_of(value, subject)


def _join(op: ir.Operation, anchor: ir.Operation, values: Sequence[Scalar]) -> Expr:
    from_types = [ex.dtype_of(v) for v in values]
    dtype = promote(*from_types)
    with ir.InsertionPoint(anchor):
        slot = make_slot(dtype)
    for region, value in zip(op.regions, values):
        with ir.InsertionPoint(region.blocks[0].operations[len(region.blocks[0].operations) - 1]):
            write_slot(slot, ex.cast(value, dtype).value)
    return read_slot(slot, dtype)


class ReturnValues:
    """The values of the `return` statements of a function, of which run time chooses one."""

    def __init__(self, function: str) -> None:
        self._subject = f"the values that '{function}' returns"
        self._values: list[Any] = []
        self._places: list[tuple[Anchor, ir.Location]] = []

    def keep(self, t: Translator, value: Any) -> None:
        """Note a value that is returned here. Raises TaichiTypeError for a value that cannot be
        chosen at run time, or has another structure than an earlier one."""
        value = _without_lists(value, tuple)
        for scalar in scalars_of(value, f"one of {self._subject}"):
            if isinstance(scalar, Expr):
                scalar.check_visible()
        self._values.append(value)
        _model(self._values, self._subject)
        anchor = Anchor(owner_operation(constant(0, i64)), t.builder.region, t.depth)
        self._places.append((anchor, ir.Location.current))

    def join_values(self, start: Anchor) -> Any:
        """The value that is returned, in the type that all have together: at the end of the
        function, which begins at `start`."""
        model = _model(self._values, self._subject)
        rows = [_like_model(value, model, self._subject) for value in self._values]
        dtypes = [reduce(promote, map(ex.dtype_of, column)) for column in zip(*rows)]
        with start.inserting():
            slots = [make_slot(dtype) for dtype in dtypes]
            for slot, dtype in zip(slots, dtypes):
                write_slot(slot, constant(0, dtype))
        for row, (place, location) in zip(rows, self._places):
            with location, place.region.reopen(), place.inserting():
                for slot, dtype, scalar in zip(slots, dtypes, row):
                    write_slot(slot, ex.cast(scalar, dtype).value)
        return like(model, [read_slot(slot, dtype) for slot, dtype in zip(slots, dtypes)])


def joined_result(frame: Frame) -> Any:
    """The result of a function that has been translated."""
    is_chosen = isinstance(frame.result, ReturnValues)
    return frame.result.join_values(frame.entry_anchor) if is_chosen else frame.result
