"""Rows of a table in memory, one for each lane, as columns of lanes, and the other way round."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.analysis.lanes.groups import ROW
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.vectors import (
    join_vectors,
    load_lanes,
    pair_columns,
    part_of,
    shift_lanes,
    split_pairs,
    store_lanes,
    transpose_quarters,
    vector_of,
)


def load_columns(
    flat: ir.Value, start: ir.Value, step: int, lanes: int, length: int
) -> list[ir.Value]:
    """The columns of rows that begin every so many elements: of those within `length`. The last
    row is loaded with what is in front of it, where it has fewer elements than that."""
    kind = vector_of(ROW, ir.MemRefType(flat.type).element_type)
    rows = []
    for lane in range(lanes):
        back = ROW - length if lane == lanes - 1 else 0
        at = b.add(start, b.index(step * lane - back))
        row = load_lanes(flat, [at], kind)
        rows.append(shift_lanes(row, back) if back else row)
    return transpose_quarters([join_vectors(rows[number::ROW]) for number in range(ROW)])


def store_columns(
    columns: Sequence[ir.Value], flat: ir.Value, start: ir.Value, step: int, lanes: int
) -> None:
    """Write columns to rows that begin every so many elements."""
    quarters = transpose_quarters(columns)
    for lane in range(lanes):
        row = part_of(quarters[lane % ROW], lane - lane % ROW, ROW)
        store_lanes(row, flat, [b.add(start, b.index(step * lane))])


def load_cells(flat: ir.Value, offsets: Sequence[ir.Value], length: int) -> list[ir.Value]:
    """The columns of rows of four elements, or of two, that begin anywhere."""
    kind = vector_of(length, ir.MemRefType(flat.type).element_type)
    rows = [load_lanes(flat, [offset], kind) for offset in offsets]
    if length == ROW:
        return transpose_quarters([join_vectors(rows[number::ROW]) for number in range(ROW)])
    halves = [
        join_vectors([row for lane, row in enumerate(rows) if lane % ROW // 2 == half])
        for half in range(2)
    ]
    return split_pairs(*halves)


def update_cells(
    columns: Sequence[ir.Value],
    flat: ir.Value,
    offsets: Sequence[ir.Value],
    combine: Callable[[ir.Value, ir.Value], ir.Value],
) -> None:
    """Combine the rows that begin at some offsets with columns, one row after the other."""
    length = len(columns)
    vectors = transpose_quarters(columns) if length == ROW else pair_columns(*columns)
    for lane, offset in enumerate(offsets):
        number, place = divmod(lane % ROW, ROW // length)
        row = part_of(vectors[number], lane - lane % ROW + length * place, length)
        old = load_lanes(flat, [offset], row.type)
        store_lanes(combine(old, row), flat, [offset])
