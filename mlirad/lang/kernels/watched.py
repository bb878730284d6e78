"""Attributes of objects, and names from outside of functions, that are part of compiled kernels.

An assignment to an attribute is noted, so that the next launch can warn of it. Of an assignment to
a name nothing is told, so each launch looks whether names stand for what they did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any
from weakref import WeakMethod

import msgspec
import numpy as np

from mlirad.frontend.python.source.function import Function
from mlirad.frontend.python.source.source_text import without_places
from mlirad.frontend.python.values.annotations import MatrixType
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.struct_type import StructType
from mlirad.lang.arguments.constants import constant_key
from mlirad.lang.host.array_protocols import short_text
from mlirad.types import DataType

Note = Callable[[int, str], None]
_Watchers = dict[tuple[int, str], list[Any]]


class Read(msgspec.Struct, frozen=True):
    """An attribute of an object, with the value that a kernel was compiled for."""

    owner: Any
    name: str
    value: Any

    def differs(self) -> bool:
        """Return whether the attribute has another value now."""
        return not _is_same(getattr(self.owner, self.name, None), self.value)

    def __str__(self) -> str:
        return f"{type(self.owner).__name__}.{self.name} = {short_text(self.value)}"


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
    """Return the watchers of objects of a class, by object and attribute; None for classes whose
    assignments cannot be seen."""
    assign: Any = cls.__setattr__
    present: _Watchers | None = getattr(assign, "mlirad_watchers", None)
    if present is not None:
        return present
    watchers: _Watchers = {}

    def __setattr__(self: Any, name: str, value: Any) -> None:
        assign(self, name, value)
        key = id(self), name
        if key in watchers:
            watchers[key] = [note for note in watchers[key] if _notify(note, *key)]

    __setattr__.mlirad_watchers = watchers  # type: ignore[attr-defined]
    try:
        cls.__setattr__ = __setattr__  # type: ignore[method-assign, assignment]
    except TypeError:
        return None
    return watchers


def _notify(note: Any, owner: int, name: str) -> bool:
    """Tell one who watches an attribute; False if it is gone."""
    method = note()
    if method is not None:
        method(owner, name)
    return method is not None


# What keeps its meaning, or nobody gives another.
_TYPES = (type, ModuleType, BuiltinFunctionType, DataType, MatrixType, StructType)
_PLAIN = bool | int | float | str | np.generic
_GONE = object()


class Name(msgspec.Struct, frozen=True):
    """A name from outside of functions, what holds it, and the value that a kernel was compiled
    for; `last` holds the one that it was seen to have last."""

    home: CellType | dict[str, Any]
    name: str
    value: Any
    last: CellType

    def now(self) -> Any:
        """Return the present value."""
        try:
            home = self.home
            return home[self.name] if isinstance(home, dict) else home.cell_contents
        except (KeyError, ValueError):
            return _GONE

    def changes(self) -> bool:
        """Return whether it stands for something else than when it was seen last, and than a kernel
        was compiled for."""
        now = self.now()
        is_seen, self.last.cell_contents = now is self.last.cell_contents, now
        return not is_seen and now is not _GONE and not _is_same(now, self.value)

    def __str__(self) -> str:
        return f"{self.name} = {short_text(self.value)}"


class Names:
    """The names that a kernel's code was compiled for; `are_bound` is asked at each launch, and
    says whether all stand for what they were seen to stand for last."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._globals: dict[str, Any] = function.__globals__
        self._names: dict[tuple[int, str], Name] = {}
        self.are_bound: Callable[[], bool] = _are_bound(self._globals, [])

    def add(self, names: Iterable[tuple[Any, str, Any]]) -> None:
        """Look at these, too."""
        for home, name, value in names:
            is_ours = isinstance(home, dict) and _is_ours(home.get("__name__"))
            is_function = isinstance(value, FunctionType) and _is_ours(value.__module__)
            if not (is_ours or is_function or isinstance(value, _TYPES)):
                self._names.setdefault((id(home), name), Name(home, name, value, CellType(value)))
        self.are_bound = _are_bound(self._globals, [*self._names.values()])

    def changed_names(self) -> Iterator[Name]:
        """Yield the names that stand for something else now, each time that they come to."""
        return (name for name in self._names.values() if name.changes())


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == "mlirad"


def _are_bound(space: dict[str, Any], names: Sequence[Name]) -> Callable[[], bool]:
    """A function that says whether names stand for what they were seen to, as fast as Python can
    look: it is part of each launch."""
    module_names = [name for name in names if name.home is space]
    cells = [name for name in names if isinstance(name.home, CellType)]
    other_names = [name for name in names if isinstance(name.home, dict) and name.home is not space]
    closure: dict[str, Any] = {
        f"seen{k}": name.last for k, name in enumerate((*module_names, *cells, *other_names))
    }
    closure |= {f"cell{k}": name.home for k, name in enumerate(cells)}
    closure |= {f"space{k}": CellType(name.home) for k, name in enumerate(other_names)}
    closure |= {f"key{k}": CellType(name.name) for k, name in enumerate(other_names)}
    code = _code(len(module_names), len(cells), len(other_names))
    globals_ = {f"own{k}": name.name for k, name in enumerate(module_names)}
    code = code.replace(co_names=tuple(globals_.get(name, name) for name in code.co_names))
    return FunctionType(code, space, closure=tuple(closure[name] for name in code.co_freevars))


@lru_cache(maxsize=64)
def _code(module_count: int, cell_count: int, other_count: int) -> CodeType:
    """Code that compares so many globals of its own, cells, and entries of dictionaries."""
    looks = [f"own{k}" for k in range(module_count)]
    looks += [f"cell{k}" for k in range(cell_count)]
    looks += [f"space{k}[key{k}]" for k in range(other_count)]
    tests = [f"{look} is seen{k}" for k, look in enumerate(looks)]
    parameters = [f"seen{k}" for k in range(len(looks))] + [f"cell{k}" for k in range(cell_count)]
    parameters += [f"{kind}{k}" for kind in ("space", "key") for k in range(other_count)]
    namespace: dict[str, Any] = {}
    exec(
        f"""
def around({", ".join(parameters)}):
    def are_bound():
        try:
            return {" and ".join(tests) or "True"}
        except (NameError, KeyError):
            return False
    return are_bound
""",
        namespace,
    )
    code: CodeType = namespace["around"](*[None] * len(parameters)).__code__
    return code


def _is_same(now: Any, value: Any) -> bool:
    """Return whether an object stands for the same in a kernel as another one."""
    if now is value or type(now) is not type(value):
        return now is value
    if isinstance(value, _PLAIN | np.ndarray):
        key = constant_key(value)
        return key is not None and constant_key(now) == key
    if isinstance(value, list | tuple):
        return len(now) == len(value) and all(map(_is_same, now, value))
    if isinstance(value, Matrix):
        return now.shape == value.shape and all(map(_is_same, now.entries, value.entries))
    if isinstance(value, Function):
        return now.owner is value.owner and _is_same_function(now.function, value.function)
    return isinstance(value, FunctionType) and _is_same_function(now, value)


def _is_same_function(now: Any, value: Any) -> bool:
    """Return whether functions have the same code, and see the same: as one does that a cell of a
    notebook defines again."""
    cells = zip(now.__closure__ or (), value.__closure__ or ())
    return (
        now.__globals__ is value.__globals__
        and without_places(now.__code__) == without_places(value.__code__)
        and _is_same(now.__defaults__, value.__defaults__)
        and all(left == right for left, right in cells)
    )
