"""Python objects in kernels: they exist while compiling, so what changes one must not depend on run
time."""

from __future__ import annotations

import builtins
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

import numpy as np

from mlirad.errors import TaichiCompilationError
from mlirad.frontend.python.building.open_regions import Region, user_place
from mlirad.frontend.python.source.function_source import Names
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Expr

T = TypeVar("T")
_CHANGING = {builtins.next, builtins.setattr, builtins.delattr}
_FOREIGN = frozenset(sys.stdlib_module_names) - {"__main__"} | {
    "mlirad",
    "torch_mlir",
    "mlir",
    "numpy",
    "torch",
}


class NewObjects:
    """Objects by the block of a kernel that made them; the others were made before, or in none."""

    def __init__(self) -> None:
        # By identity, which holds as long as the object is kept.
        self._entries: dict[int, tuple[Any, Region]] = {}

    def note(self, value: T, region: Region) -> T:
        """Remember a new object."""
        if region.outer is not None and not isinstance(value, Expr | bool | int | float | str):
            self._entries[id(value)] = value, region.home
        return value

    def belongs(self, value: object, region: Region) -> bool:
        """Return whether the block that code is added to made an object, so that a change of it
        happens as often as it is made."""
        entry = self._entries.get(id(value))
        return region.home is entry[1] if entry is not None else region.outer is None


def call_python(
    callee: Callable[..., Any],
    positional: Sequence[object],
    named: Mapping[str, object],
    new_objects: NewObjects,
    region: Region,
) -> Any:
    """Call a Python function while compiling.

    Raises TaichiCompilationError if it changes an object from outside of the run-time branch or
    loop around the call.
    """
    if region.outer is None or not _may_change(callee):
        return new_objects.note(callee(*positional, **named), region)
    if callee in _CHANGING and not new_objects.belongs(positional[0], region):
        _refuse(positional[0], region)
    before = _Snapshot([callee, *positional, *named.values()])
    result = callee(*positional, **named)
    for changed in before.changed_objects():
        if not new_objects.belongs(changed, region):
            _refuse(changed, region)
    for item, _ in _Snapshot([result]).contents.values():
        if id(item) not in before.contents:
            new_objects.note(item, region)
    return result


def _may_change(callee: Any) -> bool:
    """Return whether a callable is anything but a function that is known to leave objects alone."""
    if isinstance(callee, BuiltinFunctionType) and callee.__self__ is builtins:
        return callee in _CHANGING
    return (
        not (isinstance(callee, type) and callee.__module__ == "builtins")
        and _package(callee) != "mlirad"
    )


def _package(value: object) -> str:
    return str(getattr(value, "__module__", "") or "").partition(".")[0]


def _refuse(changed: object, region: Region) -> None:
    subject = (
        f"a name that '{changed.__name__}' assigns"
        if isinstance(changed, FunctionType)
        else f"a {type(changed).__name__}"
    )
    place = user_place(region.place)
    raise TaichiCompilationError(
        f"{subject} is changed in {region.kind}, whose outcome is known only at run time: Python "
        "objects change once, while the kernel is compiled. Use a field or a variable, or "
        "ti.static if the outcome is known at compile time",
        related=() if place is None else [(place, region.kind)],
    )


class _Snapshot:
    """Objects and the objects that they hold, at all depths."""

    def __init__(self, roots: Iterable[object]) -> None:
        self.contents: dict[int, tuple[Any, list[Any]]] = {}
        queue = list(roots)
        while queue:
            item = queue.pop()
            objects = _contents(item) if id(item) not in self.contents else None
            if objects is not None:
                self.contents[id(item)] = item, objects
                queue += objects

    def changed_objects(self) -> Iterator[Any]:
        """The objects whose contents differ now."""
        for item, before in self.contents.values():
            now = _contents(item) or []
            if len(now) != len(before) or not all(_is_same(a, b) for a, b in zip(before, now)):
                yield item


def _is_same(a: object, b: object) -> bool:
    return a is b or (type(a) is bytes and a == b)


def _contents(item: object) -> list[Any] | None:
    """The contents of an object; None if it cannot change, or is none of the program's."""
    if isinstance(item, list | tuple | deque):
        return list(item)
    if isinstance(item, set | frozenset):
        return sorted(item, key=id)
    if isinstance(item, dict):
        return [*item.keys(), *item.values()]
    if isinstance(item, np.ndarray | bytearray):
        return [item.tobytes() if isinstance(item, np.ndarray) else bytes(item)]
    if isinstance(item, Matrix):
        return [item.entries]
    if isinstance(item, MethodType):
        return [item.__self__, item.__func__]
    if isinstance(item, FunctionType):
        return _outer_objects(item)
    if isinstance(item, BuiltinFunctionType):
        return None if isinstance(item.__self__, ModuleType) else [item.__self__]
    return _attributes(item)


def _outer_objects(function: FunctionType) -> list[Any]:
    """The values of a function's names from outside, without modules."""
    outer = Names(function)
    values = [
        outer[name]
        for name in [*function.__code__.co_freevars, *_global_names(function.__code__)]
        if name in outer
    ]
    return [value for value in values if not isinstance(value, ModuleType)]


def _global_names(code: CodeType) -> list[str]:
    return [
        *code.co_names,
        *[
            name
            for constant in code.co_consts
            if isinstance(constant, CodeType)
            for name in _global_names(constant)
        ],
    ]


def is_of_program(item: object) -> bool:
    """Return whether an object is of one of the program's own classes."""
    return not isinstance(item, type) and _package(type(item)) not in _FOREIGN


def is_module_of_program(item: object) -> bool:
    """Return whether an object is one of the program's own modules."""
    return isinstance(item, ModuleType) and item.__name__.partition(".")[0] not in _FOREIGN


def _attributes(item: object) -> list[Any] | None:
    """The values of the attributes of an object of one of the program's classes."""
    if isinstance(item, type):
        return None if _package(item) in _FOREIGN else list(vars(item).values())
    if not is_of_program(item):
        return None
    slots = [
        name
        for kind in type(item).__mro__
        for name in vars(kind).get("__slots__", ())
        if hasattr(item, name)
    ]
    return [
        type(item),
        *[
            value
            for name, value in getattr(item, "__dict__", {}).items()
            if name != "_mlirad_kernels"
        ],
        *[getattr(item, name) for name in slots],
    ]
