"""The fields of activity, as a function reads and writes them."""

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import array_type
from mlirad.dialect.field_layout import Activity, Digits
from mlirad.dialect.snode import element_and_shape, place_of
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.reports.location import nearest_location
from mlirad.ir.walk import at_start, entry_of

ACTIVE, HELD = 1, 2


class ActivityFields:
    """The arrays of activity of a function: each is got once."""

    def __init__(self, module: ir.Operation, function: ir.Operation) -> None:
        self.module, self.function = module, function
        self._arrays: dict[str, ir.Value] = {}

    def is_active(self, activity: Activity, index: Sequence[ir.Value]) -> ir.Value:
        """Return whether the cell, or the item, of an index is active."""
        value = self.load(activity, index)
        if activity.item is None:
            return b.compare(b.EQ, value, b.number(ACTIVE, value.type))
        return b.compare(b.SGT, value, _item(activity, index))

    def load(self, activity: Activity, index: Sequence[ir.Value]) -> ir.Value:
        """The byte of a cell, or the length of a list."""
        return field.load(self.array(activity.field), _place(activity, index))

    def store(self, activity: Activity, index: Sequence[ir.Value], value: ir.Value) -> None:
        """Set it."""
        field.store(value, self.array(activity.field), _place(activity, index))

    def update(
        self, activity: Activity, index: Sequence[ir.Value], value: ir.Value, kind: str
    ) -> ir.Value:
        """Update it; what it was before."""
        return field.atomic(value, self.array(activity.field), _place(activity, index), kind)

    def activate(self, activity: Activity, index: Sequence[ir.Value]) -> None:
        """Make a cell active, or a list long enough."""
        if activity.item is None:
            self.store(activity, index, b.number(ACTIVE, b.integer_type(8)))
            return
        item = _item(activity, index)
        self.update(activity, index, b.add(item, b.number(1, item.type)), "max")

    def array(self, name: str) -> ir.Value:
        """The array of a field of activity."""
        if name not in self._arrays:
            place = place_of(self.module, name)
            if place is None:
                raise TaichiCompilationError(
                    f"the activity @{name} is not placed in any layout tree of this module",
                    nearest_location(self.function),
                )
            element, shape = element_and_shape(place)
            with at_start(entry_of(self.function), self.function.location):
                type_ = array_type(ir.Type.parse(element), shape)
                self._arrays[name] = field.get(name, type_)
        return self._arrays[name]


def read_digits(digits: Digits, index: Sequence[ir.Value]) -> ir.Value:
    """Digits of an index, as a number."""
    value = index[digits.axis]
    if digits.width > 1:
        value = b.div(value, b.index(digits.width))
    return value


def _item(activity: Activity, index: Sequence[ir.Value]) -> ir.Value:
    """The number in its list of an item."""
    item = activity.item
    assert item is not None
    number = read_digits(item, index)
    if any(digits.axis == item.axis for digits in activity.cells):
        number = b.rem(number, b.index(item.extent))
    return b.index_cast(number, b.integer_type(32))


def _place(activity: Activity, index: Sequence[ir.Value]) -> list[ir.Value]:
    return [read_digits(digits, index) for digits in activity.cells]
