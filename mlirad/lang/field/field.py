"""Fields: `ti.field`, `ti.Vector.field`, `ti.Matrix.field`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from mlirad.bindings import ir
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.frontend.python import builder as fb
from mlirad.frontend.python.matrix import Matrix
from mlirad.frontend.python.places import ArrayRef
from mlirad.lang.field.components import ComponentField
from mlirad.lang.field.in_kernels import array_ref
from mlirad.lang.field.indices import element_index
from mlirad.lang.field.memory import declaration_of, present_memory, register, take_memory
from mlirad.lang.host_array import HostArray, Values, array_of
from mlirad.lang.host_values import fitting
from mlirad.lang.layout.placed import PlacedField
from mlirad.lang.layout.root import Root
from mlirad.lang.layout.tree import Leaf, Offset, SNode, offset_in
from mlirad.runtime.derivative_kind import ADJOINT, DerivativeKind, tangent
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.memory.memory import Elements
from mlirad.runtime.program import Program
from mlirad.types import DataType


class Field(HostArray, Leaf):
    """Elements over index axes; each is a scalar, or a vector or matrix (`element_shape`)."""

    primal: Field | None
    derived: dict[DerivativeKind, Field]

    def __init__(
        self,
        owner: Program,
        dtype: DataType,
        element_shape: tuple[int, ...],
        name: str,
        primal: Field | None = None,
    ) -> None:
        super().__init__()
        self.program, self.dtype, self.element_shape = owner, dtype, element_shape
        self.symbol = owner.trees.unique_name(name)
        self.primal = primal

    @property
    def key(self) -> str:
        """Its name."""
        return self.symbol

    @property
    def described(self) -> str:
        """Its name, for messages."""
        return f"field '{self.symbol}'"

    @property
    def is_derivative(self) -> bool:
        """Whether it was derived from another field."""
        return self.primal is not None

    # Layout.

    def put_into(self, node: SNode, offset: Offset) -> None:
        """Note the block that holds this field. Raises TaichiRuntimeError when it already has
        one."""
        if self.placed_in is not None:
            raise TaichiRuntimeError(f"field '{self.symbol}' is already placed")
        if isinstance(node, Root) and self.primal is not None and self.primal.placed_in is None:
            raise TaichiRuntimeError(f"place '{self.primal.symbol}' before its gradient")
        if offset is not None:
            self.offset = offset_in(node, offset)
        elif self.primal is not None:
            self.offset = self.primal.offset
        take_memory(self, node, [None, *sorted(self.wanted)])
        self.placed_in = node

    @in_turn
    def want(self, kind: DerivativeKind) -> None:
        """Ask for a derivative, which is placed where the field is."""
        if self.dtype.is_float and self.primal is None:
            if self.placed_in is not None:
                take_memory(self, self.placed_in, [kind])
            self.wanted.add(kind)
            if self.placed_in is not None:
                self.placed_in.root.schedule()

    @in_turn
    def _derive(self, kind: DerivativeKind) -> Field:
        if kind not in self.derived:
            name = f"{self.symbol}.{kind}"
            self.derived[kind] = Field(self.program, self.dtype, self.element_shape, name, self)
        return self.derived[kind]

    def attach(self, memory: FieldMemory, declare: Callable[[], object]) -> None:
        """Take the memory that was allocated for this field; `declare` makes its tree at the
        insertion point."""
        self.memory = memory
        if self.placed_in is None and self.primal is not None:
            self.placed_in, self.offset = self.primal.placed_in, self.primal.offset
        register(self, memory, declare)

    def declaration(self) -> ir.Operation:
        """The `snode.place` of this field."""
        return declaration_of(self)

    # What programs ask.

    @property
    def grad(self) -> Field | None:
        """The field of adjoints; None for integer fields and for gradients themselves."""
        return self.derivative(ADJOINT) if self.dtype.is_float and self.primal is None else None

    @property
    def dual(self) -> Field | None:
        """The field of tangents; None for integer fields and for tangents themselves."""
        return self.derivative(tangent(0)) if self.dtype.is_float and not self.is_dual else None

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each index axis."""
        node = self.placed_in
        if node is None and self.primal is not None:
            node = self.primal.placed_in
        if node is None:
            raise TaichiRuntimeError(f"field '{self.symbol}' is not placed")
        return node.shape

    @property
    def snode(self) -> PlacedField:
        """The field as a leaf of its layout tree."""
        if self.placed_in is None:
            self.program.trees.materialize()  # which places gradients that were asked for
        if self.placed_in is None:
            raise TaichiRuntimeError(f"field '{self.symbol}' is not placed")
        return PlacedField(self, self.placed_in)

    def parent(self, n: int = 1) -> PlacedField | SNode | None:
        """The block `n` levels up."""
        return self.snode.parent(n)

    @property
    def _name(self) -> str:
        return self.symbol

    def get_scalar_field(self, *position: int) -> ComponentField:
        """One component, as a field of scalars over the same memory."""
        return ComponentField(self, position)

    # Memory.

    def located(self) -> FieldMemory:
        """The field's memory. Raises TaichiRuntimeError where it was never placed or is gone."""
        if self.memory is None or self.program.trees.pending:
            self.program.trees.materialize()
        return present_memory(self)

    def _located(self, key: Any) -> tuple[Elements, tuple[int, ...]]:
        memory = self.located()
        return memory.elements, element_index(self, key, memory)

    def __setitem__(self, key: Any, value: Any) -> None:
        elements, index = self._located(key)
        self.note_write(index)
        if not self.element_shape:
            elements.put(index, self._fitted_number(value))
            return
        values = array_of(value)
        if values.shape not in ((), self.element_shape):
            raise TaichiTypeError(
                f"value of shape {values.shape} for an element of shape {self.element_shape}"
            )
        elements.put(index, self.fitted(values))

    def fill(self, value: Any) -> None:
        """Set every element, or every component of every element."""
        if fb.in_kernel():
            self.__kernel_ref__().fill(value)
            return
        memory = self.located()
        if isinstance(value, Matrix | list | tuple | np.ndarray) and self.element_shape:
            values = self.fitted(array_of(value))
            self.note_write()
            memory.elements.write(values)
        else:
            number = self._fitted_number(value)
            self.note_write()
            memory.fill(number)

    def fitted(self, values: Values) -> Values:
        """Values as elements take them; infinities among them are noted."""
        self._note_values(values)
        return super().fitted(values)

    def _fitted_number(self, value: Any) -> Any:
        self._note_values(value)
        return value if self.dtype.is_float else fitting(value, self.dtype, self.described)

    def _note_values(self, values: Any) -> None:
        if self.primal is None and self.dtype.is_float:
            self.program.poles.note_values(self.symbol, values)

    def to_numpy(self, keep_dims: bool = False, dtype: Any = None) -> Values:
        """A copy, of shape `shape + element_shape`; `keep_dims` makes vectors matrices of one
        column."""
        values = self.located().read()
        self.note_read()
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
        array = self.fitted(array)
        self.note_write()
        memory.write(array)

    def to_torch(self, device: Any = None) -> Any:
        """A copy as a torch tensor."""
        import torch

        return torch.from_numpy(self.to_numpy()).to(device)

    def from_torch(self, tensor: Any) -> None:
        """Set all elements from a torch tensor."""
        self.from_numpy(tensor.detach().cpu().numpy())

    def copy_from(self, other: object) -> None:
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
            self.count_write()
            if self.program.threads.recorder is not None:
                self.program.threads.recorder.host_copy(self, other)
        memory.write(values)
        self._note_values(values)

    # What Python does with objects.

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(
                f"field '{self.symbol}' has no index axes, so it has no length: x[None] is its "
                f"element"
            )
        return self.shape[0]

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"a field is neither true nor false: '{self.symbol} is None' asks whether there is "
            f"one, "
            f"{self.symbol}[{'None' if self.placed_in is not None and not self.shape else '...'}] "
            f"is an element"
        )

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            f"field '{self.symbol}' lies in the memory of a program, so it cannot be pickled or "
            f"copied: keep "
            "x.to_numpy(), and declare another field that takes it by from_numpy (or copy_from)"
        )

    def __iter__(self) -> NoReturn:
        raise NotImplementedError(
            "Struct for is only available in Taichi scope: a field is looped over in a kernel"
        )

    def __str__(self) -> str:
        return str(self.to_numpy())

    def __repr__(self) -> str:
        return f"<ti.field '{self.symbol}' {self.dtype}{list(self.element_shape) or ''}>"

    def __kernel_ref__(self) -> ArrayRef:
        """The array of this field, got once a kernel."""
        return array_ref(self)
