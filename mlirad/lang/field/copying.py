"""`x.copy_from(y)` of what lies in memory in two ways, as an ndarray and a field, or as components
and as a whole; and of ndarrays while derivatives are taken.

Kernels copy, as a user's would, so that what records launches records them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.frontend.python.calls.specials import grouped
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.lang.field.access import FieldAccess
from mlirad.lang.field.field import Field
from mlirad.lang.field.split_field import SplitField
from mlirad.lang.kernels.kernel import kernel
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.types_namespace import ndarray, template
from mlirad.types import i32


@kernel
def copy_field(target: template(), source: template(), shift: template()) -> None:  # type: ignore[valid-type]
    """Copy the elements that are active."""
    for element in grouped(source):
        target[element + shift] = source[element]


@kernel
def copy_array(target: ndarray(), source: ndarray()) -> None:  # type: ignore[valid-type]
    """Copy all elements."""
    for element in grouped(target):
        target[element] = source[element]


@kernel
def copy_field_to_array(target: ndarray(), source: template(), shift: template()) -> None:  # type: ignore[valid-type]
    """Copy all elements, what they hold where they are not active."""
    for element in grouped(target):
        target[element] = source[element - shift]


@kernel
def copy_array_to_field(target: template(), source: ndarray(), shift: template()) -> None:  # type: ignore[valid-type]
    """Copy all elements, which are active from then on."""
    for element in grouped(source):
        target[element + shift] = source[element]


def copy(target: Any, source: Any) -> None:
    """Copy a field or an ndarray to another. Raises TypeError for what is neither, ValueError for
    another shape."""
    if not isinstance(source, FieldAccess | SplitField | Ndarray):
        raise TypeError(f"copy_from: expected a field or an ndarray, got {type(source).__name__}")
    are_fields = not isinstance(target, Ndarray) and not isinstance(source, Ndarray)
    is_launched = are_fields or _carries(target, source) or _are_sparse(target, source)
    _check_shapes(target, source, are_alike=is_launched)
    if not is_launched:
        target.from_numpy(source.to_numpy())
    elif are_fields:
        copy_field(target, source, _shift(target, source))
    elif isinstance(target, Ndarray) and isinstance(source, Ndarray):
        copy_array(target, source)
    elif isinstance(target, Ndarray):
        copy_field_to_array(target, source, _shift(target, source))
    elif isinstance(source, Ndarray):
        for component in _components(target):
            component.note_values(source.elements.read())
        copy_array_to_field(target, source, _shift(target, source))


def _check_shapes(target: Any, source: Any, *, are_alike: bool) -> None:
    """Raise ValueError for other shapes; for elements of other shapes too, if they `are_alike`."""
    shapes = [(array.shape, array.element_shape) for array in (target, source)]
    if (are_alike and shapes[0] != shapes[1]) or sum(shapes[0], ()) != sum(shapes[1], ()):
        of = [f"{shape}" + f" of {element}" * bool(element) for shape, element in shapes]
        raise ValueError(f"copy_from: shapes {of[0]} and {of[1]} differ")


def _carries(target: Any, source: Any) -> bool:
    """Return whether something records the copy, and a derivative may pass through it."""
    components = [*_components(target), *_components(source)]
    are_primal = not any(component.is_derivative for component in components)
    are_floats = target.dtype.is_float and source.dtype.is_float
    return are_primal and are_floats and target.program.threads.recorder is not None


def _are_sparse(target: Any, source: Any) -> bool:
    """Return whether elements become active that are copied to, or may be copied that are not
    active."""
    components = [*_components(target), *_components(source)]
    return any(
        isinstance(component, Field) and component.find_memory().has_activity
        for component in components
    )


def _components(array: Any) -> Sequence[Any]:
    """Return the components of an array."""
    return array.parts if isinstance(array, SplitField) else [array]


def _shift(target: Any, source: Any) -> Any:
    """Return the distance of the indices of a target from those of a source."""
    starts = [_start(target), _start(source)]
    if not any(map(any, starts)):
        return 0
    return Matrix([[a - b] for a, b in zip(*starts)], i32)


def _start(array: Any) -> tuple[int, ...]:
    """The first index along each axis."""
    if isinstance(array, Ndarray):
        return (0,) * len(array.shape)
    return _components(array)[0].offset or (0,) * len(array.shape)
