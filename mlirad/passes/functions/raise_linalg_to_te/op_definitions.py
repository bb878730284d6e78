"""The definition that each operation of a function is."""

from __future__ import annotations

from collections.abc import Callable

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Linalg, Memref, Tensor
from mlirad.ir.walk import block_operations
from mlirad.passes.functions.raise_linalg_to_te.definitions import (
    Definitions,
    Region,
    Unraisable,
    computes_number,
    is_number,
    tensor_type,
)
from mlirad.passes.functions.raise_linalg_to_te.generics import define_generic
from mlirad.passes.functions.raise_linalg_to_te.shapes import SHAPES
from mlirad.passes.functions.raise_linalg_to_te.slices import SLICES
from mlirad.passes.functions.raise_linalg_to_te.softmax import define_softmax

Define = Callable[[ir.Operation, Definitions], None]


def define(op: ir.Operation, definitions: Definitions) -> None:
    """Define what an operation gives. Raises Unraisable if that is no definition."""
    if op.name in _DEFINITIONS:
        _DEFINITIONS[op.name](op, definitions)
    elif computes_number(op):
        _number(op, definitions)
    else:
        raise Unraisable


def _number(op: ir.Operation, definitions: Definitions) -> None:
    (result,) = op.results

    def fill(indices: list[ir.Value]) -> ir.Value:
        return Region(definitions, {}).result(op.block, result)

    definitions.define(result, fill, op.name)


def _constant(op: ir.Operation, definitions: Definitions) -> None:
    """A number, which is written into what uses it, or a tensor."""
    (result,), content = op.results, op.attributes["value"]
    if is_number(result.type):
        return
    type_ = tensor_type(result.type)
    if not isinstance(content, ir.DenseElementsAttr):
        raise Unraisable
    if not content.is_splat:
        definitions.define_constant(result, content)
        return
    number = content.get_splat_value()

    def fill(indices: list[ir.Value]) -> ir.Value:
        return b.make(Arith.CONSTANT, type_.element_type, [], value=number)

    definitions.define(result, fill, op.name)


def _splat(op: ir.Operation, definitions: Definitions) -> None:
    definitions.define(op.results[0], lambda indices: definitions.number(op.operands[0]), op.name)


def _generate(op: ir.Operation, definitions: Definitions) -> None:
    """Elements that a region gives for their indices."""
    block = op.regions[0].blocks[0]
    value = block_operations(block)[-1].operands[0]

    def fill(indices: list[ir.Value]) -> ir.Value:
        return Region(definitions, dict(zip(block.arguments, indices))).result(block, value)

    definitions.define(op.results[0], fill, op.name)


def _extract(op: ir.Operation, definitions: Definitions) -> None:
    tensor, *indices = op.operands

    def fill(outer: list[ir.Value]) -> ir.Value:
        at = [definitions.number(index) for index in indices]
        return te.read(definitions.tensor(tensor), at)

    definitions.define(op.results[0], fill, op.name)


def _cast(op: ir.Operation, definitions: Definitions) -> None:
    tensor_type(op.results[0].type)
    definitions.let(op.results[0], definitions.tensor(op.operands[0]))


def _copy(op: ir.Operation, definitions: Definitions) -> None:
    """A buffer that holds what another one does."""
    source, target = op.operands
    definitions.let(target, definitions.tensor(source))


def _nothing(op: ir.Operation, definitions: Definitions) -> None:
    """A tensor or a buffer that may hold anything."""


_DEFINITIONS: dict[str, Define] = {
    Arith.CONSTANT: _constant,
    Linalg.GENERIC: define_generic,
    Linalg.SOFTMAX: define_softmax,
    Memref.ALLOC: _nothing,
    Memref.ALLOCA: _nothing,
    Memref.COPY: _copy,
    Memref.DEALLOC: _nothing,
    Tensor.CAST: _cast,
    Tensor.EMPTY: _nothing,
    Tensor.EXTRACT: _extract,
    Tensor.GENERATE: _generate,
    Tensor.SPLAT: _splat,
    **SHAPES,
    **SLICES,
}
