"""Names in scope while a function is translated, and jumps out of blocks."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from mlirad.bindings import ir
from mlirad.errors import TaichiNameError, TaichiSyntaxError, did_you_mean
from mlirad.frontend.python.building.builder import Anchor, constant, current
from mlirad.frontend.python.places.variables import make_slot, read_slot, write_slot
from mlirad.frontend.python.source.function_source import FunctionSource
from mlirad.types import u1


class Flag:
    """A condition that statements may clear, so that the statements behind them do not run."""

    def __init__(self) -> None:
        self.slot = make_slot(u1)
        self.set(True)

    def set(self, value: bool) -> None:
        write_slot(self.slot, constant(value, u1))

    def read(self) -> ir.Value:
        return read_slot(self.slot, u1).value


class Loop(msgspec.Struct):
    """A loop being translated: `live` guards the rest of this iteration, `running` the next
    ones."""

    static: bool = False
    parallel: bool = False
    live: Flag | None = None
    running: Flag | None = None
    depth: int = 0  # of run-time regions, where the loop's body starts


class Scope(dict[str, Any]):
    """Names that are bound in a piece of a function, and the block in which it begins."""

    def __init__(self) -> None:
        self.region = current().region


class Frame(msgspec.Struct):
    """A function being translated; an inlined `@ti.func` has its own frame."""

    name: str
    source: FunctionSource
    is_kernel: bool
    return_type: Any = None
    scopes: list[Scope] = msgspec.field(default_factory=lambda: [Scope()])
    loops: list[Loop] = msgspec.field(default_factory=list)
    live: Flag | None = None
    result: Any = None
    has_returned: bool = False
    entry_anchor: Anchor = None  # type: ignore[assignment]  # set when the entry is there

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Open a scope: names defined inside are gone afterwards, and so is `ti.stop_grad`."""
        self.scopes.append(Scope())
        arrays = current().stopped
        count = len(arrays)
        try:
            yield
        finally:
            self.scopes.pop()
            del arrays[count:]

    def define(self, name: str, binding: object) -> None:
        """Bind a name in the innermost scope."""
        self.scopes[-1][name] = binding

    def define_object(self, name: str, value: object) -> None:
        """Let a name stand for a Python object. Raises TaichiSyntaxError if that would depend on
        run time."""
        for scope in reversed(self.scopes):
            if name in scope:
                if scope.region.home is not current().region.home:
                    raise TaichiSyntaxError(
                        f"'{name}' names a {type(scope[name]).__name__} from outside "
                        f"{current().region.kind}, whose outcome is known only at run time, so "
                        "it cannot name another object here: choose by a vector or by ti.static"
                    )
                scope[name] = value
                return
        self.define(name, value)

    def find_local(self, name: str) -> Any:
        """The binding of a local name, or None."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def __contains__(self, name: str) -> bool:
        if any(name in scope for scope in self.scopes):
            return True
        return name in self.source.names and name not in self.source.stored

    def __getitem__(self, name: str) -> Any:
        return self.lookup(name)

    def lookup(self, name: str) -> Any:
        """The value of a name. Raises TaichiNameError if it has none."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        stored = self.source.stored
        if name in stored and (name in self.source.names or hasattr(builtins, name)):
            is_field = hasattr(self.source.names.get(name), "__kernel_ref__")
            cure = f"{name}[i], or {name}[None] if it has no axes" if is_field else "another name"
            raise TaichiNameError(
                f"'{name}' is assigned in '{self.name}', so it is a local variable there and has "
                "no value here; a global with that name is hidden and cannot be assigned: use "
                f"{cure}{', its elements' if is_field else ', a field or an argument'}"
            )
        names = self.source.names
        if name in names:
            value = names[name]
            current().note_name(names.home(name), name, value)
            return value
        if hasattr(builtins, name):
            return getattr(builtins, name)
        local = (
            f": it is assigned in '{self.name}', so it is a local variable there, which ends with "
            "the block that assigns it: give it a value before that block"
            if name in stored
            else ""
        )
        hint = local or did_you_mean(name, self._visible())
        raise TaichiNameError(f'Name "{name}" is not defined{hint}')

    def _visible(self) -> list[str]:
        return [
            *[name for scope in self.scopes for name in scope],
            *self.source.names,
            *dir(builtins),
        ]


class StaticBreak(Exception):
    """A `break` met while unrolling, with nothing known only at run time around it."""


class StaticContinue(Exception):
    """A `continue` met while unrolling, with nothing known only at run time around it."""
