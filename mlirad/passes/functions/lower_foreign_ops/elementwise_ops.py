"""Ops of vectors and tensors that are the op of their elements."""

from __future__ import annotations

from itertools import product

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.foreign_ops.registry import has_dialect
from mlirad.ir.ops import Linalg, Tensor, Vector
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import attributes_of, before, replace

MOST_ELEMENTS = 1024  # of a vector, each of which is an op


def has_elements(op: ir.Operation) -> bool:
    """Return whether an op takes or gives vectors or tensors."""
    return any(_is_shaped(value.type) for value in (*op.operands, *op.results))


def spread(op: ir.Operation) -> list[ir.Operation]:
    """Replace an op by the op of elements, and return what that made; scalars are the same for all.

    Raises TaichiCompilationError if extents differ, or are not known where they have to be.
    """
    shaped = [v.type for v in (*op.operands, *op.results) if _is_shaped(v.type)]
    results = [v.type for v in op.results]
    shapes = {tuple(ir.ShapedType(type_).shape) for type_ in shaped}
    if len(shapes) > 1 or not all(map(_is_shaped, results)):
        listed = ", ".join(map(str, shaped))
        refuse(op, f"'{op.name}' is elementwise: expected one shape, got {listed}")
    if all(isinstance(type_, ir.VectorType) for type_ in shaped):
        return _spread_vectors(op)
    if not all(isinstance(type_, ir.RankedTensorType) for type_ in shaped):
        refuse(op, f"'{op.name}' of vectors and tensors, expected one of the two")
    return [_spread_tensors(op)]


def _is_shaped(type_: ir.Type) -> bool:
    return isinstance(type_, ir.VectorType | ir.RankedTensorType)


def _element(type_: ir.Type) -> ir.Type:
    return ir.ShapedType(type_).element_type if _is_shaped(type_) else type_


def _of_elements(op: ir.Operation, operands: list[ir.Value]) -> ir.Operation:
    types = [_element(result.type) for result in op.results]
    return ir.Operation.create(op.name, types, operands, attributes_of(op))


def _spread_vectors(op: ir.Operation) -> list[ir.Operation]:
    shape = ir.VectorType(op.results[0].type).shape
    positions = list(product(*map(range, shape)))
    if len(positions) > MOST_ELEMENTS:
        refuse(
            op, f"'{op.name}' of {op.results[0].type}, expected {MOST_ELEMENTS} elements at most"
        )
    with before(op):
        copies = [
            _of_elements(op, [_extracted(value, position) for value in op.operands])
            for position in positions
        ]
        columns = zip(*(copy.results for copy in copies))
        values = [
            b.make(Vector.FROM_ELEMENTS, result.type, list(column))
            for result, column in zip(op.results, columns)
        ]
    replace(op, values)
    return copies


def _extracted(value: ir.Value, position: tuple[int, ...]) -> ir.Value:
    if not _is_shaped(value.type):
        return value
    static = ir.DenseI64ArrayAttr.get(position)
    return b.make(Vector.EXTRACT, _element(value.type), [value], static_position=static)


def _spread_tensors(op: ir.Operation) -> ir.Operation:
    tensors = [value for value in op.operands if _is_shaped(value.type)]
    if not tensors:
        refuse(op, f"'{op.name}' is elementwise: expected a tensor among its operands")
    types = [result.type for result in op.results]
    for dialect in ("linalg", "tensor"):
        has_dialect(op.context, dialect)  # loads it
    with before(op):
        sizes = _open_sizes(tensors[0])
        outputs = [b.make(Tensor.EMPTY, type_, sizes) for type_ in types]
        attributes = _attributes(ir.ShapedType(types[0]).rank, len(tensors), len(outputs))
        operands = [*tensors, *outputs]
        loop = ir.Operation.create(Linalg.GENERIC, types, operands, attributes, regions=1)
    body = b.block(loop, 0, [_element(value.type) for value in operands])
    with ir.InsertionPoint(body), op.location:
        elements = iter(body.arguments)
        scalars = [next(elements) if _is_shaped(v.type) else v for v in op.operands]
        copy = _of_elements(op, scalars)
        b.effect(Linalg.YIELD, list(copy.results))
    replace(op, list(loop.results))
    return copy


def _open_sizes(tensor: ir.Value) -> list[ir.Value]:
    """Return the extents that the type of a tensor leaves open."""
    type_ = ir.RankedTensorType(tensor.type)
    axes = [axis for axis in range(type_.rank) if type_.is_dynamic_dim(axis)]
    return [b.make(Tensor.DIM, b.index_type(), [tensor, b.index(axis)]) for axis in axes]


def _attributes(rank: int, inputs: int, outputs: int) -> dict[str, ir.Attribute]:
    identity = ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    return {
        "indexing_maps": ir.ArrayAttr.get([identity] * (inputs + outputs)),
        "iterator_types": ir.ArrayAttr.get([parallel] * rank),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([inputs, outputs]),
    }
