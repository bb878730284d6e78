"""Queries and changes of sparse blocks in kernels: `ti.is_active`, `ti.append` and the like. What
is listed in `__all__` is public."""

from __future__ import annotations

import ast
from typing import Any

from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.building import effects
from mlirad.frontend.python.calls.specials import Special, special
from mlirad.frontend.python.places.arrays import array_ref
from mlirad.frontend.python.places.blocks import BlockRef, block_ref
from mlirad.frontend.python.places.place import flat_indices
from mlirad.frontend.python.translation.translator import Translator
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Expr
from mlirad.ir import build
from mlirad.types import u1, u64

__all__ = [
    "activate",
    "append",
    "deactivate",
    "get_addr",
    "is_active",
    "length",
    "no_activate",
    "rescale_index",
]


def _operands(t: Translator, node: ast.Call, special_: str, count: int) -> list[Any]:
    """The block that a call is about, and its other arguments. Raises TaichiTypeError."""
    names = {"node": 0, "indices": 1, "val": 2}
    arguments = dict(enumerate(t.visit_value(argument) for argument in node.args))
    arguments |= {names[k.arg]: t.visit_value(k.value) for k in node.keywords if k.arg in names}
    if sorted(arguments) != list(range(count)):
        raise TaichiTypeError(f"ti.{special_} takes {count} arguments, got {len(arguments)}")
    return [_block(arguments[0], special_), *(arguments[k] for k in range(1, count))]


def _block(value: object, special_: str) -> BlockRef:
    """The block of an argument. Raises TaichiTypeError for anything else."""
    block = block_ref(value)
    if block is None:
        raise TaichiTypeError(
            f"ti.{special_}: expected a block of a layout tree, such as x.parent(), got "
            f"{type(value).__name__}"
        )
    return block


@special(takes="block, index")
def activate(t: Translator, node: ast.Call) -> None:
    """Activate a cell of a pointer or bitmasked block, and the cells that contain it.

    This function and those that refer to it are for kernels.

    Args:
        block: the block.
        index: a vector, or a list, with one integer for each axis.

    Raises:
        TaichiTypeError: `block` is not a block.
    """
    block, key = _operands(t, node, "activate", 2)
    effects.activate(block.activity.field, block.cell(key))


@special(takes="block, index")
def deactivate(t: Translator, node: ast.Call) -> None:
    """Deactivate a cell of a block. Values below a cell of a pointer block become 0. For a dynamic
    block, empty the list. See `activate`."""
    block, key = _operands(t, node, "deactivate", 2)
    block.deactivate(block.list_or_cell(key))


@special(takes="block, index")
def deactivate_fields(t: Translator, node: ast.Call) -> None:
    """Deactivate a cell as `deactivate` does, for a caller that clears derivatives itself."""
    block, key = _operands(t, node, "deactivate", 2)
    block.deactivate(block.list_or_cell(key), with_derivatives=False)


@special(takes="block, index")
def is_active(t: Translator, node: ast.Call) -> Expr:
    """Return whether a cell of a block is active, as an integer; see `activate`."""
    block, key = _operands(t, node, "is_active", 2)
    answer = effects.is_active(block.activity.field, block.cell(key))
    return ex.cast(Expr(answer, u1), t.builder.default_ip)


@special(takes="block, index")
def length(t: Translator, node: ast.Call) -> Expr:
    """Return the number of items in the list of a dynamic block, in a kernel.

    Args:
        block: the dynamic block.
        index: the index of the cell that contains the list.

    Raises:
        TaichiTypeError: `block` is not a dynamic block.
    """
    block, key = _operands(t, node, "length", 2)
    return block.list(key).length()


@special(takes="block, index, item")
def append(t: Translator, node: ast.Call) -> Expr:
    """Append an item to the list of a dynamic block, in a kernel, and return its position. If the
    list is full, TaichiRuntimeError is raised when the kernel ends. See `length`."""
    block, key, item = _operands(t, node, "append", 3)
    return block.list(key).append(item)


@special(takes="*blocks")
def no_activate(t: Translator, node: ast.Call) -> None:
    """Promise that the kernel writes to active cells only. This is a hint without effect."""
    for argument in node.args:
        value = t.visit_value(argument)
        if array_ref(value) is None:
            _block(value, "no_activate")


@special(takes="field, index")
def get_addr(t: Translator, node: ast.Call) -> Expr:
    """Return the address of an element of a field as a u64, in a kernel. For a vector or matrix it
    is the address of the first component.

    Raises:
        TaichiTypeError: the first argument is not a field.
    """
    arguments = [t.visit_value(argument) for argument in node.args]
    arrays = array_ref(arguments[0]) if len(arguments) == 2 else None
    if arrays is None:
        raise TaichiTypeError("ti.get_addr takes a field and an index")
    array = arrays.leaves()[0]
    component = array.component or (0,) * len(array.element_shape)
    place = [*array.indices(arguments[1]), *map(build.index, component)]
    return Expr(effects.address(array.value, place), u64)


def _rescale_index(t: Translator, node: ast.Call) -> Matrix:
    """Convert an index of a field or block to an index of another field or block, around it or
    below it.

    Args:
        old: the field or block that the index belongs to.
        new: the field or block to convert to.
        index: the index.

    Returns:
        A vector of i32.

    Raises:
        TaichiTypeError: the number of arguments is wrong.
    """
    arguments = [t.visit_value(argument) for argument in node.args]
    arguments += [t.visit_value(keyword.value) for keyword in node.keywords]
    if len(arguments) != 3:
        raise TaichiTypeError(f"ti.rescale_index takes 3 arguments, got {len(arguments)}")
    return rescale(_shape(arguments[0]), _shape(arguments[1]), arguments[2])


rescale_index = Special("rescale_index", _rescale_index, takes="old, new, index")


def rescale(old: tuple[int, ...], new: tuple[int, ...], index: Any) -> Matrix:
    """Convert an index among some numbers of cells to an index among other numbers of cells."""
    indices = list(flat_indices(index))
    for axis, (before, after) in enumerate(zip(old[: len(indices)], new)):
        if before > after:
            indices[axis] = indices[axis] // (before // after)
        elif before < after:
            indices[axis] = indices[axis] * (after // before)
    return Matrix(indices)


def _shape(value: object) -> tuple[int, ...]:
    arrays = array_ref(value)
    return arrays.leaves()[0].shape if arrays is not None else _block(value, "rescale_index").shape
