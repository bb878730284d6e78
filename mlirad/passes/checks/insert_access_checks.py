"""Check the rule of Taichi's gradients at run time: no element of a field with a gradient is
written once it was read.

Every element has a bit in an array of the runtime, `$check.` and the field's name: a load sets it,
and a store or an atomic that finds it set fails an assertion. Who runs the kernels clears the bits.
"""

from mlirad.bindings import ir
from mlirad.dialect import field, snode
from mlirad.dialect.field import array_of, array_type, is_load, split_access
from mlirad.dialect.snode import places
from mlirad.ir import build as b
from mlirad.ir.requirements import symbol_of
from mlirad.ir.signature import marked_as_checks
from mlirad.ir.walk import accesses, before, functions

CHECK = "$check."


def insert_access_checks(module: ir.Operation) -> None:
    """Assert that no element is written after it was read, as Taichi's rules for gradients
    require."""
    graded = {symbol_of(place) for place in places(module) if "adjoint" in place.attributes}
    bits: dict[str, tuple[int, ...]] = {}
    for function in functions(module):
        name = symbol_of(function)
        for op, root, indices in list(accesses(function)):
            if root in graded:
                extents = array_of(split_access(op)[0].type)[1]
                bits[root] = extents
                with before(op):
                    _check(op, root, extents, indices, name)
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]), module.location:
        for root, extents in bits.items():
            _declare(root, extents)


def _check(
    op: ir.Operation, root: str, extents: tuple[int, ...], indices: list[ir.Value], kernel: str
) -> None:
    i8 = b.integer_type(8)
    bits = field.get(CHECK + root, array_type(i8, list(extents)))
    if is_load(op):
        field.store(b.number(1, i8), bits, indices)
        return
    unread = b.compare(b.EQ, field.load(bits, indices), b.number(0, i8))
    message = (
        f"(kernel={kernel}) Breaks the global data access rule. Snode {root} is "
        f"overwritten unexpectedly."
    )
    field.assert_(unread, message)


def _declare(root: str, extents: tuple[int, ...]) -> None:
    leaf = snode.place(CHECK + root, b.integer_type(8), marks=marked_as_checks(root))
    block = snode.dense(range(len(extents)), extents, [leaf]) if extents else leaf
    snode.root(CHECK + root, [block])
