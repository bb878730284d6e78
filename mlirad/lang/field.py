"""Fields: `ti.field`, `ti.Vector.field`, `ti.Matrix.field`."""
from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlirad.bindings import ir
from mlirad.dialect.field import array_type
from mlirad.errors import TaichiCompilationError, TaichiIndexError, TaichiRuntimeError, TaichiTypeError
from mlirad.frontend import builder as fb
from mlirad.frontend.matrix import Matrix
from mlirad.frontend.places import ArrayRef
from mlirad.lang.matrix import ElementMatrix
from mlirad.lang.snode import Axes, Root, SNode
from mlirad.runtime.memory import FieldMemory
from mlirad.runtime.program import Program, program
from mlirad.types import DataType, resolve


class Field:
    """Elements over index axes; each is a scalar, or a vector or matrix (`element_shape`)."""

    def __init__(self, owner: Program, dtype: DataType, element_shape: tuple[int, ...], name: str,
                 primal: Field | None = None) -> None:
        self.program, self.dtype, self.element_shape = owner, dtype, element_shape
        self.symbol = owner.unique_name(name)
        self.primal = primal
        self.placed_in: SNode | None = None
        self.offset: tuple[int, ...] = ()
        self.memory: FieldMemory | None = None
        self.destroyed = False
        self.derived: dict[str, Field] = {}
        self.wanted: set[str] = set()

    # Layout.

    def put_into(self, node: SNode, offset: Any) -> None:
        """Note the block that holds this field. Raises TaichiRuntimeError when it already has one."""
        if self.placed_in is not None:
            raise TaichiRuntimeError(f"field '{self.symbol}' is already placed")
        if isinstance(node, Root) and self.primal is not None and self.primal.placed_in is None:
            raise TaichiRuntimeError(f"place '{self.primal.symbol}' before its gradient")
        shape = node.shape
        if offset is not None:
            start = (offset,) if isinstance(offset, int) else tuple(offset)
            if len(start) != len(shape):
                raise TaichiRuntimeError(f"The dimensionality of shape and offset must be the same "
                                         f"({len(shape)} != {len(start)})")
            self.offset = start
        elif self.primal is not None:
            self.offset = self.primal.offset
        self.placed_in = node

    def want(self, kind: str) -> None:
        """Ask for a gradient or dual, which is placed where the field is."""
        if self.dtype.is_float and self.primal is None:
            self.wanted.add(kind)
            if isinstance(self.program.root, Root):
                self._root().schedule()

    def _root(self) -> Root:
        node = self.placed_in
        while node is not None and node.parent_node is not None:
            node = node.parent_node
        assert isinstance(node, Root)
        return node

    def missing(self, kind: str) -> Field | None:
        """The gradient or dual that was asked for and has no memory yet."""
        if kind not in self.wanted:
            return None
        other = self.derivative(kind)
        return other if other.memory is None and other.placed_in is None and not other.destroyed else None

    def existing(self, kind: str) -> Field | None:
        """The gradient or dual, where it was ever spoken of."""
        return self.derived.get(kind)

    def derivative(self, kind: str) -> Field:
        """The gradient or dual field, placed or not."""
        if kind not in self.derived:
            self.derived[kind] = Field(self.program, self.dtype, self.element_shape, f"{self.symbol}.{kind}", self)
        return self.derived[kind]

    @property
    def grad(self) -> Field | None:
        """The field of adjoints; None for integer fields and for gradients themselves."""
        return self.derivative("grad") if self.dtype.is_float and self.primal is None else None

    @property
    def dual(self) -> Field | None:
        """The field of tangents; None for integer fields and for derivatives themselves."""
        return self.derivative("dual") if self.dtype.is_float and self.primal is None else None

    def attach(self, memory: FieldMemory, declare: Callable[[], str]) -> None:
        """Take the memory that was allocated for this field; `declare` gives its tree as text."""
        self.memory = memory
        self.program.fields[self.symbol] = memory
        self.program.declarations[self.symbol] = declare
        if self.placed_in is None and self.primal is not None:
            self.placed_in, self.offset = self.primal.placed_in, self.primal.offset
        if self.primal is not None and self is self.primal.existing("grad"):
            self.program.gradients[self.symbol] = memory
            self.program.adjoints[self.primal.symbol] = self.symbol

    def declaration(self) -> str:
        """The `snode.place` of this field."""
        marks = "".join(f", {word} = @{_quoted(self.derived[kind].symbol)}" for word, kind in (
            ("adjoint", "grad"), ("dual", "dual")) if self.has(kind) and self.derivative(kind).memory is not None)
        return (f'"snode.place"() {{sym_name = "{self.symbol}", element = {self.dtype.mlir}, '
                f"component_shape = {list(self.element_shape)}{marks}}} : () -> ()")

    def has(self, kind: str) -> bool:
        """Whether the gradient or dual is placed or asked for."""
        return kind in self.wanted or (kind in self.derived and self.derived[kind].placed_in is not None)

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each index axis."""
        node = self.placed_in if self.placed_in is not None else self.primal.placed_in if self.primal else None
        if node is None:
            raise TaichiRuntimeError(f"field '{self.symbol}' is not placed")
        return node.shape

    @property
    def snode(self) -> SNode:
        """The block that holds the field."""
        assert self.placed_in is not None
        return self.placed_in

    def parent(self, n: int = 1) -> SNode:
        """The block `n` levels up."""
        return self.snode if n == 1 else self.snode.parent(n - 1)

    @property
    def n(self) -> int:
        """Rows of an element."""
        return self.element_shape[0]

    @property
    def m(self) -> int:
        """Columns of an element."""
        return self.element_shape[1] if len(self.element_shape) > 1 else 1

    # Memory.

    def located(self) -> FieldMemory:
        """The field's memory. Raises TaichiRuntimeError where it was never placed or is gone."""
        memory = self.memory
        if memory is None or self.program.pending:
            self.program.materialize()
            memory = self.memory
        if memory is None:
            if self.destroyed:
                raise TaichiRuntimeError(f"field '{self.symbol}' belongs to a destroyed tree")
            if self.primal is not None:
                raise TaichiRuntimeError(f"Gradient {self.symbol} has not been placed, check whether `needs_grad=True`")
            raise TaichiRuntimeError(f"field '{self.symbol}' is used before it is placed: give it a shape, or place it "
                                     "in a layout tree")
        if self.program is not program():
            raise TaichiRuntimeError(f"field '{self.symbol}' belongs to a program that ti.init() or ti.reset() ended")
        return memory

    def _index(self, key: Any, memory: FieldMemory) -> tuple[int, ...]:
        parts = () if key is None else tuple(key) if isinstance(key, tuple | list | Matrix) else (key,)
        shape = memory.layout.index_shape
        if len(parts) != len(shape):
            raise TaichiIndexError(f"field '{self.symbol}' has {len(shape)} index axes, "
                                   f"but is accessed with {len(parts)} indices")
        if self.offset:
            parts = tuple(p - o for p, o in zip(parts, self.offset))
        for part, extent in zip(parts, shape):
            if not 0 <= part < extent:
                raise TaichiIndexError(f"index {key} is out of bounds for field '{self.symbol}' of shape {shape}")
        return memory.locate(parts)

    def __getitem__(self, key: Any) -> Any:
        memory = self.located()
        index = self._index(key, memory)
        value = memory.view[index]
        if not self.element_shape:
            return value.item()
        return ElementMatrix(memory.view, index, self.element_shape, lambda: self._note_write(index))

    def __setitem__(self, key: Any, value: Any) -> None:
        memory = self.located()
        index = self._index(key, memory)
        self._note_write(index)
        if self.element_shape:
            values = np.asarray(value.rows_list() if isinstance(value, Matrix) else value)
            if values.shape not in ((), self.element_shape):
                raise TaichiTypeError(f"value of shape {values.shape} for an element of shape {self.element_shape}")
            memory.view[index] = values
        else:
            memory.view[index] = value

    def _note_write(self, index: tuple[int, ...] | None = None) -> None:
        recorder = self.program.recorder
        if recorder is not None and self.primal is None:
            recorder.host_write(self, index)

    def fill(self, value: Any) -> None:
        """Set every element, or every component of every element."""
        memory = self.located()
        self._note_write()
        if isinstance(value, Matrix | list | tuple | np.ndarray) and self.element_shape:
            memory.view[...] = np.asarray(value.rows_list() if isinstance(value, Matrix) else value)
        else:
            memory.fill(value)

    def to_numpy(self, dtype: Any = None) -> np.ndarray[Any, Any]:
        """A copy, of shape `shape + element_shape`."""
        values = self.located().read()
        return values if dtype is None else values.astype(dtype)

    def from_numpy(self, values: Any) -> None:
        """Set all elements. Raises ValueError where the shape is not `shape + element_shape`."""
        memory = self.located()
        array = np.asarray(values)
        expected = memory.layout.shape
        if array.shape != expected and not (len(self.element_shape) == 1 and array.shape == (*expected, 1)):
            raise ValueError(f"from_numpy: field '{self.symbol}' has shape {expected}, the array has {array.shape}")
        self._note_write()
        memory.write(array)

    def to_torch(self, device: Any = None) -> Any:
        """A copy as a torch tensor."""
        import torch

        return torch.from_numpy(self.to_numpy()).to(device)

    def from_torch(self, tensor: Any) -> None:
        """Set all elements from a torch tensor."""
        self.from_numpy(tensor.detach().cpu().numpy())

    def copy_from(self, other: Any) -> None:
        """Set all elements from a field of the same shape. Raises ValueError for another shape."""
        if not isinstance(other, Field):
            raise TypeError(f"copy_from: a field is needed, not a {type(other).__name__}")
        if (other.shape, other.element_shape) != (self.shape, self.element_shape):
            raise ValueError(f"copy_from: shapes {self.shape} and {other.shape} differ")
        self.from_numpy(other.to_numpy())

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        raise TypeError("a field can only be looped over inside a kernel")

    def __str__(self) -> str:
        return str(self.to_numpy())

    def __repr__(self) -> str:
        return f"<ti.field '{self.symbol}' {self.dtype}{list(self.element_shape) or ''}>"

    # Inside kernels.

    def __kernel_ref__(self) -> ArrayRef:
        """The array of this field, got once a kernel."""
        builder = fb.current()
        try:
            memory = self.located()
        except TaichiRuntimeError as error:
            raise TaichiCompilationError(str(error)) from error
        if self.symbol not in builder.arrays:
            layout = memory.layout
            type_ = array_type(fb.mlir_type(self.dtype), layout.shape)
            with builder.at_entry():
                builder.arrays[self.symbol] = fb.emit("field.get", type_, [],
                                                      field=ir.FlatSymbolRefAttr.get(self.symbol))
        return ArrayRef(builder.arrays[self.symbol], self.dtype, memory.layout.index_shape, self.element_shape,
                        self.offset, self.symbol)


