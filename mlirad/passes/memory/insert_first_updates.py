"""Let the launch that adds to derivatives first begin at 0, so that nobody has to clear them.

Of an array of derivatives that is not small, that a kernel only adds to, and each of whose elements
is added to once; or, with `rows`, of a box of it, or of one row, while the rest of the kernel
accesses other rows. The launch gets a byte: 1 where zeros are still to be written to the array, or
to that box or row, which then counts as 0 (docs/deferred-writes.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod

from mlirad.analysis.footprints.footprint import Axes, Axis, Bound
from mlirad.analysis.footprints.large_fields import (
    Access,
    accesses_by_field,
    are_apart,
    note_boxes,
)
from mlirad.bindings import ir
from mlirad.dialect import field, snode
from mlirad.dialect.field import array_of, array_type, is_atomic
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import round_like
from mlirad.ir.memory.large_arrays import LEAST, bytes_of, derivatives, has_large_rows
from mlirad.ir.reductions import PLAIN_MARK
from mlirad.ir.requirements import KERNELS
from mlirad.ir.signature import argument_numbers, marked_as_begun
from mlirad.ir.walk import at_start, before, functions, has_uses

REQUIRES = KERNELS
Ends = tuple[int, int]


def insert_first_updates(module: ir.Operation, *, rows: bool = False) -> None:
    """Let a launch that adds to each element exactly once begin at 0, if zeros are still to be
    written to the array, or, with rows, to the one row or box of it."""
    kernels = functions(module)
    if len(kernels) != 1:
        return
    names, numbers, begun = (
        derivatives(module),
        argument_numbers(kernels[0]),
        dict[str, list[Axes]](),
    )
    for root, accesses in accesses_by_field(kernels[0]).items():
        array = accesses[0].array.type
        if root not in names or bytes_of(array) < LEAST:
            continue
        boxes, extents = [_swept(access, numbers) for access in accesses], array_of(array)[1]
        if _reach_all_once(boxes, extents):
            _begin(module, kernels[0], root, accesses)
        elif rows and (box := _box_reached_once(boxes)) is not None:
            _begin(module, kernels[0], root, accesses, is_box=True)
            begun[root] = [box]
        elif rows and has_large_rows(array):
            for row, sums in _whole_rows(accesses, boxes, extents)[:1]:
                _begin(module, kernels[0], root, sums, is_box=True)
                begun[root] = [(Axis(row, row),)]
    note_boxes(module, "field.begins", begun)


def _swept(access: Access, numbers: Mapping[int, int]) -> Axes | None:
    """Return the box to each of whose elements an access adds once, if it does."""
    if not _is_plain_sum(access.op):
        return None
    from mlirad.analysis.footprints.swept_boxes import swept_box  # for large fields alone

    return swept_box(access.op, access.indices, numbers)


def _box_reached_once(boxes: list[Axes | None]) -> Axes | None:
    """Return the box that a launch adds to once, if that is all that it does."""
    if None in boxes:
        return None
    from mlirad.analysis.footprints.swept_boxes import united_box  # for large fields alone

    return united_box(boxes)


def _whole_rows(
    accesses: list[Access], boxes: list[Axes | None], extents: Sequence[int]
) -> list[tuple[Bound, list[Access]]]:
    """Return the rows to each of whose elements a launch adds once, while it accesses them nowhere
    else, with these sums."""
    by_row: dict[Bound, list[tuple[Access, Axes]]] = {}
    for access, box in zip(accesses, boxes):
        if box is not None and (row := box[0].low) is not None and row == box[0].high:
            by_row.setdefault(row, []).append((access, box[1:]))
    sums_of = {row: [access for access, _ in pairs] for row, pairs in by_row.items()}
    return [
        (row, sums)
        for row, sums in sums_of.items()
        if _reach_all_once([box for _, box in by_row[row]], extents[1:])
        and all(access in sums or are_apart(access, sums[0]) for access in accesses)
    ]


def _reach_all_once(boxes: Sequence[Axes | None], extents: Sequence[int]) -> bool:
    """Return whether boxes, each of whose elements is reached once, are all elements together."""
    bounded = list[Sequence[Ends]]()
    for box in boxes:
        ends = [_ends(axis) for axis in box or ()]
        inside = [pair for pair, n in zip(ends, extents) if pair and 0 <= pair[0] <= pair[1] < n]
        if box is None or len(inside) < len(extents):
            return False
        bounded.append(inside)
    size = sum(prod(high - low + 1 for low, high in box) for box in bounded)
    return size == prod(extents) and all(_are_apart(*pair) for pair in combinations(bounded, 2))


def _ends(axis: Axis) -> Ends | None:
    """Return the ends of an axis of a box, if they are the same for all launches."""
    if axis.low is None or axis.high is None or axis.low.terms or axis.high.terms:
        return None
    return axis.low.constant, axis.high.constant


def _are_apart(left: Sequence[Ends], right: Sequence[Ends]) -> bool:
    return any(one[1] < other[0] or other[1] < one[0] for one, other in zip(left, right))


def _is_plain_sum(op: ir.Operation) -> bool:
    if not is_atomic(op) or PLAIN_MARK not in op.attributes or has_uses(op.results[0]):
        return False
    return field.atomic_kind(op) == field.AtomicKind.ADD


def _begin(
    module: ir.Operation,
    kernel: ir.Operation,
    root: str,
    accesses: list[Access],
    *,
    is_box: bool = False,
) -> None:
    """Add to 0 where zeros are still to be written."""
    i8, name = b.integer_type(8), f"$begun.{root}"
    with at_start(kernel.regions[0].blocks[0], kernel.location):
        word = field.load(field.get(name, array_type(i8, [])), [])
        is_begun = b.compare(b.NE, word, b.number(0, i8))
    for access in accesses:
        value = access.op.operands[0]
        with before(access.op):
            zero = b.number(0.0, value.type)
            there = field.load(access.array, access.indices)
            old = b.make("arith.select", value.type, [is_begun, zero, there])
            total = round_like(b.combine("add", old, value), access.op)
            field.store(total, access.array, access.indices)
        access.op.erase()
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]), module.location:
        snode.root(name, [snode.place(name, i8, marks=marked_as_begun(root, is_box=is_box))])
