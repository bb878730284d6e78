"""Fields and their gradients in all the layouts that there are, with rows along the first axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mlirad as ti

Shape = tuple[int, ...]
AXES = (ti.i, ti.j, ti.k, ti.l)
ALL = (ti.i, ti.ij, ti.ijk)
SHIFT = (-2, 3, 1)  # the first indices of `shifted`


def _nested(shape: Shape, order: Sequence[int]) -> Any:
    """A block an axis, in some order."""
    block = ti.root
    for axis in order:
        block = block.dense(AXES[axis], shape[axis])
    return block


def _full(shape: Shape) -> Any:
    return ti.root.dense(ALL[len(shape) - 1], shape)


def _in_order(fields: Sequence[Any], shape: Shape) -> None:
    for field in fields:
        _full(shape).place(field)


def _shifted(fields: Sequence[Any], shape: Shape) -> None:
    for field in fields:
        _full(shape).place(field, offset=SHIFT[: len(shape)])


def _an_axis_a_block(fields: Sequence[Any], shape: Shape) -> None:
    for field in fields:
        _nested(shape, range(len(shape))).place(field)


def _backwards(fields: Sequence[Any], shape: Shape) -> None:
    for field in fields:
        _nested(shape, range(len(shape))[::-1]).place(field)


def _tiles(fields: Sequence[Any], shape: Shape) -> None:
    axes = ALL[len(shape) - 1]
    halves = [2 if extent % 2 == 0 else 1 for extent in shape]
    inner = [extent // half for extent, half in zip(shape, halves)]
    for field in fields:
        ti.root.dense(axes, halves).dense(axes, inner).place(field)


def _rows_in_two_blocks(fields: Sequence[Any], shape: Shape) -> None:
    for field in fields:
        inner = ti.root.dense(ti.i, 2).dense(ALL[len(shape) - 1], (shape[0] // 2, *shape[1:]))
        inner.place(field)


def _blocks_of_one_cell(fields: Sequence[Any], shape: Shape) -> None:
    for field in fields:
        ti.root.dense(ti.i, 1).dense(ALL[len(shape) - 1], shape).place(field)


def _cells(fields: Sequence[Any], shape: Shape) -> None:
    _full(shape).place(*fields)


def _cells_with_gradients(fields: Sequence[Any], shape: Shape) -> None:
    _full(shape).place(*fields, *(field.grad for field in fields))


def _gradients_backwards(fields: Sequence[Any], shape: Shape) -> None:
    _in_order(fields, shape)
    _backwards([field.grad for field in fields], shape)


def _gradients_in_cells(fields: Sequence[Any], shape: Shape) -> None:
    _in_order(fields, shape)
    _cells([field.grad for field in fields], shape)


def _gradients_in_order(fields: Sequence[Any], shape: Shape) -> None:
    _cells(fields, shape)
    _in_order([field.grad for field in fields], shape)


def _rows_in_turn(fields: Sequence[Any], shape: Shape) -> None:
    rows = ti.root.dense(ti.i, shape[0])
    for field in fields:
        rows.dense([ti.j, ti.jk][len(shape) - 2], shape[1:]).place(field)


def _beside_others(fields: Sequence[Any], shape: Shape) -> None:
    cells = _full(shape)
    cells.place(*fields)
    cells.dense(AXES[len(shape)], 3).place(ti.field(ti.f64))


def _beside_pointers(fields: Sequence[Any], shape: Shape) -> None:
    cells = _full(shape)
    cells.place(*fields)
    cells.pointer(AXES[len(shape)], 3).place(ti.field(ti.f64))


def _pointers(fields: Sequence[Any], shape: Shape) -> None:
    rows = [ti.j, ti.jk][len(shape) - 2]
    for field in fields:
        ti.root.pointer(ti.i, shape[0]).dense(rows, shape[1:]).place(field)


def _bitmasked(fields: Sequence[Any], shape: Shape) -> None:
    for field in fields:
        ti.root.bitmasked(ALL[len(shape) - 1], shape).place(field)


def _pointers_in_rows(fields: Sequence[Any], shape: Shape) -> None:
    rows = [ti.j, ti.jk][len(shape) - 2]
    ti.root.dense(ti.i, shape[0]).pointer(rows, shape[1:]).place(*fields)


def _lists(fields: Sequence[Any], shape: Shape) -> None:
    last = len(shape) - 1
    for field in fields:
        _nested(shape, range(last)).dynamic(AXES[last], shape[last]).place(field)


LAYOUTS: dict[str, Callable[[Sequence[Any], Shape], None]] = {
    one.__name__.removeprefix("_"): one
    for one in (
        _in_order,
        _shifted,
        _an_axis_a_block,
        _backwards,
        _tiles,
        _rows_in_two_blocks,
        _blocks_of_one_cell,
        _cells,
        _cells_with_gradients,
        _gradients_backwards,
        _gradients_in_cells,
        _gradients_in_order,
        _rows_in_turn,
        _beside_others,
        _beside_pointers,
        _pointers,
        _bitmasked,
        _pointers_in_rows,
        _lists,
    )
}
