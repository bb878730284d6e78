"""Mark the fields of large sparse trees, whose memory a device has in pages.

An address of such a field is one of paged memory: `lower-paged-fields` makes kernels of the field
look for what is there.
"""

from math import prod
from typing import Annotated

from mlirad.bindings import ir
from mlirad.dialect import snode
from mlirad.dialect.field_layout import layouts, root_sizes, sparse_roots
from mlirad.ir.limits import Range
from mlirad.ir.requirements import known_arrays, symbol_of
from mlirad.ir.signature import PAGED, checked_symbol
from mlirad.ir.walk import attributes_of

REQUIRES = (known_arrays,)


def mark_paged_fields(
    module: ir.Operation, *, least: Annotated[int, Range(0, 1 << 62)] = 0
) -> None:
    """Mark fields of sparse trees of at least `least` bytes, and their fields of activity and of
    check bits."""
    by_name, sizes = layouts(module), root_sizes(module)
    sparse = sparse_roots(by_name)
    for place in snode.places(module) if sparse else ():
        name = symbol_of(place)
        checked = checked_symbol(attributes_of(place))
        if checked is None:
            root, size = by_name[name].root, sizes[by_name[name].root]
        elif checked in by_name:
            root, size = by_name[checked].root, prod(by_name[checked].shape)
        else:
            continue
        if root in sparse and size >= least:
            place.attributes[PAGED] = ir.UnitAttr.get()
