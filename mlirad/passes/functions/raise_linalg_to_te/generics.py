"""`linalg.generic`: an expression for each element, or a reduction of such."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.walk import block_operations, captured_values, has_uses
from mlirad.passes.functions.raise_linalg_to_te.affine import results_of
from mlirad.passes.functions.raise_linalg_to_te.definitions import (
    Definitions,
    Region,
    Unraisable,
    is_number,
    needed_by,
    tensor_type,
)
from mlirad.passes.functions.raise_linalg_to_te.updates import COMBINERS, updates_of


def define_generic(op: ir.Operation, definitions: Definitions) -> None:
    """Define the results that are used."""
    generic = _Generic(op, definitions)
    for position, result in enumerate(generic.results):
        if has_uses(result):
            generic.define(position)


class _Generic:
    """One `linalg.generic`: its indices, and where its operands are read."""

    def __init__(self, op: ir.Operation, definitions: Definitions) -> None:
        self.op, self.definitions = op, definitions
        self.body = op.regions[0].blocks[0]
        self.maps = [
            ir.AffineMapAttr(map_).value for map_ in ir.ArrayAttr(op.attributes["indexing_maps"])
        ]
        kinds = ir.ArrayAttr(op.attributes["iterator_types"])
        self.reduced = [axis for axis, kind in enumerate(kinds) if "reduction" in str(kind)]
        if any("window" in str(kind) for kind in kinds):
            raise Unraisable
        self.first_target = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0]
        targets = list(op.operands)[self.first_target :]
        self.results = list(op.results) or targets  # those that are buffers are written to
        if not len(op.results):
            self._check_target(targets)
        self.extents = self._extents(len(kinds))

    def _check_target(self, targets: Sequence[ir.Value]) -> None:
        """Raise Unraisable if elements of a buffer may be read behind their update."""
        inputs = list(zip(self.op.operands, self.maps))[: self.first_target]
        shared = [map_ for value, map_ in inputs if value in targets]
        if len(targets) > 1 or any(self.reduced or map_ != self.maps[-1] for map_ in shared):
            raise Unraisable

    def _extents(self, count: int) -> list[int]:
        """Return the number of points along each index."""
        extents: dict[int, int] = {}
        for operand, map_ in zip(self.op.operands, self.maps):
            for axis, result in enumerate(map_.results):
                if isinstance(result, ir.AffineDimExpr):
                    extent = tensor_type(operand.type).shape[axis]
                    extents.setdefault(result.position, extent)
        if len(extents) < count:
            raise Unraisable
        return [extents[axis] for axis in range(count)]

    def define(self, position: int) -> None:
        """Define one of the results."""
        number = self.first_target + position
        axes = [
            result.position if isinstance(result, ir.AffineDimExpr) else -1
            for result in self.maps[number].results
        ]
        if sorted([*axes, *self.reduced]) != list(range(len(self.extents))):
            raise Unraisable  # some elements are left out, or written twice
        value = block_operations(self.body)[-1].operands[position]
        if self.reduced:
            self._reduce(self.results[position], number, axes, value)
            return

        def fill(indices: list[ir.Value]) -> ir.Value:
            return self._point(dict(zip(axes, indices)), value, is_reduced=False)

        self.definitions.define(self.results[position], fill, self.op.name)

    def _point(self, at: dict[int, ir.Value], value: ir.Value, *, is_reduced: bool) -> ir.Value:
        """Emit a value of the body at a point."""
        indices = [at[axis] for axis in range(len(self.extents))]
        needed = needed_by(self.body, value)
        used = {operand for op in needed for operand in _operands(op)} | {value}
        values: dict[ir.Value, ir.Value] = {}
        for number, argument in enumerate(self.body.arguments):
            if argument not in used:
                continue
            if is_reduced and number >= self.first_target:
                raise Unraisable  # what is combined so far
            values[argument] = self._element(number, indices)
        return Region(self.definitions, values, indices).result(self.body, value)

    def _element(self, number: int, indices: Sequence[ir.Value]) -> ir.Value:
        """Emit the element of an operand at a point."""
        operand = self.op.operands[number]
        if is_number(operand.type):
            return self.definitions.number(operand)
        return te.read(self.definitions.tensor(operand), results_of(self.maps[number], indices))

    def _reduce(
        self, result: ir.Value, number: int, axes: Sequence[int], yielded: ir.Value
    ) -> None:
        """Define a result that combines points with what its target holds."""
        updates = updates_of(self.body, self.body.arguments[number], yielded)
        kind, identity = COMBINERS[updates.combiner]
        type_, target = yielded.type, self.op.operands[number]
        bounds = [self.extents[axis] for axis in self.reduced]

        def combine(a: Sequence[ir.Value], c: Sequence[ir.Value]) -> list[ir.Value]:
            return [b.make(updates.combiner, type_, [a[0], c[0]])]

        def points(outer: list[ir.Value], inner: list[ir.Value]) -> list[ir.Value]:
            at = dict(zip([*axes, *self.reduced], [*outer, *inner]))
            return [updates.emit(lambda value: self._point(at, value, is_reduced=True))]

        def fill(indices: list[ir.Value]) -> ir.Value:
            ends = [(b.index(0), b.index(extent)) for extent in bounds]
            start = [b.number(identity, type_)]
            return te.reduce(kind, ends, start, lambda inner: points(indices, inner), combine)[0]

        start, first = self.definitions.tensor(target), self.definitions.constant(target)
        self.definitions.define(result, fill, self.op.name)
        if first == identity:
            return
        over_points = self.definitions.tensor(result)

        def fill_with_start(indices: list[ir.Value]) -> ir.Value:
            values = [te.read(tensor, indices) for tensor in (start, over_points)]
            return b.make(updates.combiner, type_, values)

        self.definitions.define(result, fill_with_start, self.op.name)


def _operands(op: ir.Operation) -> list[ir.Value]:
    return [*op.operands, *(captured_values(op) if len(op.regions) else ())]
