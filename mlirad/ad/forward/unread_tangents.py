"""Tangents that nobody reads: of a loss, and of what enters it linearly.

Second derivatives need the tangents of what launches write only where a later launch passes them
on, or a reverse reads them. That is known when a program has run; then such launches are remembered
by their kernels, and run without tangents the next time. Where they were wanted after all, the
program has to be run once more.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mlirad.pipeline.mode import Mode
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.program import Program


class Passing(msgspec.Struct, frozen=True):
    """One thing that passes tangents on: fields whose tangents its reverse reads, those that it
    reads, and those that it sets."""

    needed: frozenset[str]
    sources: frozenset[str]
    written: frozenset[str]
    variant: Variant | None = None  # that was launched


class UnreadTangents:
    """The tangents that one run of a program computes and reads."""

    def __init__(self, program: Program, reverse_mode: Mode) -> None:
        self._program, self._reverse_mode = program, reverse_mode
        self._run: list[Variant | Passing] = []
        self._without: set[Variant] = set()  # launched without tangents
        self._with: set[Variant] = set()  # launched with them, which is looked up once

    def may_miss(self, variant: Variant) -> bool:
        """Return whether a launch, which is noted, may do without tangents."""
        self._run.append(variant)
        if variant in self._with:
            return False
        if self._program.derivatives.read_tangents.get(variant, True) or variant.array_positions:
            self._with.add(variant)
            return False
        self._without.add(variant)
        return True

    def copy(self, target: str, source: str) -> None:
        """A field is copied to another with its tangents."""
        nothing = frozenset[str]()
        self._run.append(Passing(nothing, frozenset([source]), frozenset([target])))

    def transfer(self, sent: Sequence[str], reached: Sequence[str]) -> None:
        """Fields are transferred with their tangents, perhaps to and from other processes: these
        read what is sent though nothing here may."""
        self._run.append(Passing(frozenset(sent), frozenset(sent), frozenset(reached)))

    def settle(self) -> bool:
        """The program has run: whether all tangents that are read were computed. Remember who can
        do without."""
        variants = {step for step in self._run if isinstance(step, Variant)}
        passings = {step: self._passing(step) for step in variants}
        run = [passings[step] if isinstance(step, Variant) else step for step in self._run]
        holds = self._holds(run)
        read = self._program.derivatives.read_tangents
        if not holds:
            read.update(dict.fromkeys(self._without, True))
        else:
            needed_variants = _read_variants(run)
            for variant in passings:
                read[variant] = read.get(variant, False) or variant in needed_variants
        return holds

    def _holds(self, run: list[Passing]) -> bool:
        missing: set[str] = set()
        for step in run:
            is_without = step.variant in self._without
            if is_without or not missing.isdisjoint(step.sources):
                missing |= step.written
            if not is_without and not missing.isdisjoint(step.sources) and step.variant is not None:
                return False
            if not missing.isdisjoint(step.needed):
                return False
        return True

    def _passing(self, variant: Variant) -> Passing:
        duals = self._program.derivatives.duals
        reached = variant.codes.reached(self._reverse_mode)
        footprints = variant.notes.footprints()
        return Passing(
            frozenset(
                symbol
                for symbol in variant.kernel.fields
                if not reached.isdisjoint(duals.get(symbol, ()))
            ),
            frozenset(s for flow in footprints.flows.between for s in flow.sources if s in duals),
            frozenset(access.array for access in footprints.written if access.array in duals),
            variant,
        )


def _read_variants(run: list[Passing]) -> set[Variant]:
    """The launches of which a later one reads tangents, or a reverse."""
    needed_variants: set[Variant] = set()
    live: set[str] = set()
    for step in reversed(run):
        live |= step.needed
        if not live.isdisjoint(step.written):
            live |= step.sources
            if step.variant is not None:
                needed_variants.add(step.variant)
    return needed_variants
