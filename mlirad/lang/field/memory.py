"""The memory of a field: asked for where it is declared, known to its program, there or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from mlirad.bindings import ir
from mlirad.dialect import snode
from mlirad.errors import TaichiRuntimeError
from mlirad.frontend.python.building.builder import mlir_type
from mlirad.lang.layout.tree import Leaf, SNode
from mlirad.runtime.derivative_kind import ADJOINT, DerivativeKind
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.program import is_current


def take_memory(field: Leaf, node: SNode, kinds: Sequence[DerivativeKind | None]) -> None:
    """Ask for the memory of a field (None) and of derivatives, in the cells of a block.

    Raises TaichiMemoryError if the machine has less.
    """
    names = [field.symbol if kind is None else f"{field.symbol}.{kind}" for kind in kinds]
    size = prod(node.shape) * prod(field.element_shape) * field.dtype.size
    fields = " and ".join(f"'{name}'" for name in names)
    element = f"{field.dtype}{list(field.element_shape) or ''}"
    field.program.capacity.take(
        dict.fromkeys(names, size),
        f"field {fields} of shape {node.shape} of {element}",
        lazily=node.is_sparse,
    )


def register(field: Leaf, memory: FieldMemory, declare: Callable[[], object]) -> None:
    """Make a field's memory known to its program; `declare` makes its tree."""
    current, primal = field.program, field.primal
    current.fields[field.symbol] = memory
    current.trees.declarations[field.symbol] = declare
    if primal is None:
        if field.dtype.is_float:
            current.derivatives.give[field.symbol] = field.want
        return
    if field.is_gradient:
        current.derivatives.place_gradient(field.symbol, memory, primal.symbol)
        if primal.primal is None:
            current.derivatives.give[field.symbol] = field.want
    elif field.is_dual:
        names = tuple(dual.symbol for dual in primal.tangents())
        current.derivatives.place_tangents(field.symbol, memory, primal.symbol, names)
    else:
        current.derivatives.place_outer(field.symbol, primal.symbol)
    current.note_derivative()


def declaration_of(field: Leaf) -> ir.Operation:
    """The `snode.place` of a field."""
    gradient = field.existing(ADJOINT)
    return snode.place(
        field.symbol,
        mlir_type(field.dtype),
        field.element_shape,
        adjoint=None if gradient is None or gradient.memory is None else gradient.symbol,
        duals=[dual.symbol for dual in field.tangents()],
    )


def present_memory(field: Leaf) -> FieldMemory:
    """The memory of a field. Raises TaichiRuntimeError if it was never placed or is gone."""
    if field.memory is None:
        if field.destroyed:
            raise TaichiRuntimeError(
                f"field '{field.symbol}' belongs to a layout tree that was destroyed"
            )
        if field.primal is not None:
            name = "needs_dual" if field.is_dual else "needs_grad"
            raise TaichiRuntimeError(
                f"Gradient {field.symbol} has not been placed, check whether `{name}=True`"
            )
        raise TaichiRuntimeError(
            f"field '{field.symbol}' is used before it is placed: declare it with a shape, or "
            "place it in a layout tree"
        )
    if not is_current(field.program):
        raise TaichiRuntimeError(
            f"field '{field.symbol}' belongs to a program that ti.init() or ti.reset() ended: "
            "declare fields after ti.init()"
        )
    return field.memory
