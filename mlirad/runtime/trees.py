"""The layout trees of a program: what declares them, and what is declared and has no memory
yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlirad.dialect.turn import in_turn


class Trees:
    """Names of fields and trees are given once a program."""

    def __init__(self) -> None:
        self.root: Any = None  # of the trees that a user declares
        self.deactivate: Any = None  # makes all cells of a block inactive
        self.copy: Any = None  # copies a field to another that is laid out in another way
        self.count = 0
        # makes the tree at the insertion point, by name of the field
        self.declarations: dict[str, Callable[[], object]] = {}
        # fields that are declared where one of a name is: those of activities, and whose they are
        self.companions: dict[str, list[str]] = {}
        self.pending: list[Callable[[], None]] = []
        self._names: dict[str, int] = {}

    @in_turn
    def unique_name(self, name: str) -> str:
        """A name no other field has."""
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        return name if count == 0 else self.unique_name(f"{name}_{count}")

    def materialize(self) -> None:
        """Give memory to what was declared since the last time."""
        if self.pending:  # until it is done
            self._materialize()

    @in_turn
    def _materialize(self) -> None:
        while self.pending:
            try:
                self.pending[0]()
            except (
                Exception
            ):  # what is interrupted is done at the next access, what fails is not tried again
                self.pending.pop(0)
                raise
            self.pending.pop(0)
