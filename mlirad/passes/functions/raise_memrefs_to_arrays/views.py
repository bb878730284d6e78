"""The places of the elements of a memref in the array that it is a view of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.ir import build as b
from mlirad.ir.ops import Memref
from mlirad.ir.requirements import refuse

Indices = Sequence[ir.Value]
DYNAMIC = ir.ShapedType.get_dynamic_size


class View(msgspec.Struct, frozen=True):
    """An array, the extents of the memref (a value each), and the array's indices for those of the
    memref."""

    array: ir.Value
    extents: Sequence[ir.Value]
    place: Callable[[Indices], Sequence[ir.Value]]
    is_whole: bool = False  # all of an array whose elements lie row by row


def full_view(array: ir.Value, *, in_order: bool = True) -> View:
    """Return the view of all of an array, whose elements lie row by row if they are `in_order`."""
    extents = field.array_of(array.type)[1]
    sizes = [
        b.index(extent) if extent >= 0 else field.dim(array, axis)
        for axis, extent in enumerate(extents)
    ]
    return View(array, sizes, lambda indices: indices, is_whole=in_order)


def recast(source: View, op: ir.Operation) -> View:
    """Return a view whose type says less, or more, about the same elements."""
    _check_rank(source, op)
    return source


def subview(source: View, op: ir.Operation) -> View:
    """Return the view of a box of another, whose axes of one element may be dropped."""
    offsets, sizes, strides = _mixed(op, 1)
    dropped = _dropped_axes(op, sizes)
    axes = [axis for axis in range(len(sizes)) if axis not in dropped]

    def place(indices: Indices) -> Sequence[ir.Value]:
        at = dict(zip(axes, indices))
        return source.place(
            [
                b.add(offset, b.mul(at[axis], stride)) if axis in at else offset
                for axis, (offset, stride) in enumerate(zip(offsets, strides))
            ]
        )

    return View(source.array, [sizes[axis] for axis in axes], place)


def reinterpret(source: View, op: ir.Operation) -> View:
    """Return the view that counts elements of a whole array in row-major order."""
    if not source.is_whole:
        refuse(op, f"'{op.name}' of a view: expected an argument or an allocation")
    (offset,), sizes, strides = _mixed(op, 1)

    def place(indices: Indices) -> Sequence[ir.Value]:
        number = offset
        for at, stride in zip(indices, strides):
            number = b.add(number, b.mul(at, stride))
        return _split(number, source.extents)

    return View(source.array, sizes, place)


def collapse(source: View, op: ir.Operation) -> View:
    """Return the view in which groups of axes are one each."""
    groups = _groups(op)
    sizes = [_product([source.extents[axis] for axis in group]) for group in groups]

    def place(indices: Indices) -> Sequence[ir.Value]:
        return source.place(
            [
                at
                for index, group in zip(indices, groups)
                for at in _split(index, [source.extents[axis] for axis in group])
            ]
        )

    return View(source.array, sizes, place)


def expand(source: View, op: ir.Operation) -> View:
    """Return the view in which axes are groups of several each."""
    groups = _groups(op)
    operands = iter(list(op.operands)[1:])
    static = ir.DenseI64ArrayAttr(op.attributes["static_output_shape"])
    sizes = [next(operands) if size == DYNAMIC() else b.index(size) for size in static]

    def place(indices: Indices) -> Sequence[ir.Value]:
        return source.place([_join([(indices[a], sizes[a]) for a in group]) for group in groups])

    return View(source.array, sizes, place)


def transpose(source: View, op: ir.Operation) -> View:
    """Return the view whose axes are in another order."""
    results = ir.AffineMapAttr(op.attributes["permutation"]).value.results
    order = [ir.AffineDimExpr(result).position for result in results]

    def place(indices: Indices) -> Sequence[ir.Value]:
        at = dict(zip(order, indices))
        return source.place([at[axis] for axis in range(len(order))])

    return View(source.array, [source.extents[axis] for axis in order], place)


def reshape(source: View, op: ir.Operation) -> View:
    """Return the view of the same elements, row by row, by other extents."""
    type_ = ir.MemRefType(op.results[0].type)
    if not type_.has_static_shape:
        refuse(op, f"'{op.name}' to '{type_}': expected extents that the type has")
    sizes = [b.index(extent) for extent in type_.shape]

    def place(indices: Indices) -> Sequence[ir.Value]:
        number = _join(list(zip(indices, sizes))) if sizes else b.index(0)
        return source.place(_split(number, source.extents))

    return View(source.array, sizes, place)


VIEWS: dict[str, Callable[[View, ir.Operation], View]] = {
    Memref.ASSUME_ALIGNMENT: recast,
    Memref.CAST: recast,
    Memref.MEMORY_SPACE_CAST: recast,
    Memref.SUBVIEW: subview,
    Memref.REINTERPRET_CAST: reinterpret,
    Memref.COLLAPSE_SHAPE: collapse,
    Memref.EXPAND_SHAPE: expand,
    Memref.RESHAPE: reshape,
    Memref.TRANSPOSE: transpose,
}


def _check_rank(source: View, op: ir.Operation) -> None:
    type_ = op.results[0].type
    if not isinstance(type_, ir.MemRefType) or type_.rank != len(source.extents):
        refuse(op, f"'{op.name}' to '{type_}': expected a memref of the same rank")


def _mixed(op: ir.Operation, first: int) -> tuple[list[ir.Value], list[ir.Value], list[ir.Value]]:
    """Return the offsets, sizes and strides of an op, operands or constants each."""
    operands = iter(list(op.operands)[first:])
    offsets, sizes, strides = (
        [
            next(operands) if number == DYNAMIC() else b.index(number)
            for number in ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"])
        ]
        for name in ("offsets", "sizes", "strides")
    )
    return offsets, sizes, strides


def _dropped_axes(op: ir.Operation, sizes: Sequence[ir.Value]) -> set[int]:
    """Return the axes of one element that the type of a view does not have: the first ones that
    leave its extents."""
    static = list(ir.DenseI64ArrayAttr(op.attributes["static_sizes"]))
    extents = list(ir.MemRefType(op.results[0].type).shape)
    dropped, remaining = set[int](), list(extents)
    for axis, size in enumerate(static):
        if remaining and size == remaining[0] and len(static) - axis >= len(remaining):
            remaining.pop(0)
        elif size == 1:
            dropped.add(axis)
        else:
            refuse(op, f"'{op.name}' to '{op.results[0].type}': expected axes of one element left")
    if remaining:
        refuse(op, f"'{op.name}' to '{op.results[0].type}': expected axes of the source")
    return dropped


def _groups(op: ir.Operation) -> list[list[int]]:
    return [
        [ir.IntegerAttr(axis).value for axis in ir.ArrayAttr(group)]
        for group in ir.ArrayAttr(op.attributes["reassociation"])
    ]


def _product(sizes: Sequence[ir.Value]) -> ir.Value:
    total = sizes[0]
    for size in sizes[1:]:
        total = b.mul(total, size)
    return total


def _join(axes: Sequence[tuple[ir.Value, ir.Value]]) -> ir.Value:
    """Return the row-major number of an element, of (index, extent) pairs."""
    number = axes[0][0]
    for index, extent in axes[1:]:
        number = b.add(b.mul(number, extent), index)
    return number


def _split(number: ir.Value, extents: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the indices of the element with a row-major number."""
    indices: list[ir.Value] = []
    for extent in reversed(extents[1:]):
        indices.insert(0, b.rem(number, extent))
        number = b.div(number, extent)
    return [number, *indices] if extents else []
