"""Lists whose entries a kernel assigns, and tuples that it assigns anew: as many places as there
were entries at first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.places.place import Place, needs_static_index, variables_in
from mlirad.frontend.python.places.variables import Combine, Update, Variable
from mlirad.frontend.python.values.matrix import Matrix, Value
from mlirad.frontend.python.values.scalar import Expr

_CHANGE_LENGTH = {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"}


class ListPlace(Place):
    """The places of a list's entries; an entry that no variable can hold, a field or a text, stays
    as it is."""

    def __init__(self, entries: Sequence[Any]) -> None:
        self.entries = list(entries)

    def load(self) -> list[Any]:
        return [entry.load() if isinstance(entry, Place) else entry for entry in self.entries]

    def store(self, value: Any) -> None:
        if not isinstance(value, list | tuple) or len(value) != len(self.entries):
            actual = f"{len(value)}" if isinstance(value, list | tuple) else type(value).__name__
            raise TaichiTypeError(
                f"the length of a list cannot change in a kernel: {actual} cannot replace "
                f"{len(self.entries)} entries"
            )
        for entry, item in zip(self.entries, value):
            if isinstance(entry, Place):
                store_into(entry, item)
            elif entry is not item:
                raise TaichiTypeError(
                    f"a {type(entry).__name__} in a list cannot be replaced in a kernel"
                )

    def update(self, operator: Combine, kind: Update | None, value: Value) -> NoReturn:
        raise TaichiTypeError("a list cannot be updated as a whole: update its entries")

    def at(self, key: Any) -> Any:
        """The place of an entry, or the entry if it has none. Raises TaichiTypeError for an
        index of run time."""
        if isinstance(key, Expr):
            raise needs_static_index("list", self.entries)
        return self.entries[key]

    def slice_at(self, key: Sequence[Any]) -> Place:
        if len(key) != 1:
            raise TaichiTypeError("a list has one axis")
        return ListPlace(self.entries[key[0]])

    def variables(self) -> list[Variable] | None:
        return variables_in(entry for entry in self.entries if isinstance(entry, Place))

    def attribute(self, name: str) -> Any:
        if name in _CHANGE_LENGTH:
            raise TaichiTypeError(
                f"the length of a list cannot change in a kernel: '{name}' is not supported"
            )
        return None


class TuplePlace(Place):
    """The places of a tuple's entries, which are assigned all at once."""

    def __init__(self, entries: Sequence[Place]) -> None:
        self.entries = list(entries)

    def load(self) -> tuple[Any, ...]:
        return tuple([entry.load() for entry in self.entries])

    def store(self, value: Any) -> None:
        if not isinstance(value, list | tuple) or len(value) != len(self.entries):
            raise TaichiTypeError(
                f"the variable is a tuple of {len(self.entries)} values and must stay one"
            )
        for entry, item in zip(self.entries, value):
            store_into(entry, item)

    def update(self, operator: Combine, kind: Update | None, value: Value) -> NoReturn:
        raise TaichiTypeError("a tuple cannot be updated: assign a new one")

    def at(self, key: Any) -> Any:
        """The value of an entry, which has no place of its own. Raises TaichiTypeError for an index
        of run time."""
        if isinstance(key, Expr):
            raise needs_static_index("tuple", self.entries)
        return self.entries[key].load()

    def slice_at(self, key: Sequence[Any]) -> Any:
        if len(key) != 1:
            raise TaichiTypeError("a tuple has one axis")
        return self.load()[key[0]]

    def variables(self) -> list[Variable] | None:
        return variables_in(self.entries)


def store_into(place: Place, value: Any) -> None:
    """Store a value into a place, a list as a vector unless the place is that of a list."""
    is_vector = isinstance(value, list | tuple) and not isinstance(place, ListPlace | TuplePlace)
    place.store(Matrix(value) if is_vector else value)
