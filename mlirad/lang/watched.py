"""Attributes that are part of compiled kernels: an assignment to one is noted, so that the next
launch can warn of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakMethod

import numpy as np

from mlirad.data_classes import data_class

Note = Callable[[int, str], None]
_Watchers = dict[tuple[int, str], list[Any]]


@data_class(frozen=True)
class Read:
    """An attribute of an object, with the value that a kernel was compiled for."""

    owner: Any
    name: str
    value: Any

    def differs(self) -> bool:
        """Whether the attribute has another value now."""
        now = getattr(self.owner, self.name, None)
        plain = isinstance(now, bool | int | float | str | tuple | np.generic) and type(
            now
        ) is type(self.value)
        return now is not self.value and not (plain and now == self.value)

    def __str__(self) -> str:
        return f"{type(self.owner).__name__}.{self.name} = {self.value!r}"


def watch(reads: Iterable[Read], note: Note) -> None:
    """Call `note`, a method, with the identity of an object and the name of an attribute of it that
    is assigned to.

    It is called as long as the method's object lives, which has to keep those that are watched.
    """
    for read in reads:
        watchers = _watchers(type(read.owner))
        if watchers is not None:
            noting, told = WeakMethod(note), watchers.setdefault((id(read.owner), read.name), [])
            told += [] if noting in told else [noting]


def _watchers(cls: type) -> _Watchers | None:
    """Who watches objects of a class, by object and attribute; None for classes that assignments
    cannot be seen of."""
    assign: Any = cls.__setattr__
    present: _Watchers | None = getattr(assign, "mlirad_watchers", None)
    if present is not None:
        return present
    watchers: _Watchers = {}

    def __setattr__(self: Any, name: str, value: Any) -> None:
        assign(self, name, value)
        key = id(self), name
        if key in watchers:
            watchers[key] = [note for note in watchers[key] if _told(note, *key)]

    __setattr__.mlirad_watchers = watchers  # type: ignore[attr-defined]
    try:
        cls.__setattr__ = __setattr__  # type: ignore[method-assign, assignment]
    except TypeError:
        return None
    return watchers


def _told(note: Any, owner: int, name: str) -> bool:
    """Tell one who watches an attribute; False where it is gone."""
    method = note()
    if method is not None:
        method(owner, name)
    return method is not None
