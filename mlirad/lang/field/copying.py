"""`x.copy_from(y)` where one of the fields lies component by component and the other as a whole: a
kernel, as a user's would be, so that what records launches records it."""

from typing import Any

from mlirad.frontend.python.specials import grouped
from mlirad.lang.kernel import kernel
from mlirad.lang.types_namespace import template


@kernel
def copy_elements(target: template(), source: template()) -> None:  # type: ignore[valid-type]
    """Copy the elements that are active."""
    for element in grouped(source):
        target[element] = source[element]


def copy(target: Any, source: Any) -> None:
    """Copy a field to another. Raises TypeError for what is no field, ValueError for another
    shape."""
    element_shape = getattr(source, "element_shape", None)
    if element_shape is None:
        raise TypeError(f"copy_from: a field is needed, not a {type(source).__name__}")
    if (source.shape, element_shape) != (target.shape, target.element_shape):
        raise ValueError(f"copy_from: shapes {target.shape} and {source.shape} differ")
    copy_elements(target, source)
