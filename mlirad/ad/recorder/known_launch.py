"""Launches that a tape knows: what they overwrite, and what reverses need behind them, was found by
an earlier launch, so that only the launch itself and its copies are left to be done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.ad.recorder.lost import warn_of_views
from mlirad.ad.recording.entries import RecordedLaunch
from mlirad.ad.recording.known_states import KnownLaunch, KnownPart, State
from mlirad.ad.recording.ledger import Ledger
from mlirad.lang.kernels.launch import Launch
from mlirad.pipeline.mode import Mode
from mlirad.runtime.kernels.variant import Variant


def known_launch(ledger: Ledger, launch: Launch) -> KnownLaunch | None:
    """Return what is known of a launch; None if it has to be looked at."""
    state = ledger.needs.state
    known = state.find(launch.variant, launch.values)
    if not state.states.hold(ledger.program):
        ledger.versions.forget_known()
        return None
    return None if ledger.outer_adjoints.symbols else known


def repeat(ledger: Ledger, launch: Launch, known: KnownLaunch) -> Any:
    """Launch and record a kernel of which all is known; what it returns."""
    needs, entries = ledger.needs, ledger.entries
    changes, needs.state = known.after is not needs.state, known.after
    ledger.claims.use_variant(launch.variant)
    for part in known.parts:
        piece = launch if part.variant is launch.variant else launch.with_variant(part.variant)
        if changes:
            needs.later.append((piece, part.derivative.footprints))
        saved = needs.keep_again(part.overwritten) if part.overwritten else []
        results = part.code.launch(piece.values)
        entries.append(RecordedLaunch(piece, saved, part.derivative))
    if ledger.program.threads.views:
        warn_of_views(ledger, launch)
    return results


def note_known(
    state: State, ledger: Ledger, variant: Variant, launches: Sequence[Launch], mode: Mode
) -> None:
    """Note a launch of a kernel, by its parts, that was just recorded in a state, if others are
    recorded like it."""
    if variant.used_gradients or ledger.outer_adjoints.symbols or launches[0].arrays:
        return
    versions, parts, is_for_all = ledger.versions, list[KnownPart](), True
    for launch, entry in zip(launches, ledger.entries[-len(launches) :]):
        if not isinstance(entry, RecordedLaunch) or entry.launch is not launch:
            return
        derivative, overwritten = entry.derivative, [saved.overwritten for saved in entry.saved]
        is_for_all = is_for_all and versions.change_nothing(launch, derivative.footprints)
        code = launch.variant.codes.code(mode)
        parts.append(KnownPart(launch.variant, code, derivative, overwritten))
    known = KnownLaunch(parts, variant.codes, versions.state, is_for_all)
    state.note(variant, launches[0].values, known)
