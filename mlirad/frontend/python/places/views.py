"""Views of ndarrays inside a kernel: the elements of an array from an offset on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.errors import TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.building.builder import current
from mlirad.frontend.python.building.open_regions import user_place
from mlirad.frontend.python.building.regions import for_op
from mlirad.frontend.python.places.arrays import Array, ArrayRef, array_ref
from mlirad.frontend.python.places.place import Place, Subscript, check_rank, indices_in
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Value
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.ir import build
from mlirad.types import i64, u1

# Members of the pack that a view is as an argument. They are no identifiers, so that no pack of a
# program has them.
ARRAY, OFFSET, SIZE = "viewed array", "view offset", "view size"


class KernelView(Array):
    """Some elements of an array with one axis; its indices begin with 0."""

    def __init__(self, array: ArrayRef, offset: Scalar, size: Scalar) -> None:
        self.array, self.offset, self.size = array, offset, size
        self.name = array.name

    @property
    def shape(self) -> tuple[Scalar, ...]:
        """The extent of its axis."""
        return (self.size,)

    @property
    def grad(self) -> KernelView:
        """The view of the gradient. Raises TaichiTypeError if there is none."""
        array: Any = self.array
        return KernelView(array.grad, self.offset, self.size)

    def element(self, key: Subscript) -> Place:
        indices = indices_in(key)
        check_rank(self.name, 1, indices)
        _refuse_negative(indices[0])
        if current().debug:
            self._check_index(indices[0])
        return self.array.element(indices[0] + self.offset)

    def fill(self, value: Value) -> None:
        low, high, step = build.index(0), ex.as_index(self.size), build.index(1)
        for_op(low, high, step, lambda i: self.element(ex.from_index(i)).store(value))

    def leaves(self) -> Sequence[ArrayRef]:
        return [self.array]

    def subview(self, offset: Scalar, size: Scalar) -> KernelView:
        """The view of some of the elements."""
        if current().debug:
            numbers = "subview offset={}, subview size={}, parent size={}"
            _check_range(offset, size, self.size, _message("subview Out Of Range", numbers))
        return KernelView(self.array, self.offset + offset, size)

    def sliced(self, start: Scalar | None, stop: Scalar | None, step: object) -> KernelView:
        """The view that a slice names. Raises TaichiSyntaxError for a step."""
        if step is not None:
            raise TaichiSyntaxError("a slice of a BufferView does not support an explicit step")
        first = 0 if start is None else start
        last = self.size if stop is None else stop
        _refuse_negative(first)
        _refuse_negative(last)
        return self.subview(first, last - first)

    def _check_index(self, index: Scalar) -> None:
        text = _message("Out Of Range", "got index {} (offset={}, size={})")
        _check_within(index, index + 1, self.size, text, [index, self.offset, self.size])


def kernel_view(array: object, offset: Scalar, size: Scalar) -> KernelView:
    """Return the view of an array of the kernel. Raises TaichiTypeError for anything else, and for
    arrays of more axes."""
    viewed = array_ref(array)
    if not isinstance(viewed, ArrayRef) or len(viewed.shape) != 1:
        raise TaichiTypeError("BufferView: expected an ndarray with one axis, an offset and a size")
    _refuse_negative(offset)
    _refuse_negative(size)
    if current().debug:
        message = "BufferView construction out of range: offset={}, size={}, ndarray length={}"
        _check_range(offset, size, viewed.shape[0], message)
    return KernelView(viewed, offset, size)


def is_view(members: Mapping[str, Any]) -> bool:
    """Return whether arguments by name are those of a view."""
    return ARRAY in members


def view_of(members: Mapping[str, Any]) -> KernelView:
    """Return the view that some arguments are."""
    return KernelView(members[ARRAY], members[OFFSET], members[SIZE])


def _refuse_negative(number: Scalar) -> None:
    if isinstance(number, int) and number < 0:
        raise TaichiSyntaxError("Negative indices are not supported in Taichi kernels.")


def _check_range(offset: Scalar, size: Scalar, extent: Scalar, message: str) -> None:
    """Assert that a range is one, and within so many elements."""
    values = [offset, size, extent]
    _check_within(offset, offset + size, extent, message, values)
    _assert(ex.comparison(">=")(size, 0), message, values)


def _check_within(
    first: Scalar, end: Scalar, extent: Scalar, message: str, values: Sequence[Scalar]
) -> None:
    _assert(ex.comparison(">=")(first, 0), message, values)
    _assert(ex.comparison("<=")(end, extent), message, values)


def _assert(condition: Scalar, message: str, values: Sequence[Scalar]) -> None:
    if "tid={}" in message:
        values = [Expr(current().iteration(), i64), *values]
    numbers = [ex.cast(ex.expression(value), i64).value for value in values]
    field.assert_(ex.cast(ex.expression(condition), u1).value, message, numbers)


def _message(failure: str, numbers: str) -> str:
    """Return the text of an assertion: the failure, the numbers, and the functions around with
    their lines."""
    builder = current()
    assert builder.entry is not None
    kernel = ir.StringAttr(builder.entry.owner.attributes["sym_name"]).value
    names = [kernel, *(name for name, _ in builder.calls)]
    places = [*(place for _, place in builder.calls), user_place(ir.Location.current)]
    lines = [
        f"{'  ' * depth}{name} ({place.file}:{place.line})"
        for depth, (name, place) in enumerate(zip(names, places))
        if place is not None
    ]
    stack = field.escape_braces("\n".join(lines))
    return f"BufferView {failure}: kernel[{kernel}] tid={{}}, {numbers}.\nCallstack:\n{stack}"
