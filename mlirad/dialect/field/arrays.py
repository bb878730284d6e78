"""The dialect of what a kernel does to memory, and its type of arrays.

Arrays are values of `!field.array<element, [extents]>`: a field of the layout tree (`field.get`),
an ndarray argument (extents -1 where only the launch knows them), or a cell local to one launch
(`field.alloca`). Two different fields never overlap; two ndarray arguments may. Indices are values
of type `index`, components last.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from mlirad.bindings import ext, ir
from mlirad.errors import TaichiTypeError

_ARRAY = re.compile(r"!field\.array<([^\[]*), \[((?:-?\d+(?:, )?)*)\]>")


class Field(ext.Dialect, name="field"):
    """Kernels over fields."""


class ArrayType(Field.Type, name="array"):
    """`!field.array<f32, [16, 3]>`"""

    element: ir.TypeAttr
    extents: ir.ArrayAttr


@lru_cache(maxsize=4096)
def array_of(type_: ir.Type) -> tuple[str, tuple[int, ...]]:
    """Element type (as text) and extents of an array type. Raises TaichiTypeError for any other."""
    match = _ARRAY.fullmatch(str(type_))
    if match is None:
        raise TaichiTypeError(f"{type_} is not an array type")
    return match.group(1), tuple(int(item) for item in match.group(2).split(",") if item)


@lru_cache(maxsize=4096)
def element_type(type_: ir.Type) -> ir.Type:
    """The element type of an array type."""
    return ir.Type.parse(array_of(type_)[0])


def is_array(type_: ir.Type) -> bool:
    """Whether a type is `!field.array`."""
    return str(type_).startswith("!field.array<")


def array_type(element: ir.Type, extents: Sequence[int]) -> ir.Type:
    """The array type of an element type and extents."""
    i64 = ir.IntegerType.get_signless(64)
    return ArrayType.get(
        ir.TypeAttr.get(element), ir.ArrayAttr.get([ir.IntegerAttr.get(i64, e) for e in extents])
    )


def check_array(op: ir.Operation, type_: ir.Type) -> bool:
    """Whether the type of an op's array is one; an error at the op where it is not."""
    if _ARRAY.fullmatch(str(type_)) is None:
        op.location.emit_error(f"{type_} is not an array")
        return False
    return True
