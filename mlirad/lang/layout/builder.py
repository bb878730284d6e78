"""`ti.FieldsBuilder`: layout trees that can be destroyed."""

from __future__ import annotations

from typing import Any

from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.layout.root import Root
from mlirad.runtime.program import program


class FieldsBuilder:
    """A set of layout trees with its own lifetime: place fields, then call `finalize()` to allocate
    them."""

    def __init__(self) -> None:
        self._root = Root(program())
        self._finalized = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._root, name)

    @in_turn
    def finalize(self, raise_warning: bool = True) -> Trees:
        """Allocate the trees.

        Raises:
            TaichiRuntimeError: `finalize` was called before, or nothing is placed.
        """
        if self._finalized:
            raise TaichiRuntimeError("FieldsBuilder finalized")
        if not list(self._root.fields()):
            raise TaichiRuntimeError("no field is placed in this FieldsBuilder")
        self._finalized = True
        self._root.materialize()
        return Trees(self._root)


class Trees:
    """The result of `FieldsBuilder.finalize()`."""

    def __init__(self, root: Root) -> None:
        self._root: Root | None = root

    @in_turn
    def destroy(self) -> None:
        """Free the memory; the fields cannot be used any more. Raises TaichiRuntimeError when
        called twice."""
        if self._root is None:
            raise TaichiRuntimeError("SNode tree has been destroyed")
        for field in self._root.fields():
            for array in field.with_derivatives():
                if array.memory is not None:
                    array.memory = None
                    array.destroyed = True
                    self._root.program.forget(array.symbol)
        for block in self._root.sparse_blocks():
            if block.activity is not None:
                self._root.program.forget(block.activity)
        self._root = None
