"""Components of fields that have no place yet: one that is placed makes of its field a
`SplitField`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from mlirad.errors import TaichiRuntimeError
from mlirad.lang.field.access import FieldAccess
from mlirad.lang.field.components import ComponentField
from mlirad.lang.field.split_field import SplitField
from mlirad.lang.layout.tree import Leaf, LeafGroup


class UnplacedComponent(LeafGroup):
    """A component of a field without a place: a field of its own once it is placed, a part of the
    field's memory once that is placed as a whole."""

    def __init__(self, field: Any, position: tuple[int, ...]) -> None:
        self.field, self.position = field, position

    @property
    def _current(self) -> Any:
        return self.field.get_scalar_field(*self.position)

    @property
    def _component(self) -> Any:
        component = self._current
        if isinstance(component, UnplacedComponent):
            raise TaichiRuntimeError(
                f"component {self.position} of field '{self.field.symbol}' is used before it is "
                "placed: place it, or the whole field, in a layout tree"
            )
        return component

    def __leaves__(self) -> list[Leaf]:
        """The field of the component, which is to be placed."""
        if isinstance(self._current, UnplacedComponent):
            split(self.field)
        if isinstance(self._current, ComponentField):
            raise TaichiRuntimeError(self._current.refusal)
        return [self._current]

    @property
    def grad(self) -> Any:
        """The component of the adjoints."""
        grad = self.field.grad
        return None if grad is None else grad.get_scalar_field(*self.position)

    @property
    def dual(self) -> Any:
        """The component of the tangents."""
        dual = self.field.dual
        return None if dual is None else dual.get_scalar_field(*self.position)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._component, name)

    def __getitem__(self, key: object) -> Any:
        return self._component[key]

    def __setitem__(self, key: object, value: object) -> None:
        self._component[key] = value

    def __len__(self) -> int:
        return len(self._component)

    def __str__(self) -> str:
        return str(self._current) if isinstance(self._current, FieldAccess) else repr(self)

    def __kernel_ref__(self) -> object:
        return self._component.__kernel_ref__()


def split(field: Any) -> None:
    """Make a field without a place, with all its derivatives, one whose components are fields of
    their own. Raises TaichiRuntimeError if a part of it has a place."""
    primal = field if field.primal is None else field.primal
    for array in primal.with_derivatives():
        if array.placed_in is not None:
            raise TaichiRuntimeError(
                f"field '{array.symbol}' is placed as a whole: its components, and those of "
                f"'{field.symbol}', cannot be placed separately"
            )
    positions = product(*map(range, primal.element_shape))
    _become_split(primal, [primal.component(position) for position in positions])
    primal.program.trees.pending.append(primal.check_shapes)


def _become_split(field: Any, components: Sequence[FieldAccess]) -> None:
    """Change the class of a field; references to it stay valid."""
    symbol, element_shape, derived = field.symbol, field.element_shape, field.derived
    for kind, derivative in derived.items():
        _become_split(derivative, [component.derivative(kind) for component in components])
    vars(field).clear()
    field.__class__ = SplitField
    SplitField.__init__(field, symbol, components, element_shape)
    field.derived = derived
