"""Fields as the leaves of layout trees, as Taichi's programs ask for them: `x.snode`."""

from __future__ import annotations

from mlirad.errors import TaichiRuntimeError
from mlirad.lang.autodiff_mode import SNodeGradType
from mlirad.lang.layout.tree import Leaf, SNode
from mlirad.runtime.derivative_kind import ADJOINT


class PlacedField:
    """A field as the leaf of a layout tree."""

    def __init__(self, field: Leaf, block: SNode) -> None:
        self.field, self.block = field, block

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each index axis."""
        return self.block.shape

    @property
    def _name(self) -> str:
        return self.field.symbol

    @property
    def ptr(self) -> PlacedField:
        """This leaf, as programs that know Taichi's insides ask for it."""
        return self

    def get_snode_grad_type(self) -> SNodeGradType:
        """Return whether this is a field, its gradient or its dual."""
        if self.field.primal is None:
            return SNodeGradType.PRIMAL
        return SNodeGradType.DUAL if self.field.is_dual else SNodeGradType.ADJOINT

    def has_adjoint_checkbit(self) -> bool:
        """Return whether `ti.ad.Tape(validation=True)` watches the elements of this field."""
        return bool(self.field.program.config.debug) and self.field.has(ADJOINT)

    def parent(self, n: int = 1) -> PlacedField | SNode | None:
        """The block `n` levels up, or None above the root."""
        return self if n == 0 else self.block.parent(n - 1)

    def __kernel_ref__(self) -> object:
        """The array of the field inside a kernel."""
        return self.field.__kernel_ref__()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlacedField) and other.field is self.field

    def __hash__(self) -> int:
        return id(self.field)

    def __str__(self) -> str:
        return f"{self.block} => place {list(self.shape)}"


def placed_field(field: Leaf) -> PlacedField:
    """A field as a leaf of its tree. Raises TaichiRuntimeError if it has no place."""
    if field.placed_in is None:
        field.program.trees.materialize()  # which places gradients that were asked for
    if field.placed_in is None:
        raise TaichiRuntimeError(f"field '{field.symbol}' is not placed")
    return PlacedField(field, field.placed_in)
