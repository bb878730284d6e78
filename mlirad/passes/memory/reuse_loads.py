"""Let loads, and branches that only load elements, use elements that were loaded in front of them.

`if x[i] < least: least = x[i]` loads an element twice. Upstream's `cse` finds equal loads in one
block with nothing written in between. This pass finds those with writes to other arrays in between,
as of a particle that adds to 27 points of a grid, and those in a branch and in front of it.
`canonicalize` makes choices of such branches. Branches that do more keep their loads: registers
that hold elements for longer may cost more than another load.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import is_load, split_access
from mlirad.ir.memory.array_writes import may_be_written, written_by
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
    """Replace loads by equal ones in front of them in their block, and those of branches that do
    nothing else by equal ones in front of the branch."""
    for function in functions(root):
        _scan(entry_of(function), {})


def _scan(block: ir.Block, loads: Loads) -> None:
    """Look for loads of a block, and branches that only load elements, and in the ops within it."""
    for op in block_operations(block):
        if is_load(op):
            equal = loads.setdefault(array_root(split_access(op)[0]), {}).setdefault(_key(op), op)
            if equal != op and equal.block == block:
                replace(op, equal.results)
        elif not (is_branch(op) and _reuse(op, loads)):
            for region in op.regions:
                for inner in region.blocks:
                    outer = loads.items() if is_branch(op) else ()
                    _scan(inner, {root: dict(elements) for root, elements in outer})
            if not is_pure(op):
                _forget(op, loads)


def _key(load: ir.Operation) -> tuple[object, ...]:
    return (*load.operands, *attributes_of(load).items())


def _reuse(branch: ir.Operation, loads: Loads) -> bool:
    """Replace the loads of a branch if it does nothing else; return whether that is so."""
    inner = [op for op in operations(branch) if op.name != Scf.YIELD]
    earlier = [
        loads.get(array_root(split_access(op)[0]), {}).get(_key(op)) if is_load(op) else None
        for op in inner
    ]
    if any(load is None for load in earlier):
        return False
    for op, load in zip(inner, earlier):
        assert load is not None
        replace(op, load.results)
    return True


def _forget(op: ir.Operation, loads: Loads) -> None:
    """Forget the elements that an op may write."""
    written = written_by(op, lambda inner: inner.name in _STRUCTURE)
    for root in [*loads]:
        if written is None or may_be_written(root, written):
            del loads[root]
