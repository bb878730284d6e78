"""Declaring fields: `ti.field`, and what `ti.Vector.field` and `ti.Matrix.field` do."""
from __future__ import annotations

import linecache
import re
import sys
from typing import Any

from mlirad.errors import TaichiCompilationError, TaichiRuntimeError
from mlirad.frontend.annotations import MatrixType
from mlirad.lang.field import Field
from mlirad.lang.keywords import refuse_unknown
from mlirad.lang.snode import Axes, Root, SNode, sizes_of
from mlirad.runtime.program import program
from mlirad.types import resolve


def _caller_name() -> str:
    """The variable a field is assigned to, where the caller's line tells; it appears in messages and dumps."""
    frame = sys._getframe(1)
    here = __file__.rsplit("/", 1)[0]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame = frame.f_back
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    columns = list(frame.f_code.co_positions())[frame.f_lasti // 2][2]
    before = line.encode()[:columns].decode(errors="ignore") if columns is not None else line
    targets = before.rpartition(";")[2].rpartition("=")[0] if columns is not None else line.partition("=")[0]
    match = re.match(r"\s*(?:self\.)?([A-Za-z]\w*)\s*(?::[^=]+)?$", targets)
    return match.group(1) if match else "field"



def create(dtype: Any, element_shape: tuple[int, ...], shape: Any, needs_grad: bool, needs_dual: bool, name: str,
           offset: Any, order: str | None) -> Field:
    """A field, placed in a tree of its own where it has a shape."""
    owner = program()
    config = owner.config
    if isinstance(dtype, list | tuple):
        if len(set(dtype)) != 1:
            raise TaichiCompilationError("the components of a field must all have the same type")
        dtype = dtype[0]
    kind = resolve(dtype if dtype is not None else float, config.default_fp, config.default_ip)
    if (needs_grad or needs_dual) and not kind.is_float:
        raise TaichiRuntimeError(f"{kind} is not supported for field with `needs_grad=True` or `needs_dual=True`.")
    field = Field(owner, kind, element_shape, name or _caller_name())
    if needs_grad:
        field.wanted.add("grad")
    if needs_dual:
        field.wanted.add("dual")
    if shape is None:
        if offset is not None:
            raise TaichiCompilationError("shape cannot be None when offset is set")
        if order is not None:
            raise TaichiCompilationError("shape cannot be None when order is set")
        return field
    place(field, sizes_of(shape), offset, order)
    return field


def place(field: Field, shape: tuple[int, ...], offset: Any, order: str | None) -> None:
    """Put a field into a dense block of its own."""
    root: Root = field.program.root
    axis_order = list(range(len(shape)))
    if order is not None:
        names = "ijklmnop"[:len(shape)]
        if sorted(order) != sorted(names):
            raise TaichiCompilationError(f"The axes in order {order} must be a permutation of {names}")
        axis_order = [names.index(c) for c in order]
    if not shape:
        root.place(field, offset=offset)
        return
    if order is None:
        root.dense(Axes(tuple(axis_order)), shape).place(field, offset=offset)
        return
    node: SNode = root
    for axis in axis_order:
        node = node.dense(Axes((axis,)), shape[axis])
    node.place(field, offset=offset)


def field(dtype: Any, shape: Any = None, order: str | None = None, name: str = "", offset: Any = None,
          needs_grad: bool = False, needs_dual: bool = False, **unknown: Any) -> Field:
    """A field of scalars, or of vectors or matrices where `dtype` is the type of one.

    `shape` is an extent or a tuple of extents, `()` for a single element; without it the field is placed by hand.
    Raises TaichiRuntimeError where gradients are asked of integers, TaichiTypeError for keywords that it does not have.
    """
    refuse_unknown("ti.field", unknown, field)
    if isinstance(dtype, MatrixType):
        return matrix_field(dtype.shape, dtype.dtype, shape, order, name, offset, needs_grad, needs_dual)
    return create(dtype, (), shape, needs_grad, needs_dual, name, offset, order)


def matrix_field(element_shape: tuple[int, ...], dtype: Any, shape: Any = None, order: str | None = None,
                 name: str = "", offset: Any = None, needs_grad: bool = False, needs_dual: bool = False,
                 layout: Any = None, ndim: int | None = None, **unknown: Any) -> Field:
    """A field of vectors or matrices. Raises TaichiTypeError for keywords that it does not have."""
    refuse_unknown("a field of vectors or matrices", unknown, matrix_field)
    return create(dtype, element_shape, shape, needs_grad, needs_dual, name, offset, order)
