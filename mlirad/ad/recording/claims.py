"""Derivatives that threads share: a recorder leaves alone what another thread's used last, until it
uses it itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from threading import main_thread

from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.program import Program


class Claims:
    """The gradients and duals that one recorder clears and uses.

    When it begins, it clears those that no other thread's recorder used last. One of another thread
    is cleared when this recorder comes to use it, and is then this thread's: until then the program
    may still read what that thread computed, even if it has ended. The main thread, which waits for
    others, clears those of threads that have ended.
    """

    def __init__(self, program: Program) -> None:
        self.program, self.state = program, program.threads.state
        self._later: set[str] = set()
        self._later_arrays: dict[int, Callable[[Ndarray], None]] = {}
        self.known: dict[Variant, int] = {}  # version of derivatives when one was last used

    def may_clear(self, name: str | int) -> bool:
        """Return whether a derivative is this thread's, or nobody's."""
        user = self.program.derivatives.users.get(name)
        if user is None or user is self.state:
            return True
        return self.state.thread is main_thread() and not user.is_alive

    def clear(self, derivatives: Mapping[str, FieldMemory]) -> None:
        """Set derivatives to 0, by name of their fields: now, or when they are used."""
        users, state, backlog = self.program.derivatives.users, self.state, self.program.backlog
        for name, memory in list(derivatives.items()):
            user = users.get(name)
            if user is None or user is state or self.may_clear(name):
                memory.clear(backlog)
            else:
                self._later.add(name)

    def clear_arrays(self, arrays: Iterable[Ndarray], clear: Callable[[Ndarray], None]) -> None:
        """Set the derivatives of arrays to 0: now, or when they are used."""
        users, state = self.program.derivatives.users, self.state
        for array in list(arrays):
            user = users.get(array.address)
            if user is None or user is state or self.may_clear(array.address):
                clear(array)
            else:
                self._later_arrays[array.address] = clear

    def use_arrays(self, arrays: Iterable[Ndarray]) -> None:
        """Use the derivatives of some arrays from now on."""
        users, state, later = self.program.derivatives.users, self.state, self._later_arrays
        for array in arrays:
            users[array.address] = state
            if later and (clear := later.pop(array.address, None)) is not None:
                clear(array)

    def use(self, symbols: Iterable[str]) -> None:
        """Use the derivatives of some fields from now on."""
        derivatives = self.program.derivatives
        for symbol in symbols:
            for name in derivatives.names_of(symbol):
                derivatives.users[name] = self.state
                if name in self._later:
                    self._later.discard(name)
                    self.program.fields[name].fill(0)

    def use_variant(self, variant: Variant) -> None:
        """Use the derivatives of a kernel's fields."""
        version = self.program.derivatives.version
        if self.known.get(variant) != version:
            self.known[variant] = version
            self.use(variant.kernel.fields)
