"""Fields inside kernels."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import array_type
from mlirad.errors import TaichiCompilationError, TaichiRuntimeError, TaichiTypeError
from mlirad.frontend.python.building.builder import current, mlir_type
from mlirad.frontend.python.places.arrays import ArrayRef
from mlirad.frontend.python.places.blocks import ListRef, block_ref
from mlirad.ir import build
from mlirad.lang.field.access import FieldAccess


def array_ref(field: FieldAccess) -> ArrayRef:
    """The array of a field in the kernel that is being compiled, got once a kernel."""
    builder = current()
    try:
        memory = field.find_memory()
    except TaichiRuntimeError as error:
        raise TaichiCompilationError(str(error)) from error
    if field.symbol not in builder.arrays:
        layout = memory.layout
        type_ = array_type(mlir_type(field.dtype), layout.shape)
        with builder.at_entry():
            builder.arrays[field.symbol] = build.make(
                "field.get", type_, [], field=ir.FlatSymbolRefAttr.get(field.symbol)
            )
    return ArrayRef(
        builder.arrays[field.symbol],
        field.dtype,
        memory.layout.index_shape,
        field.element_shape,
        field.offset,
        field.symbol,
        activities=memory.layout.activities,
        block=field.placed_in,
    )


def list_of(field: FieldAccess) -> ListRef:
    """The list that a field is. Raises TaichiTypeError for a field of other axes than a list's."""
    block = block_ref(field.placed_in)
    if block is None:
        raise TaichiTypeError(f"field '{field.symbol}' is not a list")
    return block.list(())
