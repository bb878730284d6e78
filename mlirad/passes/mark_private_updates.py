"""Mark the updates of parallel loops that need no atomic: reductions to one cell, and cells no other chunk touches.

A parallel loop is later cut into chunks along one axis, noted as `field.axis`. An atomic becomes `field.reduce` where
all iterations update one cell that the loop touches in no other way, and `field.plain` where the index is one-to-one
in the chunked axis over all accesses to its array, or where nothing runs in parallel.
"""
from mlirad.bindings import ir
from mlirad.dialect.field import split_access
from mlirad.passes._affine import affine
from mlirad.passes._build import integer_type
from mlirad.passes._walk import accesses, array_root, constant_integer, functions, has_uses, is_defined_in, operations


def mark_private_updates(module: ir.Operation, *, threads: int = 1) -> None:
    """Mark atomics that can be plain updates or reductions, and the axis that is cut into chunks."""
    unit = ir.UnitAttr.get()
    for function in functions(module):
        loops = [op for op in operations(function) if op.name == "scf.parallel"]
        for loop in loops:
            _mark_loop(loop, threads)
        for op in operations(function):
            if op.name == "field.atomic" and not any(_inside(op, loop) for loop in loops):
                op.attributes["field.plain"] = unit


def _inside(op: ir.Operation, loop: ir.Operation) -> bool:
    parent = op.parent
    while parent is not None:
        if parent.operation == loop:
            return True
        parent = parent.operation.parent
    return False


def _mark_loop(loop: ir.Operation, threads: int) -> None:
    axis = _chunk_axis(loop, threads)
    loop.attributes["field.axis"] = ir.IntegerAttr.get(integer_type(64), axis)
    by_array: dict[object, list[tuple[ir.Operation, list[ir.Value]]]] = {}
    for op, root, indices in accesses(loop):
        by_array.setdefault(root, []).append((op, indices))
    iv = loop.regions[0].blocks[0].arguments[axis]
    unit = ir.UnitAttr.get()
    for group in by_array.values():
        if all(op.name == "field.load" for op, _ in group):
            continue
        if _is_reduction(loop, group):
            for op, _ in group:
                op.attributes["field.reduce"] = unit
        elif threads == 1 or _is_private(loop, iv, group):
            for op, _ in group:
                if op.name == "field.atomic":
                    op.attributes["field.plain"] = unit


def _chunk_axis(loop: ir.Operation, threads: int) -> int:
    """The first axis, unless it is known to be too short to share and another is longer."""
    rank = len(loop.regions[0].blocks[0].arguments)
    extents = []
    for axis in range(rank):
        low, high = constant_integer(loop.operands[axis]), constant_integer(loop.operands[rank + axis])
        extents.append(None if low is None or high is None else high - low)
    first = extents[0]
    known = [e for e in extents if e is not None]
    if first is None or first >= 4 * threads or len(known) < rank:
        return 0
    return extents.index(max(known))


def _is_reduction(loop: ir.Operation, group: list[tuple[ir.Operation, list[ir.Value]]]) -> bool:
    first, indices = group[0]
    if first.name != "field.atomic":
        return False
    kind = ir.StringAttr(first.attributes["kind"]).value
    forms = [affine(i) for i in indices]
    for op, other in group:
        if op.name != "field.atomic" or has_uses(op.results[0]) or ir.StringAttr(op.attributes["kind"]).value != kind:
            return False
        if is_defined_in(split_access(op)[0], loop) and isinstance(array_root(split_access(op)[0]), ir.Value):
            return False
        if [affine(i) for i in other] != forms:
            return False
    return all(not is_defined_in(leaf, loop) for form in forms for leaf, _ in form.terms)


def _is_private(loop: ir.Operation, iv: ir.Value, group: list[tuple[ir.Operation, list[ir.Value]]]) -> bool:
    rank = min(len(indices) for _, indices in group)
    for position in range(rank):
        forms = {affine(indices[position]) for _, indices in group}
        if len(forms) != 1:
            continue
        form = forms.pop()
        if form.coefficient(iv) and all(not is_defined_in(leaf, loop) for leaf, _ in form.without(iv).terms):
            return True
    return False
