"""Operations as text, and dumps of them while passes run."""

from __future__ import annotations

import sys

import msgspec

from mlirad.bindings import ir
from mlirad.ir.assembly import shorten
from mlirad.pipeline.opt.settings import Settings
from mlirad.pipeline.runner import Watcher


class Style(msgspec.Struct, frozen=True):
    """With or without locations, aliases, custom syntax and large constants."""

    locations: bool = False
    generic: bool = False
    local_scope: bool = False
    elide_larger: int | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> Style:
        """Return what a command line asks for."""
        return cls(
            settings.debug_information,
            settings.generic,
            settings.local_scope,
            settings.elide_larger,
        )

    def text(self, op: ir.Operation) -> str:
        """An operation, ended by a line's end."""
        written = op.get_asm(
            enable_debug_info=self.locations,
            print_generic_op_form=self.generic,
            use_local_scope=self.local_scope,
            large_elements_limit=self.elide_larger,
        )
        text = str(written).rstrip()
        return f"{text if self.generic else shorten(text)}\n"


class Dumps:
    """Show the IR around passes, on the standard error."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.style = settings, Style.from_settings(settings)
        self.before = ""

    def watcher(self) -> Watcher | None:
        """Return what to call around passes, or None if nothing is to be shown."""
        s = self.settings
        dumps = (
            s.print_before_all,
            s.print_after_all,
            s.print_after_change,
            s.print_after_failure,
            s.print_before,
            s.print_after,
        )
        return Watcher(self._before, self._after, self._dump_failure) if any(dumps) else None

    def _before(self, name: str, op: ir.Operation) -> None:
        if self.settings.print_before_all or _base(name) in self.settings.print_before:
            self._show("Before", name, op)
        if self.settings.print_after_change:
            self.before = Style(locations=True, generic=True).text(op)

    def _after(self, name: str, op: ir.Operation) -> None:
        is_asked = self.settings.print_after_all or _base(name) in self.settings.print_after
        changed = self.settings.print_after_change and self.before != Style(
            locations=True, generic=True
        ).text(op)
        if is_asked or changed:
            self._show("After", name, op)

    def _dump_failure(self, name: str, op: ir.Operation) -> None:
        if self.settings.print_after_failure:
            self._show("After", f"{name} Failed", op)

    def _show(self, when: str, name: str, op: ir.Operation) -> None:
        print(
            f"// -----// IR Dump {when} {name} //----- //\n{self.style.text(op)}", file=sys.stderr
        )


def _base(name: str) -> str:
    return name.partition("{")[0]
