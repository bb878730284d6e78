"""`te.compute`: a tensor by the expression of its elements."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiTypeError
from mlirad.te.definitions.arguments import (
    call_function,
    check_arguments,
    describe,
    fits,
    refuse,
    shown_value,
)
from mlirad.te.definitions.bounds import check_reads
from mlirad.te.definitions.dependencies import stop
from mlirad.te.definitions.rolled_sums import roll_sums
from mlirad.te.definitions.schedule import name_axes, names_in
from mlirad.te.definitions.size_needs import note_needs
from mlirad.te.emission import Emitter, mlir_type
from mlirad.te.expressions import (
    INDEX,
    Axis,
    Expr,
    Extent,
    Operand,
    Read,
    Reduction,
    cast,
    default_integer,
    expr,
    scalar_type,
    with_type,
)
from mlirad.te.expressions.normal_form import normal_form, replace_nodes
from mlirad.te.graph import graph
from mlirad.te.places import place
from mlirad.te.tensor import Shape, Tensor, checked_shape
from mlirad.types import DataType, TypeLike, i64


@check_arguments
@in_turn
def placeholder(shape: Any, dtype: TypeLike = float, name: str = "placeholder") -> Tensor:
    """Declare a tensor that is an argument of the built function: `x = te.placeholder((n, 3),
    name="x")`.

    Args:
        shape: integers of at least 0, and sizes made by `te.var`; `()` declares a number.
        dtype: a scalar type, by default `default_fp` of `ti.init`.
        name: a name for messages.

    Raises:
        TaichiTypeError: `dtype` is not a scalar type.
    """
    extents, resolved, at = (
        checked_shape(shape, "placeholder: shape", f" of tensor '{name}'"),
        scalar_type(dtype, "placeholder: dtype"),
        place(),
    )
    definitions = graph()
    definitions.begin()
    with definitions.defining(at):
        value = te.placeholder(name, tensor_type(extents, resolved), definitions.sizes(extents))
    return definitions.add_tensor(Tensor(value, extents, resolved, name, at))


@check_arguments
@in_turn
def compute(shape: Any, element: Callable[..., Any], name: str = "") -> Tensor:
    """Define a tensor by its elements.

    Args:
        shape: the extents.
        element: a function of the indices i, j, ... that returns the element there.
        name: a name for messages.

    Raises:
        TaichiTypeError: an element is not a number, or a reduction axis is used twice or outside
            its reduction.
        TaichiIndexError: a read is out of bounds.
    """
    extents, at = (
        checked_shape(shape, "compute: shape", f" of tensor '{name}'" * bool(name)),
        place(),
    )
    axes = _axes(extents, element)
    value = call_function(element, axes, "compute: element")
    if not fits(value, Operand):
        refuse("compute", "element", f"returns {shown_value(value)}, expected {describe(Operand)}")
    body = expr(value)
    body = cast(body, default_integer()) if body.dtype == INDEX else with_type(body)
    check_axes(body, {*axes})
    needs = check_reads(body, extents)
    body = roll_sums(body)
    tensor = define(extents, axes, body, name or f"compute{graph().count}", at, names_in(element))
    note_needs(tensor, needs)
    return tensor


def _axes(shape: Shape, element: Callable[..., Any]) -> list[Axis]:
    """An index for each axis, named as the function names it."""
    try:
        parameters = list(inspect.signature(element).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    parameter_names = [p.name for p in positional]
    takes_any = not parameters or any(p.kind is p.VAR_POSITIONAL for p in parameters)
    required = [p for p in positional if p.default is p.empty]
    if not takes_any and not len(required) <= len(shape) <= len(parameter_names):
        raise TaichiTypeError(
            f"compute: element: the tensor has {len(shape)} axes, but the function takes "
            f"{len(required)} indices",
            place(),
        )
    names = [*parameter_names, *(f"i{k}" for k in range(len(parameter_names), len(shape)))]
    return [Axis(INDEX, name, extent) for name, extent in zip(names, shape)]


def tensor_type(shape: Shape, dtype: DataType) -> ir.Type:
    """The type of a tensor; booleans are kept as they are."""
    dynamic = ir.ShapedType.get_dynamic_size()
    extents = [extent if isinstance(extent, int) else dynamic for extent in shape]
    return ir.RankedTensorType.get(extents, mlir_type(dtype))


def check_axes(body: Expr, free: set[Axis]) -> None:
    """Raise TaichiTypeError if an axis stands outside of what it belongs to."""
    pending = [(body, frozenset(free))]
    visited: set[tuple[Expr, frozenset[Axis]]] = set()
    while pending:
        node, bound = pending.pop()
        if (node, bound) in visited:
            continue
        visited.add((node, bound))
        inside = bound
        if isinstance(node, Axis) and node not in bound:
            why = (
                f"reduction axis '{node.name}' is used outside a reduction over it"
                if node.is_reduced
                else f"index '{node.name}' belongs to another definition"
            )
            raise TaichiTypeError(why, node.place)
        if isinstance(node, Reduction):
            for axis in node.axes:
                if axis in bound:
                    raise TaichiTypeError(
                        f"reduction axis '{axis.name}' is reduced within a reduction over it",
                        node.place,
                    )
            pending += [(value, bound) for value in reversed(node.initial)]
            inside = bound | set(node.axes)
        initial = node.initial if isinstance(node, Reduction) else ()
        inner = node.operands[: len(node.operands) - len(initial)]
        pending += [(operand, inside) for operand in reversed(inner)]


@in_turn
def define(
    shape: Shape,
    axes: Sequence[Axis],
    body: Expr,
    name: str,
    at: Any,
    variables: Mapping[str, Axis] | None = None,
) -> Tensor:
    """A definition by an expression that is known to be one; `variables` hold some of its axes."""
    definitions = graph()
    definitions.begin()
    root = normal_form(body, axes, lambda *inner: _define_inner(name, *inner))
    with definitions.defining(at):

        def fill(indices: list[ir.Value]) -> ir.Value:
            return Emitter(dict[Expr, ir.Value](zip(axes, indices)), definitions.extent).value(root)

        type_ = tensor_type(shape, root.dtype)
        value = te.compute(name, type_, definitions.sizes(shape), fill)
    reduced = root.axes if isinstance(root, Reduction) else ()
    all_axes = name_axes([*axes, *reduced], variables or {})
    return definitions.add_tensor(Tensor(value, shape, root.dtype, name, at, all_axes))


def _define_inner(name: str, expression: Expr, axes: Sequence[Axis]) -> Expr:
    """An element of a tensor of its own, over the indices that an expression uses."""
    indices = [Axis(INDEX, axis.name, axis.extent) for axis in axes]
    shape: tuple[Extent, ...] = tuple(axis.extent for axis in axes)
    body = replace_nodes(expression, dict(zip(axes, indices)))
    body = cast(body, i64) if body.dtype == INDEX else body
    kind = expression.kind if isinstance(expression, Reduction) else "branch"
    inner = define(shape, indices, body, f"{name}.{kind}", expression.place)
    if isinstance(expression, Reduction) and expression.is_constant:
        stop(inner)
    return cast(Read(inner.dtype, inner, tuple(axes), place=expression.place), expression.dtype)
