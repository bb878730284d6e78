"""Cut a kernel into launches: its parallel loops, and the serial statements between them.

Where one loop of a kernel overwrites what the gradient of an earlier one needs, a tape launches the
parts one by one, so that it can keep what each overwrites.
"""

from typing import Annotated

from mlirad.bindings import ir
from mlirad.dialect.field import is_access, is_load, is_report, is_write
from mlirad.errors import TaichiCompilationError
from mlirad.ir.limits import Range
from mlirad.ir.location import source_location
from mlirad.ir.requirements import KERNELS, is_private, refuse
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import (
    Array,
    accesses,
    array_root,
    block_operations,
    entry_of,
    functions,
    has_uses,
    is_inside,
    operations,
)

REQUIRES = KERNELS


def keep_launch(module: ir.Operation, *, number: Annotated[int, Range(0, 1_000_000)] = 0) -> None:
    """Keep one launch of every public function, and what it is computed from."""
    for function in functions(module):
        if not is_private(function):
            parts = launches(function)
            if number >= len(parts):
                refuse(
                    function,
                    f"a function of {len(parts)} launches has none of number {number}, counted "
                    f"from 0",
                )
            _check_independence(parts)
            dropped = {
                op for position, part in enumerate(parts) if position != number for op in part
            }
            kept = set(parts[number])
            for op in reversed(block_operations(entry_of(function))[:-1]):
                is_used = any(has_uses(result) for result in op.results)
                if op in dropped and is_used:
                    _refuse(op)
                if op not in kept and not is_used:
                    op.erase()


def launches(function: ir.Operation) -> list[list[ir.Operation]]:
    """The top-level operations with effects: each parallel loop alone, serial ones in runs."""
    parts: list[list[ir.Operation]] = []
    serial = False
    for op in block_operations(entry_of(function)):
        if not _acts(op) and not any(_acts(inner) for inner in operations(op)):
            continue
        if is_parallel(op) or not serial:
            parts.append([])
        parts[-1].append(op)
        serial = not is_parallel(op)
    return parts


def _check_independence(parts: list[list[ir.Operation]]) -> None:
    """Refuse where a launch uses a value that memory or a local of the kernel brings from an
    earlier one."""
    for position, part in enumerate(parts):
        others = [op for other in parts[position + 1 :] for op in other]
        for op in part:
            for result in op.results:
                if any(
                    is_inside(use.owner.operation, other) for use in result.uses for other in others
                ):
                    _refuse(op)
    locals_ = [
        {
            root
            for op in part
            for root in _touched(op)
            if isinstance(root, ir.Value) and not isinstance(root, ir.BlockArgument)
        }
        for part in parts
    ]
    for position, group in enumerate(locals_):
        if any(group & other for other in locals_[position + 1 :]):
            _refuse(parts[position][0])
    if parts:
        _check_loads(parts)


def _check_loads(parts: list[list[ir.Operation]]) -> None:
    """Refuse where a value loaded at the top is used by a launch behind one that overwrites it."""
    order = block_operations(parts[0][0].block)
    place = {op: position for position, op in enumerate(order)}
    for load in [op for op in order if is_load(op)]:
        users = _users(load)
        for number, part in enumerate(parts):
            if any(is_inside(user, op) for user in users for op in part):
                between = [
                    op for earlier in parts[:number] for op in earlier if place[op] > place[load]
                ]
                if any(array_root(load.operands[0]) in _written(op) for op in between):
                    _refuse(load)


def _users(op: ir.Operation) -> set[ir.Operation]:
    """The operations that use a value, directly or through others."""
    found: set[ir.Operation] = set()
    pending = [op]
    while pending:
        for result in pending.pop().results:
            for use in result.uses:
                user = use.owner.operation
                if user not in found:
                    found.add(user)
                    pending.append(user)
    return found


def _written(op: ir.Operation) -> set[Array]:
    return {root for inner, root, _ in _all_accesses(op) if not is_load(inner)}


def _touched(op: ir.Operation) -> set[Array]:
    return {root for _, root, _ in _all_accesses(op)}


def _all_accesses(op: ir.Operation) -> list[tuple[ir.Operation, Array, list[ir.Value]]]:
    found = list(accesses(op))
    if is_access(op):
        array = op.operands[0 if is_load(op) else 1]
        found.append((op, array_root(array), []))
    return found


def _refuse(op: ir.Operation) -> None:
    raise TaichiCompilationError(
        "the kernel overwrites what its gradient needs, and a later loop of it uses a local "
        "computed here: put the loops into kernels of their own",
        source_location(op.location),
    )


def _acts(op: ir.Operation) -> bool:
    """Whether an op writes, prints or asserts."""
    return is_write(op) or is_report(op)
