"""Launches that a tape knows: they overwrite nothing that reverses need, and their own reverses
need nothing that is not noted, so that only the launch itself is left to be done."""

from __future__ import annotations

from mlirad.ad.recording.entries import RecordedLaunch
from mlirad.ad.recording.ledger import Ledger
from mlirad.runtime.executor.executor import Code


class KnownLaunch:
    """The code and the reverse of a kernel's launches, and what these depend on."""

    __slots__ = ("_codes", "_placed", "_poles", "_state", "_versions", "code", "derivative")

    def __init__(self, ledger: Ledger, entry: RecordedLaunch, code: Code) -> None:
        self.code, self.derivative = code, entry.derivative
        self._codes, self._versions = entry.launch.variant.codes, ledger.versions
        self._state, program = ledger.versions.state, ledger.program
        self._placed, self._poles = program.derivatives.version, program.poles.version

    def holds(self, ledger: Ledger) -> bool:
        """Return whether a launch now would be recorded as the one before."""
        program, versions = ledger.program, ledger.versions
        return (
            versions is self._versions
            and versions.state == self._state
            and program.derivatives.version == self._placed
            and program.poles.version == self._poles
            and not self._codes.is_stale
            and not ledger.outer_adjoints.symbols
        )


def known_launch(ledger: Ledger, code: Code) -> KnownLaunch | None:
    """Return what a tape knows of a launch that it has just recorded; None if others of the kernel
    may differ."""
    entry = ledger.entries[-1]
    if not isinstance(entry, RecordedLaunch) or entry.saved or ledger.validates:
        return None
    if ledger.order.follows_launches or ledger.keeper.follows_launches:
        return None
    launch, footprints = entry.launch, entry.derivative.footprints
    if launch.arrays or launch.variant.used_gradients:
        return None
    if not ledger.versions.change_nothing(launch, footprints):
        return None
    return KnownLaunch(ledger, entry, code)
