"""Classes of named fields, as `dataclasses` has them, but ready at once.

`dataclasses` writes and compiles six functions for a class when it is declared, which for a hundred
classes is a quarter of the time that loading mlirad takes. Here comparing, hashing and showing are
done by functions that all classes share, and a class's `__init__` is compiled when many objects
have been made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

from mlirad.named_tuples import NamedTuple

T = TypeVar("T")
_NONE = object()  # where nothing is given
_MANY = 30  # objects of a class, from which on it pays to compile its `__init__`


class _Field(NamedTuple):
    """How a field gets its value: by default, by a function, or later (`init` is false); whether
    it is one of those that are compared and shown."""

    default: Any = _NONE
    make: Callable[[], Any] | None = None
    init: bool = True
    compare: bool = True


def field(
    *, default_factory: Callable[[], T] | None = None, init: bool = True, compare: bool = True
) -> Any:
    """A field that a function makes for each object, or that gets its value later."""
    return _Field(_NONE, default_factory, init, compare)


@overload
@dataclass_transform(field_specifiers=(field,))
def data_class(cls: type[T]) -> type[T]: ...


@overload
@dataclass_transform(field_specifiers=(field,))
def data_class(*, frozen: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]: ...


def data_class(cls: Any = None, *, frozen: bool = False, eq: bool = True) -> Any:
    """Make a class one of fields, those that it and its bases annotate: `frozen` ones cannot be
    assigned to, and have a hash if they are compared (`eq`)."""

    def declare(cls: type[T]) -> type[T]:
        fields = _fields(cls)
        names = [name for name, one in fields.items() if one.compare]
        methods = {"__init__": _early_init(cls, frozen), "__repr__": _shown(names)}
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
        if eq:
            methods |= _compared(names, frozen)
        for name, method in methods.items():
            if name not in cls.__dict__ or (name == "__hash__" and cls.__dict__[name] is None):
                setattr(cls, name, method)
        return cls

    return declare if cls is None else declare(cls)


def fields_of(owner: object) -> tuple[str, ...]:
    """The names of the fields of an object or a class."""
    found: dict[str, _Field] = owner.__data_fields__  # type: ignore[attr-defined]
    return tuple(found)


def replace(one: T, **changes: Any) -> T:
    """An object like another, but for some fields."""
    fields: dict[str, _Field] = one.__data_fields__  # type: ignore[attr-defined]
    kept = {name: getattr(one, name) for name, how in fields.items() if how.init}
    return type(one)(**(kept | changes))


def _fields(cls: type) -> dict[str, _Field]:
    """All fields of a class, its bases' first."""
    found: dict[str, _Field] = {}
    for base in reversed(cls.__mro__[1:]):
        found |= base.__dict__.get("__data_fields__", {})
    for name in cls.__annotations__:
        given = cls.__dict__.get(name, _NONE)
        if isinstance(given, _Field):
            delattr(cls, name)
        found[name] = given if isinstance(given, _Field) else _Field(given)
    cls.__data_fields__ = found  # type: ignore[attr-defined]
    return found


def _early_init(cls: type, frozen: bool) -> Callable[..., None]:
    """What sets the fields of the first objects; one that is compiled takes its place when there
    are many, or when it is not called as it has to be."""
    made = 0

    def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:
        nonlocal made
        made += 1
        if made > _MANY or not _set(self, cls, arguments, keywords):
            compiled = _init(cls, frozen)
            cls.__init__ = compiled  # type: ignore[misc]
            compiled(self, *arguments, **keywords)
        elif hasattr(cls, "__post_init__"):
            self.__post_init__()

    return __init__


def _set(self: object, cls: type, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Set the fields of a class; False where one is missing, too much, or given twice."""
    fields: dict[str, _Field] = cls.__data_fields__  # type: ignore[attr-defined]
    taken = [name for name, one in fields.items() if one.init]
    given = dict(zip(taken, arguments)) | keywords
    if len(given) < len(arguments) + len(keywords) or given.keys() - taken:
        return False
    for name in taken:
        one = fields[name]
        if name not in given:
            given[name] = one.default if one.make is None else one.make()
            if given[name] is _NONE:
                return False
        object.__setattr__(self, name, given[name])
    return True


def _init(cls: type, frozen: bool) -> Callable[..., None]:
    """What sets the fields of an object of a class."""
    fields: dict[str, _Field] = cls.__data_fields__  # type: ignore[attr-defined]
    known: dict[str, Any] = {"_none": _NONE, "_set": object.__setattr__}
    parameters, lines = ["self"], ["pass"]
    for name, one in fields.items():
        if not one.init:
            continue
        value = name
        if one.make is not None:
            known[f"_make_{name}"] = one.make
            value = f"_make_{name}() if {name} is _none else {name}"
            parameters.append(f"{name}=_none")
        elif one.default is _NONE:
            parameters.append(name)
        else:
            known[f"_default_{name}"] = one.default
            parameters.append(f"{name}=_default_{name}")
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines), known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _compared(names: list[str], frozen: bool) -> dict[str, Any]:
    # of one field too a tuple, which compares what is the same object as equal
    get: Callable[[Any], Any] = attrgetter("__class__", *names)

    def __eq__(self: Any, other: object) -> bool:
        return get(self) == get(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(get(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _shown(names: Iterable[str]) -> Callable[[Any], str]:
    def __repr__(self: Any) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    return __repr__


def _refuse(self: object, name: str, *_: object) -> None:
    raise AttributeError(f"cannot change '{name}' of a {type(self).__name__}")
