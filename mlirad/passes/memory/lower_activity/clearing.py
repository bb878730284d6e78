"""Clear what lies below a cell of a layout tree: it becomes 0, and inactive."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import array_type
from mlirad.dialect.field_layout import DeclaredBlock, Kind, activities_of, path_to, read_block
from mlirad.dialect.layout_rules import ELEMENT_SIZES, children_of, integers
from mlirad.dialect.snode import duals_of, element_and_shape, places
from mlirad.ir import build as b
from mlirad.ir.requirements import symbol_of
from mlirad.ir.walk import at_end, operations
from mlirad.passes.memory.lower_activity.activity_fields import ActivityFields

Cell = Mapping[int, ir.Value]  # the index along each axis


def clear_below(
    fields: ActivityFields,
    blocks: Sequence[ir.Operation],
    cell: Sequence[ir.Value],
    *,
    derivatives: bool,
) -> None:
    """Clear the fields that lie below a cell of a block, or below the items of a list, perhaps
    with their derivatives, and make inactive what is active there.

    `blocks` is that block in the trees of fields and of derivatives. A gradient that a program uses
    as memory is a field like others. What is active is known until the last tree.
    """
    for block in blocks if derivatives else ():
        _Clearing(fields, of_derivatives=True).start(block, cell)
    *earlier, last = sorted(blocks, key=_Clearing(fields).count)
    for block in earlier:
        _Clearing(fields, keeps_activity=True).start(block, cell)
    _Clearing(fields).start(last, cell)


class _Clearing:
    def __init__(
        self, fields: ActivityFields, *, of_derivatives: bool = False, keeps_activity: bool = False
    ) -> None:
        self.fields, self.location = fields, ir.Location.current
        self.of_derivatives = of_derivatives
        self.keeps_activity = of_derivatives or keeps_activity
        self.derivatives = {
            name for place in places(fields.module) for name in _derivatives_of(place)
        }

    def count(self, block: ir.Operation) -> int:
        """Return how many fields below a block are cleared."""
        return sum(op.name == "snode.place" and self._is_cleared(op) for op in operations(block))

    def start(self, block: ir.Operation, cell: Sequence[ir.Value]) -> None:
        """Clear what lies below a cell, or a list."""
        declaration = read_block(block)
        is_list = declaration.kind is Kind.DYNAMIC
        path = path_to(block) + ([] if is_list else [declaration])
        axes = sorted({axis for level in path for axis in level.axes})
        self.clear_cells(block, dict(zip(axes, cell)), is_entered=not is_list)

    def clear_cells(self, block: ir.Operation, cell: Cell, *, is_entered: bool = False) -> None:
        """Clear the cells of a block that lie in a cell around it, or, where that is `entered`, one
        of its own."""
        if is_entered:
            for child in children_of(block):
                if child.name == "snode.place":
                    self._place(child, cell)
                else:
                    self.clear_cells(child, cell)
            return
        if not self._has_places(block):
            return
        declaration = read_block(block)
        if declaration.kind is Kind.DYNAMIC:
            self._list(block, declaration, cell)
        else:
            self._cells(block, declaration, cell)

    def _cells(self, block: ir.Operation, declaration: DeclaredBlock, cell: Cell) -> None:
        def clear(inner: Cell) -> None:
            if declaration.activity is None:
                self.clear_cells(block, inner, is_entered=True)
                return
            activity = activities_of([*path_to(block), declaration])[-1]
            index = [inner[axis] for axis in sorted(inner)]
            value = self.fields.load(activity, index)
            is_held = b.compare(b.NE, value, b.number(0, value.type))
            branch = b.if_else(is_held, [], with_else=False)
            with at_end(branch.then, self.location):
                self.clear_cells(block, inner, is_entered=True)
                if not self.keeps_activity:
                    self.fields.store(activity, index, b.number(0, value.type))
                b.yield_()

        extents = [b.index(extent) for extent in declaration.extents]
        self._nest(declaration, extents, cell, clear)

    def _list(self, block: ir.Operation, declaration: DeclaredBlock, cell: Cell) -> None:
        """The items of a list."""
        around = path_to(block)
        activity = activities_of([*around, declaration])[-1]
        index = self._first_item(declaration, cell)
        length = self.fields.load(activity, index)
        count = b.to_index(length)
        clear = partial(self.clear_cells, block, is_entered=True)
        self._nest(declaration, [count], cell, clear)
        if not self.keeps_activity:
            self.fields.store(activity, index, b.number(0, length.type))

    def _first_item(self, declaration: DeclaredBlock, cell: Cell) -> list[ir.Value]:
        """The index of the first item."""
        inner = dict(cell)
        (axis,), (extent,) = declaration.axes, declaration.extents
        inner[axis] = b.mul(cell[axis], b.index(extent)) if axis in cell else b.index(0)
        return [inner[axis] for axis in sorted(inner)]

    def _nest(
        self,
        declaration: DeclaredBlock,
        counts: Sequence[ir.Value],
        cell: Cell,
        body: Callable[[Cell], None],
    ) -> None:
        if not counts:
            body(cell)
            return
        position = len(declaration.axes) - len(counts)
        axis, extent = declaration.axes[position], declaration.extents[position]
        loop = b.for_loop(b.index(0), counts[0], b.index(1))
        with at_end(loop.body, self.location):
            inner = dict(cell)
            outer = cell.get(axis)
            number: ir.Value = loop.induction
            inner[axis] = number if outer is None else b.add(b.mul(outer, b.index(extent)), number)
            self._nest(declaration, counts[1:], inner, body)
            b.yield_()

    def _place(self, place: ir.Operation, cell: Cell) -> None:
        if not self._is_cleared(place):
            return
        name = symbol_of(place)
        element, shape = element_and_shape(place)
        type_ = ir.Type.parse(element)
        array = field.get(name, array_type(type_, shape))
        index = [cell[axis] for axis in sorted(cell)]
        for component in product(*map(range, integers(place.attributes["component_shape"]))):
            at = [*index, *(b.index(c) for c in component)]
            if self.of_derivatives:
                self._clear_if_set(array, at, 8 * ELEMENT_SIZES[element])
            else:
                field.store(b.number(0, type_), array, at)

    def _clear_if_set(self, array: ir.Value, at: Sequence[ir.Value], width: int) -> None:
        """A store would take memory, which derivatives that nothing computed do not have."""
        value = field.load(array, at)
        bits = b.bitcast(value, b.integer_type(width))
        branch = b.if_else(b.compare(b.NE, bits, b.number(0, bits.type)), [], with_else=False)
        with at_end(branch.then, self.location):
            field.store(b.number(0, value.type), array, at)
            b.yield_()

    def _is_cleared(self, place: ir.Operation) -> bool:
        name = symbol_of(place)
        return (name in self.derivatives) == self.of_derivatives

    def _has_places(self, block: ir.Operation) -> bool:
        return any(
            self._is_cleared(child) if child.name == "snode.place" else self._has_places(child)
            for child in children_of(block)
        )


def _derivatives_of(place: ir.Operation) -> list[str]:
    adjoint = place.attributes.get("adjoint")
    adjoints = [] if adjoint is None else [ir.FlatSymbolRefAttr(adjoint).value]
    return [*adjoints, *duals_of(place)]
