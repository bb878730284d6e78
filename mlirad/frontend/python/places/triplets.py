"""Builders of sparse matrices inside a kernel: `A[i, j] += v` adds a triplet."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, NoReturn

from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.building.regions import if_op
from mlirad.frontend.python.places.arrays import ArrayRef
from mlirad.frontend.python.places.place import Place, Subscript, check_rank, flat_indices
from mlirad.frontend.python.places.variables import Combine, Update
from mlirad.frontend.python.values import scalar as ex
from mlirad.ir import build
from mlirad.types import u1

# Members of the pack of arrays behind a builder. They are no identifiers, so that no pack of a
# program has them.
COUNT, ROWS, COLUMNS, VALUES = "triplet count", "rows", "columns", "triplet values"


def are_triplets(members: Mapping[str, Any]) -> bool:
    """Return whether arguments by name are the arrays of a builder."""
    return COUNT in members


class Triplets(Place):
    """A builder: only its entries can be updated, and it can be passed to functions."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self.count: ArrayRef = members[COUNT]
        self.rows: ArrayRef = members[ROWS]
        self.columns: ArrayRef = members[COLUMNS]
        self.values: Any = members[VALUES]

    @property
    def has_gradient(self) -> bool:
        """Return whether derivatives pass through it: then the order of triplets has to be
        known."""
        return self.values.gradient is not None

    def load(self) -> Triplets:
        """The builder: it is no value."""
        return self

    def store(self, value: object) -> NoReturn:
        raise TaichiTypeError("a sparse matrix builder cannot be assigned to")

    def update(self, operator: Combine, kind: Update | None, value: object) -> NoReturn:
        raise TaichiTypeError("a sparse matrix builder is updated entry by entry: A[i, j] += v")

    def at(self, key: Subscript) -> TripletPlace:
        indices = list(flat_indices(key))
        check_rank("a sparse matrix", 2, indices)
        for index in indices:
            if not ex.is_scalar(index) or ex.dtype_of(index).is_float:
                raise TaichiTypeError("an index of a sparse matrix builder must be an integer")
        return TripletPlace(self, indices[0], indices[1])


class TripletPlace(Place):
    """An entry of the matrix that a builder makes: numbers are added to it."""

    def __init__(self, triplets: Triplets, row: Any, column: Any) -> None:
        self.triplets, self.row, self.column = triplets, row, column

    def load(self) -> NoReturn:
        raise TaichiTypeError(
            "entries of a sparse matrix builder cannot be read in a kernel: it only supports "
            "A[i, j] += v and A[i, j] -= v"
        )

    def store(self, value: object) -> NoReturn:
        raise TaichiTypeError(
            "entries of a sparse matrix builder cannot be set: it only supports A[i, j] += v "
            "and A[i, j] -= v"
        )

    def update(self, operator_: Combine, kind: Update | None, value: Any) -> None:
        """Append a triplet if there is room; they are counted in any case."""
        if kind not in (Update.ADD, Update.SUB):
            self.load()
        if not ex.is_scalar(value):
            raise TaichiTypeError(
                "expected a scalar to add to an entry of a sparse matrix, got "
                f"{type(value).__name__}"
            )
        triplets = self.triplets
        number = triplets.count.at([build.index(0)]).update(operator.add, Update.ADD, 1)
        has_room = ex.comparison("<")(number, triplets.rows.shape[0])

        def store() -> None:
            place = [ex.as_index(number)]
            triplets.rows.at(place).store(self.row)
            triplets.columns.at(place).store(self.column)
            triplets.values.at(place).store(-value if kind is Update.SUB else value)

        if_op(ex.cast(has_room, u1).value, store)
