"""The memory that a field and its derivatives take, asked for where they are declared."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlirad.lang.field.field import Field
    from mlirad.lang.layout import SNode


def take_memory(field: Field, node: SNode, names: Sequence[str]) -> None:
    """Ask for the memory of a field or of derivatives, by their names, in the cells of a block.

    Raises TaichiMemoryError where the machine has less.
    """
    size = prod(node.shape) * prod(field.element_shape) * field.dtype.size
    fields = " and ".join(f"'{name}'" for name in names)
    element = f"{field.dtype}{list(field.element_shape) or ''}"
    field.program.capacity.take(
        dict.fromkeys(names, size), f"field {fields} of shape {node.shape} of {element}"
    )
