"""The launch of a tape that disagrees with its own finite differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlirad.ad.recording.entries import Entry, RecordedLaunch
from mlirad.ad.recording.versions import Versions
from mlirad.ad.tape.kinks import find_kink
from mlirad.ad.tape.slopes import STEPS, agree, slope
from mlirad.ad.tape.snapshot import Snapshot
from mlirad.lang.recorder import Target
from mlirad.runtime.program import Program

Array = np.ndarray[Any, Any]


def suspicious(entries: Sequence[Entry], start: Snapshot, loss: Target, rel: float) -> str:
    """The first of what was recorded that disagrees, in words."""
    start.restore()
    loss.fill(0)
    random = np.random.default_rng(len(entries))
    for entry in entries:
        if not _agrees_alone(entry, start.program, random, rel):
            return f"{entry} disagrees with its own finite differences"
    if len(entries) == 1:
        return (
            f"{entries[0]} agrees with its own finite differences along a random direction: the "
            "error is too small to show there, or the gradient was changed after its reverse"
        )
    return "every launch agrees with its own finite differences, so the error is between launches"


def _agrees_alone(entry: Entry, program: Program, random: np.random.Generator, rel: float) -> bool:
    """Return whether the reverse of one entry is the transpose of its derivative, in random
    directions; then do it."""
    state, fields = Snapshot(program, with_gradients=True), program.fields
    adjoints = _adjoints(entry, program)
    pairs = {
        symbol: adjoint
        for symbol, adjoint in adjoints.items()
        if fields[symbol].elements.dtype == np.float64
    }
    moves, weights = (
        {symbol: random.uniform(-1, 1, fields[symbol].elements.shape) for symbol in pairs}
        for _ in range(2)
    )
    saved = []
    if isinstance(entry, RecordedLaunch):
        footprints = entry.launch.variant.notes.footprints()
        saved = Versions(program, "save").before_launch(entry.launch, footprints)
    entry.repeat()
    for adjoint in adjoints.values():
        fields[adjoint].fill(0)
    for symbol, adjoint in pairs.items():
        fields[adjoint].elements.write(weights[symbol])
    for version in saved:
        version.give_back()
    entry.reverse()
    derivative = _product(program, {pairs[symbol]: move for symbol, move in moves.items()})

    def after(h: float) -> float:
        state.restore()
        for symbol, move in moves.items():
            elements = fields[symbol].elements
            elements.write(elements.read() + h * move)
        entry.repeat()
        return _product(program, weights)

    agrees = agree(derivative, [slope(after, step) for step in STEPS], rel, after(0.0))
    agrees = agrees or find_kink(after) is not None
    state.restore()
    entry.repeat()
    return agrees


def _adjoints(entry: Entry, program: Program) -> dict[str, str]:
    """The adjoints that the reverse of an entry adds to, by the names of the fields."""
    symbols = frozenset[str]() if entry.outer_adjoints is None else entry.outer_adjoints.symbols
    adjoints = {name: program.derivatives.adjoint_of(name, symbols) for name in program.fields}
    return {name: adjoint for name, adjoint in adjoints.items() if adjoint is not None}


def _product(program: Program, weights: Mapping[str, Array]) -> float:
    """The sum of some fields' elements, weighted."""
    return sum(
        float((program.fields[symbol].elements.read() * weight).sum())
        for symbol, weight in weights.items()
    )
