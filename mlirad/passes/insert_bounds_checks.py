"""Check every index at run time: an access out of bounds is reported, and goes to element 0 instead."""
from mlirad.bindings import ir
from mlirad.dialect.field import array_of, split_access
from mlirad.passes import _build as b
from mlirad.passes._walk import accesses, array_root, before, functions


def insert_bounds_checks(module: ir.Operation) -> None:
    """Assert that indices lie inside their arrays."""
    for function in functions(module):
        name = ir.StringAttr(function.attributes["sym_name"]).value
        for op, _, indices in list(accesses(function)):
            if indices:
                with before(op):
                    _check(op, indices, name)


def _check(op: ir.Operation, indices: list[ir.Value], kernel: str) -> None:
    array, _ = split_access(op)
    extents = array_of(array.type)[1]
    first = 1 if op.name == "field.load" else 2
    zero = b.index(0)
    inside: ir.Value | None = None
    sizes: list[ir.Value] = []
    for axis, (index, extent) in enumerate(zip(indices, extents)):
        size = b.index(extent) if extent >= 0 else b.make("field.dim", b.index_type(), [array], axis=ir.IntegerAttr.get(
            b.integer_type(64), axis))
        sizes.append(size)
        test = b.make("arith.andi", b.integer_type(1), [b.compare(b.SGE, index, zero), b.compare(b.SLT, index, size)])
        inside = test if inside is None else b.make("arith.andi", b.integer_type(1), [inside, test])
    assert inside is not None
    root = array_root(array)
    holes = ", ".join("{}" for _ in indices)
    what = f"field ({root})" if isinstance(root, str) else "ndarray"
    message = f"(kernel={kernel}) Out of bound access: {what} of size ({holes}) with indices ({holes})"
    b.effect("field.assert", [inside, *sizes, *indices], message=ir.StringAttr.get(message))
    for axis, index in enumerate(indices):
        op.operands[first + axis] = b.make("arith.select", b.index_type(), [inside, index, zero])
