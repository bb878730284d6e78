"""What passes note on a kernel, kept on disk for later processes."""

from __future__ import annotations

from collections.abc import Callable

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.ir.declarations import declarations
from mlirad.kernel.module import KernelModule
from mlirad.runtime.cache.cache import Cache
from mlirad.runtime.cache.digest import sha256
from mlirad.runtime.cache.slot import Slot


class KeptNotes:
    """Found by the kernel's text, with its places in the source, which messages name."""

    def __init__(self, kernel: KernelModule, cache: Cache) -> None:
        self._kernel, self._cache = kernel, cache
        self._digest: str | None = None

    def slot(self, *texts: str) -> Slot:
        """The place of what is made of the kernel as some texts say."""
        if self._digest is None and self._cache.is_on:
            text = self._kernel.module.operation.get_asm(enable_debug_info=True)
            self._digest = sha256(text.encode()).hexdigest()
        return Slot(self._cache, self._digest or "", *texts)

    def notes(self, texts: tuple[str, ...], make: Callable[[], ir.Module]) -> ir.Module:
        """The notes on a module that is made as some texts say. Needs a location."""
        slot = self.slot(*texts)
        if slot.found is not None:
            return ir.Module.parse(slot.found[0], context())
        made = declarations(make())
        if slot.is_on:
            slot.keep([str(made).encode()])
        return made

    def modules(
        self, texts: tuple[str, ...], make: Callable[[], list[ir.Module]] | None
    ) -> list[ir.Module] | None:
        """Modules that are made as some texts say; None where there are none yet, and nothing makes
        them."""
        slot = self.slot(*texts)
        if slot.found is not None:
            return [ir.Module.parse(text, context()) for text in slot.found]
        made = None if make is None else make()
        if made is not None and slot.is_on:
            slot.keep([one.operation.get_asm(enable_debug_info=True).encode() for one in made])
        return made

    def forget(self) -> None:
        """The kernel has changed."""
        self._digest = None
