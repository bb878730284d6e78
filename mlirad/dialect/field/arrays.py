"""The dialect of a kernel's operations on memory, and its array type.

Arrays are values of `!field.array<element, [extents]>`: a field of the layout tree (`field.get`),
an ndarray argument (an extent is -1 if it is known only at the launch), or memory local to one
launch (`field.alloca`). Two different fields never overlap; two ndarray arguments may. Indices are
values of type `index`; the indices of components come last.
"""

from collections.abc import Sequence
from functools import lru_cache

from mlirad.bindings import ext, ir
from mlirad.errors import TaichiTypeError


class Field(ext.Dialect, name="field"):
    """Kernels over fields."""


class ArrayType(Field.Type, name="array"):
    """`!field.array<f32, [16, 3]>`"""

    element: ir.TypeAttr
    extents: ir.ArrayAttr


def array_of(type_: ir.Type) -> tuple[str, tuple[int, ...]]:
    """Element type (as text) and extents of an array type. Raises TaichiTypeError for any other."""
    element_and_extents = _element_and_extents(type_)
    if element_and_extents is None:
        raise TaichiTypeError(f"{type_} is not an array type")
    return element_and_extents


@lru_cache(maxsize=4096)
def _element_and_extents(type_: ir.Type) -> tuple[str, tuple[int, ...]] | None:
    """Element type and extents; None where a type is no array, or one of something else."""
    if not isinstance(type_, ArrayType):
        return None
    element, extents = str(element_type(type_)), list(ir.ArrayAttr(type_.extents))
    if "[" in element or any(str(extent.type) != "i64" for extent in extents):
        return None
    return element, tuple(ir.IntegerAttr(extent).value for extent in extents)


def element_type(type_: ir.Type) -> ir.Type:
    """The element type of an array type."""
    return ir.TypeAttr(ArrayType(type_).element).value


def is_array(type_: ir.Type) -> bool:
    """Return whether `array_of` takes a type: `!field.array` of scalars, its extents of i64."""
    return _element_and_extents(type_) is not None


def array_type(element: ir.Type, extents: Sequence[int]) -> ir.Type:
    """The array type of an element type and extents."""
    i64 = ir.IntegerType.get_signless(64)
    return ArrayType.get(
        ir.TypeAttr.get(element), ir.ArrayAttr.get([ir.IntegerAttr.get(i64, e) for e in extents])
    )


def problem_of_array(type_: ir.Type) -> str | None:
    """Return what is wrong with the type of an op's array, or nothing."""
    return f"{type_} is not an array" if _element_and_extents(type_) is None else None


def problem_of_new_array(type_: ir.Type, kind: str) -> str | None:
    """Return what is wrong with the type of an array that an op makes, or nothing."""
    problem = problem_of_array(type_)
    if problem is None and min(extents := array_of(type_)[1], default=1) <= 0:
        return f"a {kind} array of extents {list(extents)}, expected positive ones"
    return problem
