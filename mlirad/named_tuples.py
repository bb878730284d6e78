"""Tuples with names, as `typing.NamedTuple` declares them, but ready at once.

`typing` compiles the annotation of every field, and a constructor, when a class is declared, which
takes four times as long as the class itself. Here the constructor is compiled when many objects
have been made, or one by names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import _tuplegetter as element

    _MANY = 30  # objects, from which on it pays to compile

    class _Declaration(type):
        """Makes classes of what `NamedTuple` is a base of; classes on top of these are usual."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            names = tuple(body.get("__annotations__", ()))
            if bases[0].__base__ is tuple:
                body["_field_defaults"] = {one: body[one] for one in names if one in body}
                body["_fields"] = body["__match_args__"] = names
                body["__slots__"] = ()
                body["__new__"], body["_few"] = _early, []
                body |= {one: element(number, None) for number, one in enumerate(names)}
            return super().__new__(cls, name, bases, body)

    class NamedTuple(tuple, metaclass=_Declaration):
        """What all of them have."""

        __slots__ = ()

        @classmethod
        def _make(cls, values: Iterable[Any]) -> NamedTuple:
            return cls(*values)

        def _replace(self, **changes: Any) -> NamedTuple:
            return type(self)(**(self._asdict() | changes))

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self))

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

        def __repr__(self) -> str:
            shown = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({shown})"

    def _early(cls: type, /, *values: Any, **named: Any) -> NamedTuple:
        owner = next(one for one in cls.__mro__ if "_fields" in one.__dict__)
        owner._few.append(None)
        if not named and len(values) == len(owner._fields) and len(owner._few) < _MANY:
            return tuple.__new__(cls, values)
        owner.__new__ = _compiled(owner)
        return owner.__new__(cls, *values, **named)

    def _compiled(owner: type) -> Any:
        """The constructor of a class."""
        names, defaults = owner._fields, owner._field_defaults
        parameters = [f"{one}=_defaults[{one!r}]" if one in defaults else one for one in names]
        known = {"_new": tuple.__new__, "_defaults": defaults}
        given = "".join(f"{one}, " for one in names)
        exec(f"def __new__(_cls, {', '.join(parameters)}): return _new(_cls, ({given}))", known)
        known["__new__"].__qualname__ = f"{owner.__qualname__}.__new__"
        return staticmethod(known["__new__"])
