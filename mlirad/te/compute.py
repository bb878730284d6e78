"""`te.compute`: a tensor by the expression of its elements.

What is kept are definitions of two forms: an expression without reductions, or one reduction of
such an expression. So reductions within expressions become definitions of their own first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiTypeError
from mlirad.te.arguments import called, checked
from mlirad.te.bounds import check_reads
from mlirad.te.dependencies import stop
from mlirad.te.emission import Emitter, mlir_type
from mlirad.te.expressions import (
    INDEX,
    Axis,
    Call,
    Expr,
    Extent,
    Number,
    Read,
    Reduction,
    Select,
    Size,
    cast,
    expr,
    logic,
    scalar_type,
)
from mlirad.te.graph import graph
from mlirad.te.places import place
from mlirad.te.schedule import named, names_in
from mlirad.te.size_needs import note_needs
from mlirad.te.tensor import Shape, Tensor, checked_shape
from mlirad.types import DataType, TypeLike, f32, i32


@checked
@in_turn
def placeholder(shape: Any, dtype: TypeLike = f32, name: str = "placeholder") -> Tensor:
    """A tensor that a call is given: `x = te.placeholder((n, 3), name="x")`.

    `shape` has integers from 0 on, and sizes made by `te.var`; `()` is a number. `dtype` is a
    scalar type. Raises TaichiTypeError for what is none.
    """
    extents, resolved, at = checked_shape(shape, f"tensor '{name}'"), scalar_type(dtype), place()
    own = graph()
    own.begin()
    with own.defining(at):
        value = te.placeholder(name, tensor_type(extents, resolved), own.sizes(extents))
    return own.named(Tensor(value, extents, resolved, name, at))


@checked
@in_turn
def compute(shape: Any, element: Callable[..., Any], name: str = "") -> Tensor:
    """A tensor of some shape, whose element at indices i, j, ... is `element(i, j, ...)`.

    Raises TaichiTypeError for an element that is no number, for a reduction axis that is used
    outside of its reduction or twice, TaichiIndexError for reads that are out of bounds.
    """
    extents, at = checked_shape(shape, f"tensor '{name}'" if name else "a tensor"), place()
    axes = _axes(extents, element)
    body = expr(called(element, axes, "the function of elements"))
    if body.dtype == INDEX:
        body = cast(body, i32)
    check_axes(body, {*axes})
    needs = check_reads(body, extents)
    made = define(extents, axes, body, name or f"compute{graph().count}", at, names_in(element))
    note_needs(made, needs)
    return made


def _axes(shape: Shape, element: Callable[..., Any]) -> list[Axis]:
    """An index for each axis, named as the function names it."""
    try:
        parameters = list(inspect.signature(element).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p.name for p in positional]
    takes_any = not parameters or any(p.kind is p.VAR_POSITIONAL for p in parameters)
    required = [p for p in positional if p.default is p.empty]
    if not takes_any and not len(required) <= len(shape) <= len(named):
        raise TaichiTypeError(
            f"a tensor of {len(shape)} axes is defined by a function of {len(required)} indices",
            place(),
        )
    names = [*named, *(f"i{k}" for k in range(len(named), len(shape)))]
    return [Axis(INDEX, name, extent) for name, extent in zip(names, shape)]


def tensor_type(shape: Shape, dtype: DataType) -> ir.Type:
    """The type of a tensor; booleans are kept as they are."""
    dynamic = ir.ShapedType.get_dynamic_size()
    extents = [extent if isinstance(extent, int) else dynamic for extent in shape]
    return ir.RankedTensorType.get(extents, mlir_type(dtype))


def check_axes(one: Expr, free: set[Axis], seen: set[Expr] | None = None) -> None:
    """Raise TaichiTypeError where an axis stands outside of what it belongs to."""
    seen = set() if seen is None else seen
    if isinstance(one, Axis) and one not in free:
        why = (
            f"reduction axis '{one.name}' is used outside of a reduction over it"
            if one.is_reduced
            else f"index '{one.name}' belongs to another definition"
        )
        raise TaichiTypeError(why, one.place)
    if isinstance(one, Reduction):
        for axis in one.axes:
            if axis in free:
                raise TaichiTypeError(
                    f"reduction axis '{axis.name}' is reduced within a reduction over it", one.place
                )
        for part in [*one.values, *([] if one.where is None else [one.where])]:
            check_axes(part, free | set(one.axes))
    for part in one.initial if isinstance(one, Reduction) else one.parts:
        if part not in seen:
            seen.add(part)
            check_axes(part, free, seen)


@dataclass(frozen=True)
class _Around:
    """What is around an expression: indices it may use, and conditions under which it is
    computed."""

    axes: tuple[Axis, ...]
    condition: Expr | None = None

    def under(self, condition: Expr) -> _Around:
        """The same within a branch."""
        both = condition if self.condition is None else logic("and", self.condition, condition)
        return replace(self, condition=both)


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
    own = graph()
    own.begin()
    around = _Around(tuple(axes))
    root = _in_normal_form(body, around, name)
    with own.defining(at):

        def fill(indices: list[ir.Value]) -> ir.Value:
            return Emitter(dict[Expr, ir.Value](zip(axes, indices)), own.extent).value(root)

        type_ = tensor_type(shape, root.dtype)
        value = te.compute(name, type_, own.sizes(shape), fill)
    reduced = root.axes if isinstance(root, Reduction) else ()
    all_axes = named([*axes, *reduced], variables or {})
    return own.named(Tensor(value, shape, root.dtype, name, at, all_axes))


def _in_normal_form(body: Expr, around: _Around, name: str) -> Expr:
    if isinstance(body, Reduction):
        return _without_inner(body, around, name)
    return _Split(name).rewritten(body, around)


def _without_inner(one: Reduction, around: _Around, name: str) -> Reduction:
    """A reduction of expressions without any."""
    inside = replace(around, axes=(*around.axes, *one.axes))
    split = _Split(name)
    where = None if one.where is None else split.rewritten(one.where, inside)
    if one.where is not None:
        inside = inside.under(one.where)
    return replace(
        one,
        values=tuple(split.rewritten(value, inside) for value in one.values),
        where=where,
        initial=tuple(split.rewritten(value, around) for value in one.initial),
    )


class _Split:
    """Takes reductions out of one expression."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._known: dict[Expr, Expr] = {}

    def rewritten(self, one: Expr, around: _Around) -> Expr:
        """The expression with reads in the places of reductions."""
        if one in self._known:
            return self._known[one]
        made = self._rewritten(one, around)
        self._known[one] = made
        return made

    def _rewritten(self, one: Expr, around: _Around) -> Expr:
        if isinstance(one, Reduction):
            return self._taken_out(one, around)
        if isinstance(one, Select):
            condition = self.rewritten(one.condition, around)
            then = self.rewritten(one.then, around.under(one.condition))
            otherwise = self.rewritten(one.otherwise, around.under(~one.condition))
            return replace(one, condition=condition, then=then, otherwise=otherwise)
        if isinstance(one, Call):
            arguments = tuple(self.rewritten(part, around) for part in one.arguments)
            return replace(one, arguments=arguments)
        if isinstance(one, Read):
            return replace(one, indices=tuple(self.rewritten(i, around) for i in one.indices))
        return one

    def _taken_out(self, one: Reduction, around: _Around) -> Expr:
        """A tensor over the indices that the reduction uses, and its element."""
        used = _axes_of(one)
        axes = [axis for axis in around.axes if axis in used]
        guard = around.condition
        if guard is not None and _has_reads(one):
            where = guard if one.where is None else logic("and", guard, one.where)
            one = replace(one, where=where)
            used = _axes_of(one)
            axes = [axis for axis in around.axes if axis in used]
        indices = [Axis(INDEX, axis.name, axis.extent) for axis in axes]
        renamed = Renaming(dict(zip(axes, indices))).of(one)
        shape: tuple[Extent, ...] = tuple(axis.extent for axis in axes)
        name = f"{self.name}.{one.kind}"
        inner = define(shape, indices, renamed, name, one.place)
        if one.is_constant:
            stop(inner)
        return Read(inner.dtype, inner, tuple(axes), place=one.place)


