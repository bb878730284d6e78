"""Let the launch that adds to derivatives first begin at 0, so that nobody has to clear them.

An array of derivatives that is not small, that a kernel only adds to, and each of whose elements is
added to once; or the elements with one first index, of an array of which those are many, and lie in
order, and of which all accesses have first indices that differ. Such a box gets a number of the
launch: 1 where its memory waits to be cleared, which then counts as 0. `field.begun` has the boxes
of each field, as `mark-footprints` writes them, of the numbers of the launch's arguments.
"""

from collections.abc import Mapping
from math import prod

from mlirad.analysis.footprints.footprint import Axes, Axis, Bound
from mlirad.analysis.footprints.swept_boxes import fixed_row, swept_box
from mlirad.analysis.footprints.waiting_fields import Access, accesses_by_field, note_in_order
from mlirad.analysis.linear import number
from mlirad.bindings import ir
from mlirad.dialect import field, snode
from mlirad.dialect.field import array_of, array_type, is_atomic
from mlirad.ir import build as b
from mlirad.ir.memory.waiting import LEAST, bytes_of, derivatives, has_large_rows, lies_in_order
from mlirad.ir.reductions import PLAIN_MARK
from mlirad.ir.requirements import KERNELS
from mlirad.ir.signature import argument_numbers, marked_as_anew
from mlirad.ir.walk import at_start, before, functions, has_uses

REQUIRES = KERNELS
_ANEW = "$anew."


def insert_first_updates(module: ir.Operation) -> None:
    """Begin sums at 0 where memory that waits to be cleared is added to, each element once."""
    kernels = functions(module)
    if len(kernels) != 1:
        return
    names, numbers = derivatives(module), argument_numbers(kernels[0])
    begun: dict[str, list[Axes]] = {}
    for root, accesses in accesses_by_field(kernels[0]).items():
        if root in names and bytes_of(accesses[0].array.type) >= LEAST:
            for group, box in _boxes_begun(module, root, accesses, numbers):
                own = begun.setdefault(root, [])
                _begin(module, kernels[0], root, len(own), group)
                own.append(box)
    note_in_order(module, "field.begun", begun)


def _boxes_begun(
    module: ir.Operation, root: str, accesses: list[Access], numbers: Mapping[int, int]
) -> list[tuple[list[Access], Axes]]:
    """The boxes of an array that are added to only, each element once, and by which updates."""
    array = accesses[0].array.type
    may_part = has_large_rows(array, is_derivative=True) and lies_in_order(module, root)
    rows = _rows(accesses, numbers) if may_part else None
    if rows is not None:
        found = [(group, _box_reached_once(group, numbers)) for group in rows.values()]
        return [(group, box) for group, box in found if box is not None]
    whole = tuple(Axis(number(0), number(extent - 1)) for extent in array_of(array)[1])
    return [(accesses, whole)] if _box_reached_once(accesses, numbers) == whole else []


def _rows(accesses: list[Access], numbers: Mapping[int, int]) -> dict[Bound, list[Access]] | None:
    """The accesses by their first indices; None where these may be equal though they look
    different, or are not those of a launch."""
    groups: dict[Bound, list[Access]] = {}
    for access in accesses:
        row = fixed_row(access.indices, numbers)
        if row is None:
            return None
        groups.setdefault(row, []).append(access)
    return groups if len({row.terms for row in groups}) == 1 else None


def _box_reached_once(group: list[Access], numbers: Mapping[int, int]) -> Axes | None:
    """The box of which updates together reach each element once; None where they do not."""
    boxes: list[Axes] = []
    for access in group:
        box = swept_box(access.op, access.indices, numbers) if _is_plain_sum(access.op) else None
        if box is None:
            return None
        boxes.append(box)
    return _together(boxes)


def _together(boxes: list[Axes]) -> Axes | None:
    """The box that boxes fill which differ in places along axes; None where they meet, or do not
    fill one."""
    axes: list[Axis] = []
    for ends in zip(*boxes):
        lows = {axis.low for axis in ends}
        places = sorted(low.constant for low in lows if low is not None)
        is_one = len(set(ends)) == 1
        if not is_one and any(axis.low != axis.high or _moves(axis) for axis in ends):
            return None
        if not is_one and places != list(range(places[0], places[-1] + 1)):
            return None
        axes.append(ends[0] if is_one else Axis(number(places[0]), number(places[-1])))
    count = prod(len({box[k] for box in boxes}) for k in range(len(axes)))
    return tuple(axes) if len(set(boxes)) == len(boxes) == count else None


def _moves(axis: Axis) -> bool:
    return axis.low is None or bool(axis.low.terms)


def _is_plain_sum(op: ir.Operation) -> bool:
    if not is_atomic(op) or PLAIN_MARK not in op.attributes or has_uses(op.results[0]):
        return False
    return field.atomic_kind(op) == field.AtomicKind.ADD


def _begin(
    module: ir.Operation, kernel: ir.Operation, root: str, box: int, group: list[Access]
) -> None:
    """Add to 0 where the memory of a box waits."""
    i8, name = b.integer_type(8), f"{_ANEW}{root}.{box}"
    with at_start(kernel.regions[0].blocks[0], kernel.location):
        waits = field.load(field.get(name, array_type(i8, [])), [])
        is_anew = b.compare(b.NE, waits, b.number(0, i8))
    for access in group:
        value = access.op.operands[0]
        with before(access.op):
            zero = b.number(0.0, value.type)
            there = field.load(access.array, access.indices)
            old = b.make("arith.select", value.type, [is_anew, zero, there])
            field.store(b.combine("add", old, value), access.array, access.indices)
        access.op.erase()
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]), module.location:
        snode.root(name, [snode.place(name, i8, marks=marked_as_anew(root, box))])
