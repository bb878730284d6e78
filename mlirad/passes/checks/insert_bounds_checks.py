"""Check every index at run time: an access out of bounds is reported; a load reads element 0
instead, a write nothing."""

from mlirad.analysis.index_ranges import is_below
from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import array_of, is_load, is_write, split_access
from mlirad.dialect.field_layout import layouts
from mlirad.dialect.layout_rules import is_sparse
from mlirad.dialect.snode import tree_operations
from mlirad.ir import build as b
from mlirad.ir.requirements import symbol_of
from mlirad.ir.walk import (
    accesses,
    array_root,
    at_end,
    before,
    block_operations,
    functions,
    has_uses,
)


def insert_bounds_checks(module: ir.Operation, *, sparse_writes: bool = False) -> None:
    """Assert that indices are within their arrays, unless this is known. `sparse-writes`: only for
    writes to fields in sparse layouts."""
    if sparse_writes and not any(map(is_sparse, tree_operations(module))):
        return
    sparse = {name for name, layout in layouts(module).items() if layout.activities}
    for function in functions(module):
        name = symbol_of(function)
        for op, root, indices in list(accesses(function)):
            is_asked = not sparse_writes or (root in sparse and is_write(op))
            extents = array_of(split_access(op)[0].type)[1]
            if is_asked and not all(map(is_below, indices, extents)):
                with before(op):
                    _check(op, indices, name)


def _check(op: ir.Operation, indices: list[ir.Value], kernel: str) -> None:
    array, _ = split_access(op)
    extents = array_of(array.type)[1]
    zero = b.index(0)
    tests: list[ir.Value] = []
    sizes: list[ir.Value] = []
    for axis, (index, extent) in enumerate(zip(indices, extents)):
        size = b.index(extent) if extent >= 0 else field.dim(array, axis)
        sizes.append(size)
        tests.append(b.andi(b.compare(b.SGE, index, zero), b.compare(b.SLT, index, size)))
    inside = b.all_of(tests)
    root = array_root(array)
    holes = ", ".join("{}" for _ in indices)
    name = f"field ({root})" if isinstance(root, str) else "ndarray"
    message = f"Out of bound access: {name} of size ({holes}) with indices ({holes})"
    field.assert_(inside, f"(kernel={kernel}) {message}", [*sizes, *indices])
    if not is_load(op):
        _guard(op, inside)
        return
    for axis, index in enumerate(indices):
        op.operands[1 + axis] = b.select(inside, index, zero)


def _guard(op: ir.Operation, inside: ir.Value) -> None:
    """Write only where the index is inside; what an atomic gives is 0 elsewhere."""
    used = [result for result in op.results if has_uses(result)]
    guard = b.if_else(inside, [result.type for result in used], with_else=bool(used))
    for old, new in zip(used, guard.results):
        old.replace_all_uses_with(new)
    then = guard.then
    with at_end(then, op.location):
        b.yield_(used)
    op.move_before(block_operations(then)[-1])
    if used:
        with at_end(guard.otherwise, op.location):
            b.yield_([b.number(0, result.type) for result in used])