def _quoted(symbol: str) -> str:
    return symbol if re.fullmatch(r"[A-Za-z_][\w.$]*", symbol) else f'"{symbol}"'


def _caller_name() -> str:
    """The variable a field is assigned to, where the caller's line tells; it appears in messages and dumps."""
    frame = sys._getframe(1)
    here = __file__.rsplit("/", 1)[0]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame = frame.f_back
    match = re.match(r"\s*(?:self\.)?([A-Za-z]\w*)\s*(?::[^=]+)?=[^=]", linecache.getline(frame.f_code.co_filename,
                                                                                        frame.f_lineno))
    return match.group(1) if match else "field"


def create(dtype: Any, element_shape: tuple[int, ...], shape: Any, needs_grad: bool, needs_dual: bool, name: str,
           offset: Any, order: str | None) -> Field:
    """A field, placed in a tree of its own where it has a shape."""
    owner = program()
    config = owner.config
    kind = resolve(dtype, config.default_fp, config.default_ip)
    if (needs_grad or needs_dual) and not kind.is_float:
        raise TaichiRuntimeError(f"{kind} is not supported for field with `needs_grad=True` or `needs_dual=True`.")
    field = Field(owner, kind, element_shape, name or _caller_name())
    if needs_grad:
        field.wanted.add("grad")
    if needs_dual:
        field.wanted.add("dual")
    if shape is None:
        if offset is not None:
            raise TaichiRuntimeError("shape cannot be None when offset is set")
        if order is not None:
            raise TaichiRuntimeError("shape cannot be None when order is set")
        return field
    sizes = tuple(shape) if isinstance(shape, Sequence | np.ndarray) else (int(shape),)
    place(field, tuple(int(s) for s in sizes), offset, order)
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
          needs_grad: bool = False, needs_dual: bool = False, **ignored: Any) -> Field:
    """A field of scalars.

    `shape` is an extent or a tuple of extents, `()` for a single element; without it the field is placed by hand.
    Raises TaichiRuntimeError where gradients are asked of integers.
    """
    return create(dtype, (), shape, needs_grad, needs_dual, name, offset, order)


def matrix_field(element_shape: tuple[int, ...], dtype: Any, shape: Any = None, order: str | None = None,
                 name: str = "", offset: Any = None, needs_grad: bool = False, needs_dual: bool = False,
                 layout: Any = None, ndim: int | None = None, **ignored: Any) -> Field:
    """A field of vectors or matrices."""
    return create(dtype, element_shape, shape, needs_grad, needs_dual, name, offset, order)

