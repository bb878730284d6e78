"""The choice of register tiles for a contraction, in this one place.

Two kinds of tile. *Columns*: the lanes run along an index of the output and of the right factor; a
number of the left factor is spread over the lanes. Where these elements lie apart in the output, as
channels do, the whole sum is made by one copy of the right factor. *Dots*: the lanes run along a
summed index, in both factors, and are added up at the end. A tile holds rows of the left factor
times vectors (or columns) of the right one, so that what is loaded is used often, and enough sums
are in flight.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import msgspec

from mlirad.analysis.contractions.contraction import Contraction, Index
from mlirad.analysis.contractions.elements import Element
from mlirad.bindings import ir

_MANY = 32  # registers, of which a tile's sums take half, else three quarters
_WHOLE = 1024  # points of a sum that one copy has
_PANEL = 512  # trips of the sum for which a panel of the right factor is copied
_PANEL_OF_FAR = 256  # where the left factor lies in rows far apart, which tiles share
_BLOCK = 1 << 18  # bytes of the left factor that stay in a cache
_DEEP = 64  # trips of a sum through rows far apart that do not stay in a cache
_WIDE = 24  # vectors of columns from which on a tile has three: what is left over is little then
_FAR = 256  # elements between rows from which on reading a panel again costs more than a copy
_REREADS = 16  # that pay for a copy of neighboring elements
_TILES = 4  # in a row, that pay for a copy of what they share of the left factor
_MOST_ROWS, _MOST_VECTORS = 16, 4  # of a tile that a program asks for
_KINDS = [
    {"output": bool(kind & 1), "left": bool(kind & 2), "right": bool(kind & 4)} for kind in range(8)
]
# costs, in multiplications of vectors
_COPY, _TRANSPOSED, _SCATTERED, _ACROSS, _MASKED = 1.0, 4.0, 16.0, 12.0, 8.0
# what it costs to read a vector of a right factor of more elements than stay in a cache
_STREAMED = {1 << 16: 1.0, 1 << 19: 3.0}
_LARGE = 1 << 10  # values of an index that may not be few
_ENOUGH = 512  # trips of a dot product that pay for adding up lanes


class Plan(msgspec.Struct, frozen=True, eq=False):
    """A tile: `rows` of one index, by `columns` vectors (or numbers) of another."""

    nest: Contraction  # with its factors in the order that the tile takes them
    row: Index
    column: Index
    inner: Index  # the innermost of those that are summed
    rows: int
    columns: int
    lanes: int
    is_dots: bool
    is_packed: bool
    cost: float  # of the multiplication of a vector
    is_apart: bool = False  # the columns of the output do not lie side by side

    @property
    def free(self) -> list[Index]:
        """The other indices of the output."""
        of_tile = (self.row, self.column)
        return [
            index
            for index in self.nest.indices
            if self.nest.output.moves_with(index.value) and index not in of_tile
        ]

    @property
    def sums(self) -> list[Index]:
        """The other indices that are summed."""
        return [
            index
            for index in self.nest.indices
            if not self.nest.output.moves_with(index.value) and index is not self.inner
        ]

    @property
    def outer_sums(self) -> list[Index]:
        """The first of the other sums of dot products, which go by outside of all tiles, as long
        as enough is left for each tile: then what tiles read stays in a cache."""
        if not self.is_dots:
            return []
        sums = self.sums
        for count in range(len(sums), 0, -1):
            if prod(index.expected_trips for index in (*sums[count:], self.inner)) >= _ENOUGH:
                return sums[:count]
        return []

    @property
    def block(self) -> int:
        """Return how many rows go by a panel before the next one is made: whole tiles, whose part
        of the left factor fills half of a cache."""
        width = ir.FloatType(self.nest.element_type).width // 8
        rows = _BLOCK // (width * self.panel * len(self.nest.terms))
        return max(1, rows // self.rows) * self.rows

    @property
    def panel(self) -> int:
        """Return how many trips of the sum go by between loads and stores of the output."""
        if self.is_apart:
            return prod(index.expected_trips for index in (*self.sums, self.inner))
        far = self.nest.terms[0].left.distance(self.inner.value) >= _FAR
        trips = _PANEL_OF_FAR if far else _PANEL
        trips = max(1, min(self.inner.choice.tile, _PANEL) or trips // len(self.nest.terms))
        return min(trips, self.inner.extent or trips)

    @property
    def trips_at_once(self) -> int | None:
        """Return how many trips of the sum all tiles without a panel make before the next ones;
        None for all. Rows that lie side by side share cache lines, of which few stay in a cache if
        trips are far apart."""
        left, row, inner = self.nest.terms[0].left, self.row, self.inner
        shares_lines = left.is_near_to_next(row.value) and row.expected_trips > self.rows
        is_far = left.distance(inner.value) >= _FAR
        is_deep = inner.extent is None or inner.extent > _DEEP
        return _DEEP if shares_lines and is_far and is_deep else None

    @property
    def copies_rows(self) -> bool:
        """Return whether tiles read a copy of the left factor, too: the next row lies beside a row,
        the next trip of the sum far behind, and many columns read them again."""
        (term, *other_terms), (row, inner) = self.nest.terms, (self.row.value, self.inner.value)
        return (
            self.is_packed
            and not self.is_apart
            and not other_terms
            and not term.limits
            and self.rows > 1
            and term.left.is_next_to_next(row)
            and term.left.distance(inner) >= _FAR
            and self.column.expected_trips >= _TILES * self.columns * self.lanes
            and not any(
                term.left.moves_with(i.value)
                for i in self.free
                if not term.right.moves_with(i.value)
            )
        )

    @property
    def multiplies_more(self) -> bool:
        """Return whether tiles multiply by 0 what the program does not multiply."""
        return self.nest.is_guarded or any(term.limits for term in self.nest.terms)

    def __str__(self) -> str:
        kind = "dot products" if self.is_dots else "columns"
        copied = ", by copies of what they share" if self.is_packed else ""
        copied += ", whose sums lie apart" if self.is_apart else ""
        terms = f" of {len(self.nest.terms)} products" if len(self.nest.terms) > 1 else ""
        lanes = f"{self.lanes} lanes{_along(self.inner if self.is_dots else self.column)}"
        rows = f"{self.rows}{_of_name(self.row)}"
        columns = f"{self.columns} {kind}{_of_name(self.column) if self.is_dots else ''}"
        return f"a sum{terms} in tiles of {rows} by {columns} of {lanes}{copied}"


def _of_name(index: Index) -> str:
    return f" of {index.choice.name}" if index.choice.name else ""


def _along(index: Index) -> str:
    return f" along {index.choice.name}" if index.choice.name else ""


def plan(nest: Contraction, lanes: int, registers: int) -> Plan | None:
    """The cheapest tile; None where none is better than the loops as they are."""
    plans = [
        candidate
        for ordered in (nest, nest.with_factors_swapped())
        for make in (_columns, _columns_apart, _dots)
        for candidate in make(ordered, lanes, registers)
        if (len(nest.terms) == 1 or _is_together(candidate)) and _is_as_asked(candidate)
    ]
    return min(plans, key=lambda candidate: candidate.cost, default=None)


def _is_as_asked(candidate: Plan) -> bool:
    """Return whether the lanes are along the index that the program names, if it names one."""
    asked = [index for index in candidate.nest.indices if index.choice.in_lanes]
    return not asked or (candidate.inner if candidate.is_dots else candidate.column) in asked


def _is_together(candidate: Plan) -> bool:
    """Return whether a tile takes several terms: by one panel of copies that are 0 where a term is
    outside of its limits, which do not depend on the rows."""
    nest, column = candidate.nest, candidate.column.value
    same = {index for kind in _KINDS for index in nest.moving(**kind)} == set(nest.indices)
    return (
        candidate.is_packed
        and not candidate.is_apart
        and not nest.is_guarded
        and same
        and all(term.right.is_near_to_next(column) for term in nest.terms)
        and all(
            nest.terms[0].right.moves_with(index) or not nest.output.moves_with(index)
            for term in nest.terms
            for index in term.limits
        )
    )


def size(nest: Contraction) -> int:
    """Return how many multiplications a contraction makes, as far as is known."""
    return len(nest.terms) * prod(index.expected_trips for index in nest.indices)


def _longest(indices: list[Index]) -> Index:
    """The index with the most values, of those of which the program wants tiles if there are
    any."""
    asked = [index for index in indices if index.choice.tile > 1]
    return max(asked or indices, key=lambda index: index.expected_trips)


def _columns(nest: Contraction, lanes: int, registers: int) -> Iterator[Plan]:
    rows = nest.moving(output=True, left=True, right=False)
    sums = nest.moving(output=False, left=True, right=True)
    columns = [
        index
        for index in nest.moving(output=True, left=False, right=True)
        if nest.output.is_next_to_next(index.value)
    ]
    if not (rows and sums and columns):
        return
    row, inner, column = _longest(rows), _longest(sums), columns[0]
    if not nest.output.tells_apart(row.value, column.value):
        return
    most = 3 if registers >= _MANY and column.expected_trips >= _WIDE * lanes else 2
    vectors = min(most, -(-column.expected_trips // lanes))
    if column.choice.tile:
        vectors = min(_MOST_VECTORS, -(-column.choice.tile // lanes))
    height = _height(row, 8 if registers >= _MANY else 6)
    rereads = prod(index.expected_trips for index in rows)
    right, terms = nest.terms[0].right, len(nest.terms)
    is_neighbour = right.is_next_to_next(column.value)
    is_far = right.distance(inner.value) >= _FAR and inner.expected_trips >= _DEEP
    is_packed = not is_neighbour or terms > 1 or (is_far and rereads >= _REREADS)
    cost = _padding(column, lanes) + (height + vectors) / (2 * height * vectors)
    moved = 2 * (_MASKED if column.expected_trips < lanes else 1.0)  # in and out
    cost += moved / (terms * prod(index.expected_trips for index in sums))
    if is_packed:
        cost += _copying(right, column, inner) / max(1, rereads)
    yield Plan(nest, row, column, inner, height, vectors, lanes, False, is_packed, cost)


def _columns_apart(nest: Contraction, lanes: int, registers: int) -> Iterator[Plan]:
    """Columns that lie apart in the output: whole vectors of them, of a sum that fits one copy."""
    rows = nest.moving(output=True, left=True, right=False)
    sums = nest.moving(output=False, left=True, right=True)
    points = prod(index.extent or _WHOLE + 1 for index in sums)
    if not (rows and sums and points <= _WHOLE) or len(nest.terms) > 1:
        return
    if nest.terms[0].limits or nest.is_guarded:
        return
    row, inner = _longest(rows), _longest(sums)
    if any(index not in (*rows, *sums) and index.extent is None for index in nest.indices):
        return
    height = _height(row, 8 if registers >= _MANY else 6)
    for column in nest.moving(output=True, left=False, right=True):
        is_whole = column.extent is not None and column.extent > 0 and column.extent % lanes == 0
        if not is_whole or nest.output.is_next_to_next(column.value):
            continue
        if not nest.output.tells_apart(row.value, column.value):
            continue
        cost = 1 + (height + 1) / (2 * height) + 2 * lanes / points
        cost += _SCATTERED / prod(index.expected_trips for index in rows)
        yield Plan(nest, row, column, inner, height, 1, lanes, False, True, cost, True)


def _copying(right: Element, column: Index, inner: Index) -> float:
    """Return the cost of copying a vector of the right factor."""
    if right.is_near_to_next(column.value):
        return _COPY * (2 * (right.steps(column.value) or 1) - 1)
    return _TRANSPOSED if right.is_next_to_next(inner.value) else _SCATTERED


def _dots(nest: Contraction, lanes: int, registers: int) -> Iterator[Plan]:
    rows = nest.moving(output=True, left=True, right=False)
    columns = nest.moving(output=True, left=False, right=True)
    sums = nest.moving(output=False, left=True, right=True)
    inner = [
        index
        for index in sums
        if all(
            factor.left.is_near_to_next(index.value) and factor.right.is_near_to_next(index.value)
            for factor in nest.terms
        )
    ]
    if not (rows and columns and inner) or nest.is_guarded:
        return
    row, column = _longest(rows), _longest(columns)
    if not nest.output.tells_apart(row.value, column.value):
        return
    height, width = _height(row, 4), _height(column, 4 if registers >= _MANY else 3)
    if height * width > _MOST_ROWS:
        width = max(1, _MOST_ROWS // height)
    near = [
        factor.steps(inner[0].value) or 1 for factor in (nest.terms[0].left, nest.terms[0].right)
    ]
    loads = height * (2 * near[0] - 1) + width * (2 * near[1] - 1)
    cost = _padding(inner[0], lanes) + loads / (2 * height * width)
    cost += _ACROSS * lanes / prod(index.expected_trips for index in sums)
    shared = (_LARGE if column.extent is None else column.expected_trips) * inner[0].expected_trips
    cost += (
        max((factor for least, factor in _STREAMED.items() if shared > least), default=0.0) / height
    )
    yield Plan(nest, row, column, inner[0], height, width, lanes, True, False, cost)


def _height(index: Index, most: int) -> int:
    """Return how many values of an index a tile holds: as many as leave few over."""
    if index.choice.tile:
        return min(index.choice.tile, _MOST_ROWS)
    if index.extent is None or index.extent >= 4 * most:
        return most
    extent = max(1, index.extent)
    return min(range(1, most + 1), key=lambda rows: (-(-extent // rows), rows))


def _padding(index: Index, lanes: int) -> float:
    """Multiplications of vectors made for one that is needed."""
    return -(-index.expected_trips // lanes) * lanes / max(1, index.expected_trips)
