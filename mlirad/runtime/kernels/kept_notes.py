"""Notes of passes on a kernel, stored on disk for later processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.ir.marks.declarations import declarations
from mlirad.kernel.module import KernelModule
from mlirad.runtime.cache.cache import Cache
from mlirad.runtime.cache.field_names import FieldNames
from mlirad.runtime.cache.slot import Slot


class NotesSlot:
    """The place of texts on a kernel, and of code of it, which names no field."""

    def __init__(self, slot: Slot, names: FieldNames) -> None:
        self._slot, self._names = slot, names
        self.found = slot.found
        self.is_on = slot.is_on

    def text(self, number: int) -> str:
        """A text that was found."""
        assert self.found is not None
        return self._names.restore_names(self.found[number].decode())

    def keep(self, texts: Sequence[str], *codes: bytes) -> None:
        """Keep texts, then codes."""
        if self.is_on:
            numbered = [self._names.number_notes(text).encode() for text in texts]
            self._slot.keep([*numbered, *codes])


class KeptNotes:
    """Found by the kernel's text, with its places in the source, which messages name, and without
    the names of its fields."""

    def __init__(self, kernel: KernelModule, cache: Cache) -> None:
        self._kernel, self._cache = kernel, cache
        self._digest: str | None = None
        self._names = FieldNames("")

    def slot(self, *texts: str) -> NotesSlot:
        """The place of what is made of the kernel as some texts say."""
        if self._digest is None and self._cache.is_on:
            text = self._kernel.module.operation.get_asm(enable_debug_info=True)
            self._names = FieldNames(text)
            self._digest = sha256(self._names.number_names(text).encode()).hexdigest()
        numbered = map(self._names.number_names, texts)
        return NotesSlot(Slot(self._cache, self._digest or "", *numbered), self._names)

    def notes(self, texts: tuple[str, ...], make: Callable[[], ir.Module]) -> ir.Module:
        """The notes on a module that is made as some texts say. Needs a location."""
        slot = self.slot(*texts)
        if slot.found is not None:
            return ir.Module.parse(slot.text(0), context())
        notes = declarations(make())
        slot.keep([str(notes)])
        return notes

    def modules(
        self, texts: tuple[str, ...], make: Callable[[], list[ir.Module]] | None
    ) -> list[ir.Module] | None:
        """Modules that are made as some texts say; None if there are none yet, and nothing makes
        them."""
        slot = self.slot(*texts)
        if slot.found is not None:
            return [ir.Module.parse(slot.text(k), context()) for k in range(len(slot.found))]
        modules = None if make is None else make()
        if modules is not None:
            slot.keep([module.operation.get_asm(enable_debug_info=True) for module in modules])
        return modules

    def forget(self) -> None:
        """The kernel has changed."""
        self._digest = None
