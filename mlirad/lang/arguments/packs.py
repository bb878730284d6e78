"""`ti.types.argpack`: several arguments of a kernel that are passed as one."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView
from typing import Any

from mlirad.errors import TaichiRuntimeTypeError, did_you_mean


class ArgPackType:
    """The names of some arguments, and what each is declared as, a pack too. Calling it makes a
    pack of values."""

    def __init__(self, members: dict[str, Any], name: str | None = None) -> None:
        self.members, self.name = members, name

    def __call__(self, **values: Any) -> ArgPack:
        return ArgPack(self, values)

    def __repr__(self) -> str:
        if self.name is not None:
            return self.name
        return f"argpack({', '.join(f'{name}={kind}' for name, kind in self.members.items())})"


class ArgPack:
    """Arguments by name, which can be set between launches. Raises TaichiRuntimeTypeError for names
    that are missing or unknown."""

    def __init__(self, kind: ArgPackType, values: dict[str, Any]) -> None:
        object.__setattr__(self, "_kind", kind)
        object.__setattr__(self, "_values", {})
        for name in kind.members:
            if name not in values:
                raise TaichiRuntimeTypeError(f"a value for '{name}' is missing in {kind}")
        for name, value in values.items():
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        values = object.__getattribute__(self, "_values")
        if name not in values:
            raise AttributeError(f"an argument pack has no '{name}'{did_you_mean(name, values)}")
        return values[name]

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._kind.members:
            hint = did_you_mean(name, self._kind.members)
            raise TaichiRuntimeTypeError(f"an argument pack has no '{name}'{hint}")
        self._values[name] = value

    __getitem__ = __getattr__
    __setitem__ = __setattr__

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._values.keys()

    def items(self) -> ItemsView[str, Any]:
        """Names and values."""
        return self._values.items()

    def to_dict(self) -> dict[str, Any]:
        """The values by name, those of packs too."""
        return {k: v.to_dict() if isinstance(v, ArgPack) else v for k, v in self.items()}


def unpack(pack: object, kind: ArgPackType, name: str) -> Iterator[Any]:
    """The values of a pack, those of packs in it too. Raises TaichiRuntimeTypeError for what is no
    pack of a type."""
    value = getattr(pack, "__argument_pack__", pack)
    if not isinstance(value, ArgPack) or value._kind is not kind:
        raise TaichiRuntimeTypeError(
            f"Argument {name}: {kind} is needed, not a {type(pack).__name__}"
        )
    for member, declared in kind.members.items():
        entry = value._values[member]
        if isinstance(declared, ArgPackType):
            yield from unpack(entry, declared, f"{name}.{member}")
        else:
            yield entry
