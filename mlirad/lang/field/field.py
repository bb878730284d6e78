"""Fields: `ti.field`, `ti.Vector.field`, `ti.Matrix.field`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlirad.bindings import ir
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError
from mlirad.frontend.python.places.arrays import ArrayRef
from mlirad.frontend.python.values.scalar import Expr
from mlirad.lang.field.access import FieldAccess
from mlirad.lang.field.components import ComponentField, position_in
from mlirad.lang.field.kernel_arrays import array_ref, list_of
from mlirad.lang.field.memory import declaration_of, register, take_memory
from mlirad.lang.field.unplaced_component import UnplacedComponent
from mlirad.lang.host.python_misuse import keeps_derivatives
from mlirad.lang.layout.placed_field import PlacedField, placed_field
from mlirad.lang.layout.root import Root
from mlirad.lang.layout.tree import Offset, SNode, offset_in
from mlirad.runtime.derivative_kind import ADJOINT, DerivativeKind, of_gradient, tangent
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.program import Program
from mlirad.types import DataType


@keeps_derivatives
class Field(FieldAccess):
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

    # Layout.

    def put_into(self, node: SNode, offset: Offset) -> None:
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

    def want(self, kind: DerivativeKind) -> None:
        if not self.has(kind):
            self._want(kind)

    @in_turn
    def _want(self, kind: DerivativeKind) -> None:
        is_beside = self.is_gradient and not self.is_placed_apart
        if self.primal is not None and is_beside and not kind.is_of_gradient:
            self.primal.want(of_gradient(kind))
        elif self.dtype.is_float and (self.primal is None or self.is_gradient):
            if self.placed_in is not None:
                take_memory(self, self.placed_in, [kind])
            self.wanted.add(kind)
            if self.placed_in is not None:
                self.placed_in.root.schedule()

    @property
    def is_placed_apart(self) -> bool:
        """Return whether a program placed this derivative itself."""
        return self.placed_in is not None and self in self.placed_in.children

    @in_turn
    def _derive(self, kind: DerivativeKind) -> Field:
        if kind not in self.derived:
            name = f"{self.symbol}.{kind}"
            derived = Field(self.program, self.dtype, self.element_shape, name, self)
            derived.layout = self.layout
            self.derived[kind] = derived
        return self.derived[kind]

    def attach(self, memory: FieldMemory, declare: Callable[[], object]) -> None:
        self.memory = memory
        if self.placed_in is None and self.primal is not None:
            self.placed_in, self.offset = self.primal.placed_in, self.primal.offset
        register(self, memory, declare)

    def declaration(self) -> ir.Operation:
        return declaration_of(self)

    # What programs ask.

    @property
    def grad(self) -> Field | None:
        return self.derivative(ADJOINT) if self.dtype.is_float and self.primal is None else None

    def has_grad(self) -> bool:
        """Return whether adjoints of it have memory."""
        return self.has(ADJOINT)

    def has_dual(self) -> bool:
        """Return whether tangents of it have memory."""
        return self.has(tangent(0))

    @property
    def dual(self) -> Field | None:
        """The field of tangents; None for integer fields and for tangents themselves. Raises
        TaichiRuntimeError after a forward mode in several directions."""
        if not self.dtype.is_float or self.is_dual:
            return None
        count = 1 + (tangent(1) in self.derived)
        self.program.derivatives.check_one_direction(self.description, count)
        return self.derivative(tangent(0))

    @property
    def snode(self) -> PlacedField:
        """The field as a leaf of its layout tree."""
        return placed_field(self)

    def parent(self, n: int = 1) -> PlacedField | SNode | None:
        """The block `n` levels up."""
        return self.snode.parent(n)

    def loop_range(self) -> Field:
        """Return the array that a loop over the active elements visits: the field itself."""
        return self

    # In kernels, of a field whose one axis is that of a list.

    def append(self, value: Any) -> Expr:
        """Add an item to the list that the field is; its number."""
        return list_of(self).append(value)

    def length(self) -> Expr:
        """Return the number of items of a field that is a list."""
        return list_of(self).length()

    def deactivate(self) -> None:
        """Empty the list that the field is."""
        list_of(self).deactivate()

    @property
    def _name(self) -> str:
        return self.symbol

    def get_scalar_field(self, *position: int) -> ComponentField | UnplacedComponent:
        """A component, as a field of scalars over the same memory; of a field without a place it
        can be placed separately."""
        where = position_in(self.element_shape, position)
        primal = self if self.primal is None else self.primal
        if self.placed_in is None and primal.placed_in is None:
            return UnplacedComponent(self, where)
        return ComponentField(self, where)

    def component(self, position: tuple[int, ...]) -> Field:
        """A field for one component that has the derivatives that were asked for."""
        name = ".".join([self.symbol, *map(str, position)])
        component = Field(self.program, self.dtype, (), name)
        component.wanted = set(self.wanted)
        return component

    def __kernel_ref__(self) -> ArrayRef:
        return array_ref(self)
