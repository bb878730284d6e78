"""The derivatives of a program's fields and arrays: where they are, and who used them last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, ref

from mlirad.errors import TaichiRuntimeError
from mlirad.runtime.derivative_kind import DerivativeKind
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.thread_state import ThreadState


class Derivatives:
    """Gradients by the names of their own, and by the fields'; tangents likewise."""

    def __init__(self) -> None:
        self.gradients: dict[str, FieldMemory] = {}
        self.adjoints: dict[str, str] = {}  # name of the gradient by name of the field
        self.outers: dict[str, str] = {}  # name of the outer adjoint by name of the field
        self.primals: dict[str, str] = {}  # name of the field by name of its gradient
        self.gradient_version = 0  # grows with every gradient that is placed
        self.tangents: dict[str, FieldMemory] = {}
        # names of the fields of tangents, by name of the field
        self.duals: dict[str, tuple[str, ...]] = {}
        self.tangent_version = 0
        self.version = 0  # grows with every derivative that is placed
        self._names: dict[str, tuple[str, ...]] = {}  # of all derivatives, by name of the field
        self.directions = 1  # of the forward mode that was entered last
        # places one of a kind, by name of the field
        self.give: dict[str, Callable[[DerivativeKind], None]] = {}
        self.hidden: set[str] = set()  # fields that a tape gave a gradient
        # gradients to which Python, or `kernel.grad()`, gave values outside of tapes
        self.given: set[str] = set()
        self.follow_reverse = False  # gradients have the values that a tape gave them
        self.warned: set[str] = set()  # fields whose hidden gradient was spoken of
        # of variants of kernels that were launched in a second derivative: whether the tangents of
        # what they write were read
        self.read_tangents: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
        # ndarrays, whose derivatives are cleared with those of fields, by identity
        self._arrays: dict[int, ref[Any]] = {}
        # whose recorder used a gradient or dual last, by name, or address of the array
        self.users: dict[str | int, ThreadState] = {}

    def place_gradient(self, symbol: str, memory: FieldMemory, primal: str) -> None:
        """A field has a gradient from now on."""
        self.gradients[symbol] = memory
        self.gradient_version += 1
        self.adjoints[primal], self.primals[symbol] = symbol, primal
        self._note_placed()

    def place_tangents(
        self, symbol: str, memory: FieldMemory, primal: str, directions: tuple[str, ...]
    ) -> None:
        """A field has tangents in one more direction from now on: `directions` are all of them."""
        self.tangents[symbol] = memory
        self.tangent_version += 1
        self.duals[primal] = directions
        self._note_placed()

    def place_outer(self, symbol: str, primal: str) -> None:
        """A field has an adjoint apart from its gradient from now on."""
        self.outers[primal] = symbol
        self._note_placed()

    def _note_placed(self) -> None:
        self.version += 1
        self._names.clear()

    def add_array(self, array: Any) -> None:
        """An ndarray may have derivatives, as long as it lives."""
        key, arrays = id(array), self._arrays
        arrays[key] = ref(array, lambda _: arrays.pop(key, None))

    @property
    def arrays(self) -> list[Any]:
        """Return the ndarrays, whose derivatives are cleared with those of fields."""
        arrays = [reference() for reference in list(self._arrays.values())]
        return [array for array in arrays if array is not None]

    def names_of(self, symbol: str) -> tuple[str, ...]:
        """The names of all derivatives of a field: its adjoints, its tangents, and those of its
        gradient."""
        names = self._names.get(symbol)
        if names is None:
            version, names = self.version, self._find_names(symbol)
            if version == self.version:  # else another thread has placed one meanwhile
                self._names[symbol] = names
        return names

    def _find_names(self, symbol: str) -> tuple[str, ...]:
        names, outer = self.duals.get(symbol, ()), self.outers.get(symbol)
        if outer is not None:
            names = (*names, outer)
        gradient = self.adjoints.get(symbol)
        return names if gradient is None else (gradient, *names, *self.names_of(gradient))

    def adjoint_of(self, symbol: str, symbols: frozenset[str]) -> str | None:
        """The name of a field's adjoint, which for some lies apart from the gradient."""
        return (self.outers if symbol in symbols else self.adjoints).get(symbol)

    def are_derivatives(self, symbol: str) -> bool:
        """Return whether a field is one that holds derivatives."""
        return symbol in self.gradients or symbol in self.tangents or symbol in self.outers.values()

    def check_one_direction(self, subject: str, count: int) -> None:
        """Raise TaichiRuntimeError if an array has `count` tangents, of several directions."""
        if min(self.directions, count) > 1:
            raise TaichiRuntimeError(
                f"the last forward mode had {self.directions} directions, so {subject} has no "
                "single dual: after `with ti.ad.FwdMode(...) as forward:`, the rows of "
                "forward.tangents(x) are its tangents"
            )

    def forget(self, symbol: str) -> None:
        """A field is gone."""
        self.gradients.pop(symbol, None)
        self.tangents.pop(symbol, None)