def _axes_of(one: Expr) -> set[Axis]:
    """The axes that an expression uses and does not reduce."""
    found: set[Axis] = set()
    seen: set[Expr] = set()

    def visit(part: Expr, bound: frozenset[Axis]) -> None:
        if isinstance(part, Axis):
            if part not in bound:
                found.add(part)
        elif isinstance(part, Reduction):
            for value in part.parts:
                visit(value, bound | set(part.axes))
        elif part not in seen:
            if not bound:
                seen.add(part)
            for value in part.parts:
                visit(value, bound)

    visit(one, frozenset())
    return found


def _has_reads(one: Expr) -> bool:
    return isinstance(one, Read) or any(map(_has_reads, one.parts))


class Renaming:
    """Other axes in an expression."""

    def __init__(self, axes: dict[Axis, Axis]) -> None:
        self._known: dict[Expr, Expr] = dict(axes.items())

    def of(self, one: Expr) -> Expr:
        """The expression with them."""
        if one not in self._known:
            self._known[one] = self._made(one)
        return self._known[one]

    def _made(self, one: Expr) -> Expr:
        if isinstance(one, Call):
            return replace(one, arguments=tuple(map(self.of, one.arguments)))
        if isinstance(one, Read):
            return replace(one, indices=tuple(map(self.of, one.indices)))
        if isinstance(one, Select):
            parts = [self.of(part) for part in one.parts]
            return replace(one, condition=parts[0], then=parts[1], otherwise=parts[2])
        if isinstance(one, Reduction):
            return replace(
                one,
                values=tuple(map(self.of, one.values)),
                where=None if one.where is None else self.of(one.where),
                initial=tuple(map(self.of, one.initial)),
            )
        assert isinstance(one, Axis | Number | Size), one
        return one
