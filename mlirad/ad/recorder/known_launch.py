"""Launches that a tape knows: an earlier launch has found what they overwrite, and what reverses
need behind them, so that only the launch itself and its copies are left to be done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlirad.ad.recorder.lost import warn_of_views
from mlirad.ad.recording.array_table import TapeArray
from mlirad.ad.recording.entries import RecordedLaunch
from mlirad.ad.recording.known_states import KnownLaunch, KnownPiece, Overwritten, State
from mlirad.ad.recording.ledger import Ledger
from mlirad.ad.recording.versions import Version
from mlirad.lang.kernels.launch import Launch
from mlirad.pipeline.mode import Mode

_NO_ARRAYS: Sequence[TapeArray] = ()


def repeat(ledger: Ledger, launch: Launch, run: Callable[[Launch], Any]) -> tuple[Any, ...] | None:
    """Launch and record a kernel of which all is known, pieces without code by `run`; return its
    results, or None if the launch has to be looked at."""
    state, program = ledger.needs.position.state, ledger.program
    recipe = state.find(launch)
    if not state.states.hold(program):
        ledger.needs.forget_known()
        return None
    if recipe is None or ledger.outer_adjoints.symbols:
        return None
    arrays = _arrays(ledger, launch) if launch.arrays else _NO_ARRAYS
    if arrays is None:
        return None
    if ledger.claims.known.get(launch.variant) != program.derivatives.version:
        ledger.claims.use_variant(launch.variant)
    piece = recipe.plain
    if piece is not None and piece.code is not None:
        results = piece.code.launch(launch.values, launch.arrays)
        entry = RecordedLaunch(launch, [], piece.derivative, launch.arrays, arrays)
        ledger.entries.append(entry)
    else:
        results = _repeat_pieces(ledger, launch, recipe, arrays, run)
    if program.threads.views.handed:
        warn_of_views(ledger, launch)
    return results


def _arrays(ledger: Ledger, launch: Launch) -> Sequence[TapeArray] | None:
    """Return the arrays of a launch as the tape knows them; None if it gave one a gradient."""
    table, arrays = ledger.arrays.table, list[TapeArray]()
    for buffer in launch.arrays:
        array = table.find(buffer)
        if array is None:
            array = table.know(buffer, launch.kernel.__name__)
            ledger.claims.use_arrays([buffer.owner])
        if array.hidden is not None:
            return None
        arrays.append(array)
    return arrays


def _repeat_pieces(
    ledger: Ledger,
    launch: Launch,
    recipe: KnownLaunch,
    arrays: Sequence[TapeArray],
    run: Callable[[Launch], Any],
) -> Any:
    needs, entries, buffers = ledger.needs, ledger.entries, launch.arrays
    position = needs.position
    changes, position.state = recipe.after is not position.state, recipe.after
    for piece in recipe.pieces:
        launched = launch.with_variant(piece.variant)
        if changes:
            needs.later.append((launched, piece.derivative.footprints))
        saved = _copies(ledger, launched, piece.overwritten) if piece.overwritten else []
        code = piece.code
        results = run(launched) if code is None else code.launch(launched.values, buffers)
        entries.append(RecordedLaunch(launched, saved, piece.derivative, buffers, arrays))
    return results


def _copies(ledger: Ledger, launch: Launch, overwritten: Sequence[Overwritten]) -> list[Version]:
    """Copy the elements that a launch overwrites."""
    versions: list[Version] = []
    for box in overwritten:
        key = box.key
        if isinstance(key, str):
            elements = ledger.program.fields[key].elements
        else:
            elements = next(array for array in launch.arrays if array.address == key).elements()
        versions += ledger.needs.keep(box, elements)
    return versions


def note_known(
    state: State, ledger: Ledger, launch: Launch, launches: Sequence[Launch], mode: Mode | None
) -> None:
    """Note a launch that was just recorded in a state, as the launches of its pieces, if others are
    recorded like it; in a mode, if it is the same for all."""
    variant, versions = launch.variant, ledger.versions
    if variant.used_gradients or ledger.outer_adjoints.symbols:
        return
    if launch.arrays and ledger.order.tangents_beside:
        return
    if launches[0].arrays is not launch.arrays or not all(a.is_ours for a in launch.arrays):
        return
    pieces, is_for_all = list[KnownPiece](), True
    for launched, entry in zip(launches, ledger.entries[-len(launches) :]):
        if not isinstance(entry, RecordedLaunch) or entry.launch is not launched:
            return
        derivative = entry.derivative
        overwritten = tuple([saved.overwritten for saved in entry.saved])
        is_for_all = is_for_all and versions.change_nothing(launched, derivative.footprints)
        code = None if mode is None else launched.variant.codes.code(mode)
        pieces.append(KnownPiece(launched.variant, code, derivative, overwritten))
    after = versions.position.state
    is_plain = len(pieces) == 1 and pieces[0].variant is variant and not pieces[0].overwritten
    plain = pieces[0] if is_plain and after is state and mode is not None else None
    state.note(launch, KnownLaunch(tuple(pieces), variant.codes, after, is_for_all, plain))
