"""Let branches use the elements that were loaded in front of them.

`if x[i] < least: least = x[i]` loads an element twice. Upstream's `cse` finds equal loads in one
block; this pass finds those in a branch and in front of it, if nothing in between may write.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import is_load, is_write, split_access
from mlirad.ir.ops import Scf
from mlirad.ir.pure_operations import is_pure
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import is_branch
from mlirad.ir.walk import (
    Array,
    array_root,
    attributes_of,
    block_operations,
    entry_of,
    functions,
    operations,
    replace,
)

REQUIRES = KERNELS

# the loads of each array, by their operands and attributes: a load may carry no derivative
Loads = dict[Array, dict[tuple[object, ...], ir.Operation]]
_STRUCTURE = (Scf.FOR, Scf.IF, Scf.WHILE, Scf.YIELD, Scf.CONDITION)


def reuse_loads(root: ir.Operation) -> None:
    """Replace loads in branches by equal ones in front of the branch."""
    for function in functions(root):
        _scan(entry_of(function), {})


def _scan(block: ir.Block, loads: Loads) -> None:
    """Replace loads of a block, and of what is in it, by earlier ones."""
    for op in block_operations(block):
        if is_load(op):
            of_array = loads.setdefault(array_root(split_access(op)[0]), {})
            key = (*op.operands, *attributes_of(op).items())
            earlier = of_array.setdefault(key, op)
            if earlier != op:
                replace(op, earlier.results)
            continue
        for region in op.regions:
            for inner in region.blocks:
                _scan(inner, {r: dict(elements) for r, elements in loads.items() if is_branch(op)})
        if not is_pure(op):
            _forget(op, loads)


def _forget(op: ir.Operation, loads: Loads) -> None:
    """Forget the elements that an op may write."""
    written = _written(op)
    if written is None:
        loads.clear()
        return
    if any(not isinstance(root, str) for root in written):  # those without a name may be one array
        written |= {root for root in loads if not isinstance(root, str)}
    for root in written:
        loads.pop(root, None)


def _written(op: ir.Operation) -> set[Array] | None:
    """The arrays that an op writes; None if it does something else, too."""
    arrays = set()
    for inner in (op, *operations(op)):
        if is_write(inner):
            arrays.add(array_root(split_access(inner)[0]))
        elif not (is_load(inner) or is_pure(inner) or inner.name in _STRUCTURE):
            return None
    return arrays
