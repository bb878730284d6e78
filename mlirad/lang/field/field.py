"""Fields: `ti.field`, `ti.Vector.field`, `ti.Matrix.field`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mlirad.bindings import ir
from mlirad.dialect import snode
from mlirad.dialect.field import array_type
from mlirad.dialect.turn import in_turn
from mlirad.errors import (
    TaichiAssertionError,
    TaichiCompilationError,
    TaichiIndexError,
    TaichiRuntimeError,
    TaichiTypeError,
)
from mlirad.frontend.python import builder as fb
from mlirad.frontend.python.matrix import Matrix
from mlirad.frontend.python.places import ArrayRef
from mlirad.lang.field.components import ComponentField
from mlirad.lang.field.size import take_memory
from mlirad.lang.host_indices import key_parts
from mlirad.lang.host_values import fitting, fitting_array
from mlirad.lang.layout import PlacedField, Root, SNode
from mlirad.lang.matrix import ElementMatrix
from mlirad.runtime.derivative_kind import ADJOINT, DerivativeKind, tangent
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.program import Program, is_started, program
from mlirad.types import DataType


class Field:
    """Elements over index axes; each is a scalar, or a vector or matrix (`element_shape`)."""

    def __init__(
        self,
        owner: Program,
        dtype: DataType,
        element_shape: tuple[int, ...],
        name: str,
        primal: Field | None = None,
    ) -> None:
        self.program, self.dtype, self.element_shape = owner, dtype, element_shape
        self.symbol = owner.unique_name(name)
        self.primal = primal
        self.placed_in: SNode | None = None
        self.offset: tuple[int, ...] = ()
        self.memory: FieldMemory | None = None
        self.destroyed = False
        self.derived: dict[DerivativeKind, Field] = {}
        self.wanted: set[DerivativeKind] = set()

    # Layout.

    def put_into(self, node: SNode, offset: Any) -> None:
        """Note the block that holds this field. Raises TaichiRuntimeError when it already has
        one."""
        if self.placed_in is not None:
            raise TaichiRuntimeError(f"field '{self.symbol}' is already placed")
        if isinstance(node, Root) and self.primal is not None and self.primal.placed_in is None:
            raise TaichiRuntimeError(f"place '{self.primal.symbol}' before its gradient")
        shape = node.shape
        if offset is not None:
            start = (offset,) if isinstance(offset, int) else tuple(offset)
            if len(start) != len(shape):
                raise TaichiCompilationError(
                    f"The dimensionality of shape and offset must be the same "
                    f"({len(shape)} != {len(start)})"
                )
            self.offset = start
        elif self.primal is not None:
            self.offset = self.primal.offset
        take_memory(
            self, node, [self.symbol, *(f"{self.symbol}.{kind}" for kind in sorted(self.wanted))]
        )
        self.placed_in = node

    @in_turn
    def want(self, kind: DerivativeKind) -> None:
        """Ask for a derivative, which is placed where the field is."""
        if self.dtype.is_float and self.primal is None:
            if self.placed_in is not None:
                take_memory(self, self.placed_in, [f"{self.symbol}.{kind}"])
            self.wanted.add(kind)
            if isinstance(self.program.root, Root):
                self._root().schedule()

    def _root(self) -> Root:
        node = self.placed_in
        while node is not None and node.parent_node is not None:
            node = node.parent_node
        assert isinstance(node, Root)
        return node

    def missing(self, kind: DerivativeKind) -> Field | None:
        """The derivative that was asked for and has no memory yet."""
        if kind not in self.wanted:
            return None
        other = self.derivative(kind)
        return (
            other
            if other.memory is None and other.placed_in is None and not other.destroyed
            else None
        )

    def existing(self, kind: DerivativeKind) -> Field | None:
        """The derivative, where it was ever spoken of."""
        if kind.is_adjoint and kind.is_tangent:
            adjoint = self.derived.get(ADJOINT)
            return None if adjoint is None else adjoint.existing(kind.alone)
        return self.derived.get(kind)

    def tangents(self) -> list[Field]:
        """The duals that have memory, the first to the last."""
        found: list[Field] = []
        while (one := self.derived.get(tangent(len(found)))) is not None and one.memory is not None:
            found.append(one)
        return found

    def with_derivatives(self) -> Iterator[Field]:
        """This field and every derivative that was spoken of."""
        yield self
        for one in self.derived.values():
            yield from one.with_derivatives()

    def derivative(self, kind: DerivativeKind) -> Field:
        """The field of a derivative, placed or not."""
        if kind.is_adjoint and kind.is_tangent:
            return self.derivative(ADJOINT).derivative(kind.alone)
        found = self.derived.get(kind)
        return found if found is not None else self._derive(kind)

    @in_turn
    def _derive(self, kind: DerivativeKind) -> Field:
        if kind not in self.derived:
            self.derived[kind] = Field(
                self.program, self.dtype, self.element_shape, f"{self.symbol}.{kind}", self
            )
        return self.derived[kind]

    @property
    def grad(self) -> Field | None:
        """The field of adjoints; None for integer fields and for gradients themselves."""
        return self.derivative(ADJOINT) if self.dtype.is_float and self.primal is None else None

    @property
    def dual(self) -> Field | None:
        """The field of tangents; None for integer fields and for tangents themselves."""
        return self.derivative(tangent(0)) if self.dtype.is_float and not self.is_dual else None

    @property
    def is_dual(self) -> bool:
        """Whether the elements are tangents."""
        return self.primal is not None and self.primal.existing(ADJOINT) is not self

    def attach(self, memory: FieldMemory, declare: Callable[[], object]) -> None:
        """Take the memory that was allocated for this field; `declare` makes its tree at the
        insertion point."""
        self.memory = memory
        self.program.fields[self.symbol] = memory
        self.program.declarations[self.symbol] = declare
        if self.dtype.is_float and self.primal is None:
            self.program.give_derivative[self.symbol] = self.want
        if self.placed_in is None and self.primal is not None:
            self.placed_in, self.offset = self.primal.placed_in, self.primal.offset
        if self.primal is not None and self.is_dual:
            self.program.tangents[self.symbol] = memory
            self.program.tangent_version += 1
            self.program.duals[self.primal.symbol] = tuple(
                one.symbol for one in self.primal.tangents()
            )
        elif self.primal is not None:
            self.program.gradients[self.symbol] = memory
            self.program.gradient_version += 1
            self.program.adjoints[self.primal.symbol] = self.symbol

    def declaration(self) -> ir.Operation:
        """The `snode.place` of this field."""
        return snode.place(
            self.symbol,
            fb.mlir_type(self.dtype),
            self.element_shape,
            adjoint=self.derived[ADJOINT].symbol if self._holds(ADJOINT) else None,
            duals=[one.symbol for one in self.tangents()],
        )

    def _holds(self, kind: DerivativeKind) -> bool:
        return kind in self.derived and self.derived[kind].memory is not None

    def has(self, kind: DerivativeKind) -> bool:
        """Whether the gradient or dual is placed or asked for."""
        return kind in self.wanted or (
            kind in self.derived and self.derived[kind].placed_in is not None
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each index axis."""
        node = (
            self.placed_in
            if self.placed_in is not None
            else None
            if self.primal is None
            else self.primal.placed_in
        )
        if node is None:
            raise TaichiRuntimeError(f"field '{self.symbol}' is not placed")
        return node.shape

    @property
    def snode(self) -> PlacedField:
        """The field as a leaf of its layout tree."""
        if self.placed_in is None:
            self.program.materialize()  # which places gradients that were asked for
        if self.placed_in is None:
            raise TaichiRuntimeError(f"field '{self.symbol}' is not placed")
        return PlacedField(self, self.placed_in)

    def parent(self, n: int = 1) -> Any:
        """The block `n` levels up."""
        return self.snode.parent(n)

    @property
    def _name(self) -> str:
        return self.symbol

    def get_scalar_field(self, *position: int) -> ComponentField:
        """One component, as a field of scalars over the same memory."""
        return ComponentField(self, position)

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
                name = "needs_dual" if self.is_dual else "needs_grad"
                raise TaichiRuntimeError(
                    f"Gradient {self.symbol} has not been placed, check whether `{name}=True`"
                )
            raise TaichiRuntimeError(
                f"field '{self.symbol}' is used before it is placed: give it a shape, or place it "
                "in a layout tree"
            )
        if not is_started() or self.program is not program():
            raise TaichiRuntimeError(
                f"field '{self.symbol}' belongs to a program that ti.init() or ti.reset() ended"
            )
        return memory

    def _index(self, key: Any, memory: FieldMemory) -> tuple[int, ...]:
        parts = key_parts(key)
        shape = memory.layout.index_shape
        if len(parts) != len(shape):
            raise TaichiIndexError(
                f"field '{self.symbol}' has {len(shape)} index axes, "
                f"but is accessed with {len(parts)} indices"
            )
        if self.offset:
            parts = tuple(p - o for p, o in zip(parts, self.offset))
        for part, extent in zip(parts, shape):
            if not 0 <= part < extent:
                self._refuse(key, shape)
        return memory.locate(parts)

    def _refuse(self, key: Any, shape: tuple[int, ...]) -> None:
        shifted = f" and offset {self.offset}" if any(self.offset) else ""
        message = (
            f"index {key} is out of bounds for field '{self.symbol}' of shape {shape}{shifted}"
        )
        raise (
            TaichiAssertionError(message)
            if self.program.config.debug
            else TaichiIndexError(message)
        )

    def __getitem__(self, key: Any) -> Any:
        memory = self.located()
        index = self._index(key, memory)
        self._note_read()
        if not self.element_shape:
            return memory.elements.get(index)
        return ElementMatrix(
            memory.elements, index, self.element_shape, self.note_write, self._fitting
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        memory = self.located()
        index = self._index(key, memory)
        self.note_write(index)
        if self.element_shape:
            values = np.asarray(value.rows_list() if isinstance(value, Matrix) else value)
            if values.shape not in ((), self.element_shape):
                raise TaichiTypeError(
                    f"value of shape {values.shape} for an element of shape {self.element_shape}"
                )
            memory.elements.put(index, self._fitting(values))
        else:
            memory.elements.put(index, self._fitting_number(value))

    def note_write(self, index: tuple[int | slice, ...] | None = None) -> None:
        """Count a write from Python and tell the tape: to everything, or to a place in the view of
        the memory."""
        if self.primal is not None:
            return
        self._count_write()
        if self.program.recorder is not None:
            self.program.recorder.host_write(self, index)

    def _count_write(self) -> None:
        self.program.written[self.symbol] = self.program.count_change()

    def _note_values(self, values: Any) -> None:
        if self.primal is None and self.dtype.is_float:
            self.program.poles.note_values(self.symbol, values)

    def _note_read(self) -> None:
        if self.program.recorder is not None and self.primal is None:
            self.program.recorder.host_read(self)

    def fill(self, value: Any) -> None:
        """Set every element, or every component of every element."""
        if fb.in_kernel():
            self.__kernel_ref__().fill(value)
            return
        memory = self.located()
        if isinstance(value, Matrix | list | tuple | np.ndarray) and self.element_shape:
            values = self._fitting(
                np.asarray(value.rows_list() if isinstance(value, Matrix) else value)
            )
            self.note_write()
            memory.elements.write(values)
        else:
            number = self._fitting_number(value)
            self.note_write()
            memory.fill(number)

    def _fitting(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        self._note_values(values)
        return fitting_array(values, self.dtype, f"field '{self.symbol}'")

    def _fitting_number(self, value: Any) -> Any:
        self._note_values(value)
        return (
            value if self.dtype.is_float else fitting(value, self.dtype, f"field '{self.symbol}'")
        )

    def to_numpy(self, keep_dims: bool = False, dtype: Any = None) -> np.ndarray[Any, Any]:
        """A copy, of shape `shape + element_shape`; `keep_dims` makes vectors matrices of one
        column."""
        values = self.located().read()
        self._note_read()
        if keep_dims and len(self.element_shape) == 1:
            values = values[..., np.newaxis]
        return values if dtype is None else values.astype(dtype)

    def from_numpy(self, values: Any) -> None:
        """Set all elements. Raises ValueError where the shape is not `shape + element_shape`."""
        memory = self.located()
        array = np.asarray(values)
        expected = memory.layout.shape
        columns = (*expected, 1), (*expected[:-1], 1, *expected[-1:])
        if array.shape != expected and not (
            len(self.element_shape) == 1 and array.shape in columns
        ):
            raise ValueError(
                f"from_numpy: field '{self.symbol}' has shape {expected}, the array has "
                f"{array.shape}"
            )
        array = self._fitting(array)
        self.note_write()
        memory.write(array)

    def to_torch(self, device: Any = None) -> Any:
        """A copy as a torch tensor."""
        import torch

        return torch.from_numpy(self.to_numpy()).to(device)

    def from_torch(self, tensor: Any) -> None:
        """Set all elements from a torch tensor."""
        self.from_numpy(tensor.detach().cpu().numpy())

    def copy_from(self, other: Any) -> None:
        """Set all elements from a field of the same shape; a tape differentiates that.

        Raises ValueError for another shape.
        """
        if not isinstance(other, Field):
            raise TypeError(f"copy_from: a field is needed, not a {type(other).__name__}")
        if (other.shape, other.element_shape) != (self.shape, self.element_shape):
            raise ValueError(f"copy_from: shapes {self.shape} and {other.shape} differ")
        if other is self:
            return
        memory, values = self.located(), other.located().read()
        if self.primal is None:
            self._count_write()
            if self.program.recorder is not None:
                self.program.recorder.host_copy(self, other)
        memory.write(values)
        self._note_values(values)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(
                f"field '{self.symbol}' has no index axes, so it has no length: x[None] is its "
                f"element"
            )
        return self.shape[0]

    def __bool__(self) -> bool:
        raise TypeError(
            f"a field is neither true nor false: '{self.symbol} is None' asks whether there is "
            f"one, "
            f"{self.symbol}[{'None' if self.placed_in is not None and not self.shape else '...'}] "
            f"is an element"
        )

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"field '{self.symbol}' lies in the memory of a program, so it cannot be pickled or "
            f"copied: keep "
            "x.to_numpy(), and declare another field that takes it by from_numpy (or copy_from)"
        )

    def __iter__(self) -> Any:
        raise NotImplementedError(
            "Struct for is only available in Taichi scope: a field is looped over in a kernel"
        )

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
                builder.arrays[self.symbol] = fb.emit(
                    "field.get", type_, [], field=ir.FlatSymbolRefAttr.get(self.symbol)
                )
        return ArrayRef(
            builder.arrays[self.symbol],
            self.dtype,
            memory.layout.index_shape,
            self.element_shape,
            self.offset,
            self.symbol,
        )
