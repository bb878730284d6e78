"""Several fields that programs use as one."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NoReturn

from mlirad.lang.host.notebook_html import group_html
from mlirad.lang.layout.tree import LeafGroup


class FieldGroup(LeafGroup):
    """The common part of several fields that programs use as one."""

    @abstractmethod
    def to_numpy(self) -> Any:
        """A copy of all elements."""

    def __bool__(self) -> NoReturn:
        raise TypeError("a field has no truth value: test an element")

    def __iter__(self) -> NoReturn:
        raise NotImplementedError(
            "Struct for is only available in Taichi scope: loop over a field in a kernel"
        )

    def _repr_html_(self) -> str:
        """Return the HTML of a notebook: the fields of the group."""
        return group_html("fields", self.__leaves__())

    def __str__(self) -> str:
        return str(self.to_numpy())
