"""What a tape has noted: entries, what reverses need again, arrays, what carries derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from mlirad.ad.recording.apart import Apart
from mlirad.ad.recording.arrays import Arrays
from mlirad.ad.recording.call import Call
from mlirad.ad.recording.carriers import Carriers
from mlirad.ad.recording.claims import Claims
from mlirad.ad.recording.entries import Aside, Entry, HostWrite, Replaced, rows_of
from mlirad.ad.recording.known_arrays import FlowArray
from mlirad.ad.recording.order import Order
from mlirad.ad.recording.versions import Versions
from mlirad.dialect.turn import in_turn
from mlirad.lang.callers import place_in_program
from mlirad.lang.field.field import Field
from mlirad.lang.launch import Launch
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import Target
from mlirad.runtime.codes import Derivative
from mlirad.runtime.derivative_kind import ADJOINT
from mlirad.runtime.explanation import Explanation
from mlirad.runtime.program import Program
from mlirad.runtime.variant import Variant

if TYPE_CHECKING:
    from mlirad.ad.budget.budget import Budget


def _budget(program: Program, memory: int | float, order: Order) -> Budget:
    from mlirad.ad.budget.budget import Budget  # few tapes have one

    return Budget(program, memory, order)


def _counted(budget: Budget, program: Program, rules: str, order: Order) -> Versions:
    from mlirad.ad.budget.counted import CountedVersions  # few tapes have a budget

    return CountedVersions(program, rules, budget.count, order.tangents_beside)


class Ledger:
    """What was recorded since a tape was entered."""

    def __init__(
        self, program: Program, rules: str, order: Order, memory: int | float | None = None
    ) -> None:
        self.program, self.rules, self.order = program, rules, order
        self.entries: list[Entry] = []
        self.budget = None if memory is None else _budget(program, memory, order)
        self.versions = self._versions()
        self.claims = Claims(program)
        self.arrays = Arrays(program, self.claims)
        self.carriers = Carriers(program)
        self.apart = Apart(program)
        self.hidden: dict[str, str] = {}  # fields that were given a gradient, and why: a place

    def _versions(self) -> Versions:
        if self.budget is not None:
            return _counted(self.budget, self.program, self.rules, self.order)
        return Versions(self.program, self.rules, self.order.beside)

    def forget(self) -> None:
        """Let go of everything."""
        if self.budget is not None:
            self.budget = _budget(self.program, self.budget.memory, self.order)
        self.entries, self.versions = [], self._versions()
        self.arrays, self.apart = Arrays(self.program, self.claims), Apart(self.program)

    def add(self, entry: Entry) -> None:
        """Note what has been done."""
        self.entries.append(entry)
        if self.budget is not None:
            self.budget.attach(entry, entry.reverse)

    def take_back(self) -> Entry:
        """Note no more what has been done last."""
        if self.budget is not None:
            self.budget.detach()
        return self.entries.pop()

    def plan(self, launch: Launch, derivative: Derivative) -> None:
        """A launch is about to be recorded: within a budget, keep what it overwrites."""
        if self.budget is not None:
            mode = self.order.primal_mode(launch.variant, is_replacing=False, validates=False)
            self.budget.launch(launch, mode, derivative.footprints)

    def explain(self) -> Explanation:
        """What is kept."""
        if self.budget is not None:
            return self.budget.explain()
        return Explanation(rows_of(self.entries))

    def hold(self, launch: Launch) -> Launch:
        """A launch as it can be done again: within a budget, on copies of arrays that are not
        ours. Raises TaichiRuntimeError for arrays that Python has changed."""
        if self.budget is None or not launch.arrays:
            return launch
        return self.arrays.held.hold(launch)

    def take(self, launch: Launch) -> None:
        """A launch is done: within a budget, copy what it wrote to arrays that are not ours."""
        if self.budget is not None and launch.arrays:
            self.arrays.held.take(launch)

    @contextmanager
    def aside(self) -> Iterator[list[Entry]]:
        """Note entries elsewhere, as on a tape of their own."""
        outer = self.entries, self.versions
        self.entries, self.versions = [], self._versions()
        try:
            yield self.entries
        finally:
            self.entries, self.versions = outer

    def name_of(self, target: Target) -> FlowArray:
        """A field or an ndarray as flows name it."""
        return target.symbol if isinstance(target, Field) else self.arrays.known.of(target)

    def note_written(self) -> None:
        """Keep what Python wrote last, for a program that is to be repeated."""
        last = self.entries[-1] if self.entries else None
        if isinstance(last, HostWrite):
            last.note_written()

    def clear(self, loss: Target | None, *, all_gradients: bool) -> None:
        """Set gradients to 0, but for those that a tape of another thread used last: all, or
        hidden ones only. Those of the loss are used."""
        current, claims = self.program, self.claims
        self.apart.begin(claims.may_clear, all_gradients=all_gradients)
        if all_gradients:
            claims.clear(current.derivatives.gradients)
            claims.clear_arrays(current.derivatives.arrays, Ndarray.clear_gradient)
        if current.derivatives.hidden:
            hidden = [
                current.derivatives.adjoints[symbol] for symbol in list(current.derivatives.hidden)
            ]
            claims.clear({name: current.derivatives.gradients[name] for name in hidden})
        claims.use([loss.symbol] if isinstance(loss, Field) else [])
        claims.use_arrays([loss] if isinstance(loss, Ndarray) else [])

    @contextmanager
    def calling(self, entry: Replaced | Aside, place: str, *, is_recording: bool) -> Iterator[Call]:
        """Follow what it overwrites of what earlier reverses need, and note what its gradient may
        read."""
        unseen, call = self.arrays.unseen, Call(self.versions, place, entry.saved, self.budget)
        call.name = str(entry) if isinstance(entry, Replaced) else None
        if is_recording:
            unseen.check_given()
        if self.budget is not None:
            self.arrays.held.check_all(str(entry))
        changed = unseen.look_at_all(self.versions)
        self.entries += [*changed, entry]
        try:
            yield call
            entry.is_done = True
        finally:
            entry.saved[:0] = unseen.take_all(self.versions)
            if self.budget is not None:
                self.budget.call(call.touched() if isinstance(entry, Replaced) else ())
                self.budget.attach(entry, _reverse_of_call(self, entry))
        # else what it reads is not known, so every later write would be refused
        if self.rules != "refuse" and isinstance(entry, Replaced):
            if is_recording:
                unseen.hold_given(entry.function.__name__)
            call.expect_gradient()

    # Fields in which derivatives arrive, and which have no gradient, get a hidden one.

    def parts(self, launch: Launch) -> list[Launch]:
        """What is launched, and differentiated, one after the other for a launch of a kernel."""
        variant = launch.variant
        if variant.gradient_version != self.program.derivatives.gradient_version:
            self._look_at_gradients(variant)
        self.claims.use_variant(variant)
        parts = self._parts(variant)
        self.order.prepare_launches(parts)
        if parts[0] is variant:
            return [launch]
        launch = launch.on(self.arrays.locals.behind(launch.arrays, parts))
        return [launch.of(part) for part in parts]

    def _parts(self, variant: Variant) -> Sequence[Variant]:
        return variant.parts() if self.rules == "save" else [variant]

    @in_turn
    def _look_at_gradients(self, variant: Variant) -> None:
        variant.refresh()
        while missing := self._without_gradient(variant):
            self._hide(missing)
            variant.refresh()
        variant.gradient_version = self.program.derivatives.gradient_version

    def _without_gradient(self, variant: Variant) -> dict[str, str]:
        """The fields of a kernel to which derivatives pass, and which have no gradient, with the
        place."""
        adjoints = self.program.derivatives.adjoints
        return {
            flow.target: place_in_program(flow.place)
            for piece in self._parts(variant)
            for flow in piece.notes.footprints().flows.between
            if isinstance(flow.target, str)
            and flow.target not in adjoints
            and flow.target in self.program.derivatives.give
            and any(s in adjoints or piece.argument_needs_grad(s) for s in flow.sources)
        }

    @in_turn
    def _hide(self, missing: dict[str, str]) -> None:
        """Give fields a hidden gradient, for the places that pass derivatives to them."""
        for symbol in missing:
            self.program.derivatives.give[symbol](ADJOINT)
        self.hidden.update(missing)
        self.program.derivatives.hidden.update(missing)
        self.program.trees.materialize()
        for symbol in missing:
            self.program.derivatives.gradients[self.program.derivatives.adjoints[symbol]].fill(0)

    def give_gradients(self, symbols: Sequence[str], place: str) -> None:
        """Give fields among which a derivative passes a hidden gradient, where they have none."""
        adjoints = self.program.derivatives.adjoints
        missing = {symbol: place for symbol in symbols if symbol not in adjoints}
        if missing:
            self._hide(missing)
        self.claims.use(symbols)

    def note_copy(self, target: Field, source: Field, place: str) -> bool:
        """Whether a copy carries a derivative, for which the target then has a gradient."""
        adjoints = self.program.derivatives.adjoints
        carries = target.dtype.is_float and source.symbol in adjoints
        if carries and target.symbol not in adjoints:
            self._hide({target.symbol: place})
        self.claims.use([target.symbol, source.symbol])
        return carries


def _reverse_of_call(ledger: Ledger, entry: Replaced | Aside) -> Callable[[], None]:
    """Within a budget: with the arrays of Python's, on which gradients that are given run, as they
    were."""
    if isinstance(entry, Aside):
        return entry.reverse
    held, budget, given = ledger.arrays.held, ledger.budget, ledger.arrays.unseen.called()
    assert budget is not None
    checked = partial(budget.run_given, entry.reverse, str(entry))
    return partial(held.lending, given, checked)
