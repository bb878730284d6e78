"""The arrays that operations write, as passes that keep elements in values have to know them."""

from __future__ import annotations

from collections.abc import Callable, Set

from mlirad.bindings import ir
from mlirad.dialect.field import is_load, is_write, split_access
from mlirad.ir.pure_operations import is_pure
from mlirad.ir.walk import Array, array_root, with_inner


def written_by(op: ir.Operation, is_harmless: Callable[[ir.Operation], bool]) -> set[Array] | None:
    """Return the arrays that an op, or what is in it, writes; None if it does something else, too,
    that is not harmless."""
    written = set[Array]()
    for inner in with_inner(op):
        if is_write(inner):
            written.add(array_root(split_access(inner)[0]))
        elif not (is_load(inner) or is_pure(inner) or is_harmless(inner)):
            return None
    return written


def may_be_written(array: Array, written: Set[Array]) -> bool:
    """Return whether an array is, or may be, among some that are written: those without a name may
    be one array."""
    return array in written or (
        not isinstance(array, str) and any(not isinstance(other, str) for other in written)
    )
