"""Let the launch that adds to all of a derivative's elements first begin at 0, so that nobody has
to clear them.

An array of derivatives that is not small, that a kernel only adds to, and each of whose elements is
added to once, in loops that run through all of its axes, gets a number of the launch: 1 where its
memory waits to be cleared, which then counts as 0.
"""

from math import prod

from mlirad.analysis.linear import linear_form
from mlirad.bindings import ir
from mlirad.dialect import field, snode
from mlirad.dialect.field import array_of, array_type, is_atomic, split_access
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of_index, indices_around
from mlirad.ir.reductions import PLAIN_MARK
from mlirad.ir.requirements import KERNELS
from mlirad.ir.signature import marked_as_anew
from mlirad.ir.waiting import LEAST, bytes_of, derivatives
from mlirad.ir.walk import (
    accesses,
    at_start,
    before,
    constant_integer,
    functions,
    has_uses,
)

REQUIRES = KERNELS
_ANEW = "$anew."

Access = tuple[ir.Operation, list[ir.Value]]


def insert_first_updates(module: ir.Operation) -> None:
    """Begin sums at 0 where memory that waits to be cleared is added to as a whole."""
    kernels = functions(module)
    if len(kernels) != 1:
        return
    candidates, groups = derivatives(module), dict[str, list[Access]]()
    for op, root, indices in accesses(kernels[0]):
        if isinstance(root, str) and root in candidates:
            groups.setdefault(root, []).append((op, indices))
    for root, group in groups.items():
        size = bytes_of(split_access(group[0][0])[0].type)
        if size >= LEAST and _reaches_all_once(group):
            _begin(module, kernels[0], root, group)


def _reaches_all_once(group: list[Access]) -> bool:
    """Whether accesses are updates that together reach each element of an array once."""
    extents = array_of(split_access(group[0][0])[0].type)[1]
    seen = set[tuple[int | None, ...]]()
    for op, indices in group:
        if not _is_plain_sum(op):
            return False
        fixed = tuple([constant_integer(index) for index in indices])
        if fixed in seen or not _runs_through(op, indices, fixed, extents):
            return False
        seen.add(fixed)
    fixed_axes = {tuple([place is None for place in fixed]) for fixed in seen}
    places = [extent for extent, is_free in zip(extents, min(fixed_axes)) if not is_free]
    return len(fixed_axes) == 1 and len(seen) == prod(places)


def _is_plain_sum(op: ir.Operation) -> bool:
    if not is_atomic(op) or PLAIN_MARK not in op.attributes or has_uses(op.results[0]):
        return False
    return field.AtomicOp(op).kind.value == "add"


def _runs_through(
    op: ir.Operation,
    indices: list[ir.Value],
    fixed: tuple[int | None, ...],
    extents: tuple[int, ...],
) -> bool:
    """Whether the loops around an access, and nothing else, decide that it runs: once for each
    place along the axes that are not fixed."""
    around = indices_around(op)
    if around is None:
        return False
    left = list(around)
    for index, place, extent in zip(indices, fixed, extents):
        if place is not None:
            if not 0 <= place < extent:
                return False
            continue
        form = linear_form(index)
        if form.constant or len(form.terms) != 1:
            return False
        ((leaf, factor),) = form.terms
        if factor != 1 or leaf not in left or not _is_whole(leaf, extent):
            return False
        left.remove(leaf)
    return not left


def _is_whole(index: ir.Value, extent: int) -> bool:
    """Whether an index of a loop takes all values of an axis."""
    bounds = bounds_of_index(index)
    if bounds is None:
        return False
    return [constant_integer(one) for one in bounds] == [0, extent, 1]


def _begin(module: ir.Operation, kernel: ir.Operation, root: str, group: list[Access]) -> None:
    """Add to 0 where the memory waits."""
    i8, name = b.integer_type(8), _ANEW + root
    with at_start(kernel.regions[0].blocks[0], kernel.location):
        waits = field.load(field.get(name, array_type(i8, [])), [])
        is_anew = b.compare(b.NE, waits, b.number(0, i8))
    for op, indices in group:
        value, array = op.operands[0], split_access(op)[0]
        with before(op):
            zero = b.number(0.0, value.type)
            old = b.make("arith.select", value.type, [is_anew, zero, field.load(array, indices)])
            field.store(b.combine("add", old, value), array, indices)
        op.erase()
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]), module.location:
        snode.root(name, [snode.place(name, i8, marks=marked_as_anew(root))])
