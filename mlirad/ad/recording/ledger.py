"""The notes of a tape: entries, what reverses need again, arrays, what carries derivatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial

from mlirad.ad.recording.array_gradients import ArrayGradients
from mlirad.ad.recording.array_table import ArrayTable, FlowArray
from mlirad.ad.recording.carriers import Carriers
from mlirad.ad.recording.claims import Claims
from mlirad.ad.recording.entries import Entry, HostWrite
from mlirad.ad.recording.keeper import Keep, KeepAll
from mlirad.ad.recording.known_states import begin_tape, known_states
from mlirad.ad.recording.order import FirstOrder, Order
from mlirad.ad.recording.outer_adjoints import OuterAdjoints
from mlirad.ad.recording.unseen_writes import UnseenWrites
from mlirad.ad.recording.versions import Versions
from mlirad.dialect.turn import in_turn
from mlirad.lang.arguments.array_buffer import ArrayBuffer, array_buffer
from mlirad.lang.callers import place_in_program
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import Target
from mlirad.runtime.derivative_kind import ADJOINT
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.program import Program

_NO_PIECES: tuple[int, Sequence[Variant]] = (-1, ())
_LOCAL = "a local"  # what messages call memory by which the parts of a kernel share one


class Arrays:
    """The array arguments of a tape: which there are, their gradients, and what Python writes to
    them. Many tapes have none, and an empty `table`."""

    def __init__(self, program: Program, claims: Claims) -> None:
        self.table = ArrayTable()
        self._program, self._claims = program, claims

    @cached_property
    def gradients(self) -> ArrayGradients:
        """The gradients of arrays."""
        return ArrayGradients(self._program, self.table)

    @cached_property
    def unseen(self) -> UnseenWrites:
        """The writes from Python."""
        return UnseenWrites(self.table)

    @cached_property
    def locals(self) -> SharedLocals:
        """The memory that parts of a kernel share."""
        return SharedLocals(self._claims)


class SharedLocals:
    """The memory by which the parts of a kernel share locals: of each kernel the same at all its
    launches, and versions of it are kept like those of other arrays."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._by_kernel: dict[Variant, list[ArrayBuffer]] = {}  # by its first part

    def behind(
        self, buffers: Sequence[ArrayBuffer], pieces: Sequence[Variant]
    ) -> Sequence[ArrayBuffer]:
        """The arrays that parts of a kernel are passed, where these are those of its launch."""
        first = pieces[0]
        if not first.kernel.shared:
            return buffers
        if first not in self._by_kernel:
            ndarrays = [
                Ndarray(argument.dtype, (), argument.element_shape, argument.needs_grad)
                for argument in first.kernel.arrays[-first.kernel.shared :]
            ]
            self._claims.use_arrays(ndarrays)
            self._by_kernel[first] = [array_buffer(array, _LOCAL, True) for array in ndarrays]
        return [*buffers, *self._by_kernel[first]]


class Ledger:
    """The notes since a tape was entered."""

    entries: list[Entry]
    needs: Versions  # without what known launches need
    is_open = False  # whether the tape records; else steps of a loop are done again
    validates = False  # whether launches check Taichi's rule for accesses now
    repeats_known = False  # whether nothing but `needs` and the order follows launches

    def __init__(self, program: Program, rules: str, order: Order, keep: Keep = KeepAll) -> None:
        self.program, self.rules, self.order, self._keep = program, rules, order, keep
        self.claims = Claims(program)
        self.forget()
        self.hidden: dict[str, str] = {}  # fields that were given a gradient, and why: a place
        # with the version of derivatives for which these are the pieces
        self._known_pieces: dict[Variant, tuple[int, Sequence[Variant]]] = {}

    @cached_property
    def carriers(self) -> Carriers:
        """The arrays that hold values which carry a derivative."""
        return Carriers(self.program)

    @property
    def versions(self) -> Versions:
        """The memory that reverses of all entries need."""
        if self.needs.later:
            self.needs.catch_up()
        return self.needs

    def begin(self, *, validates: bool) -> None:
        """Record from now on."""
        self.is_open, self.validates = True, validates
        self.repeats_known = not (validates or self.keeper.follows_launches)
        is_checked = isinstance(self.order, FirstOrder) and self.order.anomaly
        if self.repeats_known and self.rules == "save" and not is_checked:
            begin_tape(self.program, self.order.reverse_mode)
            find = partial(known_states, self.program, self.order.reverse_mode)
            self.needs.position.use(find)

    def forget(self) -> None:
        """Let go of everything."""
        self.arrays, self.outer_adjoints = (
            Arrays(self.program, self.claims),
            OuterAdjoints(self.program),
        )
        self.keeper = self._keep(self.program, self.rules, self.order, self.arrays.table)
        self.entries, self.needs = [], self.keeper.versions()

    def add(self, entry: Entry) -> None:
        """Note what has been done."""
        self.entries.append(entry)
        self.keeper.add(entry)

    def take_back(self) -> Entry:
        """Note no more what has been done last."""
        self.keeper.take_back()
        return self.entries.pop()

    @contextmanager
    def aside(self) -> Iterator[list[Entry]]:
        """Note entries elsewhere, as on a tape of their own."""
        outer = self.entries, self.versions
        self.entries, self.needs = [], self.keeper.versions()
        try:
            yield self.entries
        finally:
            self.entries, self.needs = outer

    def name_of(self, target: Target) -> FlowArray:
        """A field or an ndarray as flows name it."""
        return target.symbol if isinstance(target, Field) else self.arrays.table.of(target)

    def note_written(self) -> None:
        """Keep what Python wrote last, for a program that is to be repeated."""
        last = self.entries[-1] if self.entries else None
        if isinstance(last, HostWrite):
            last.note_written()

    def clear(self, loss: Target | None, *, all_gradients: bool) -> None:
        """Set gradients to 0, but for those that a tape of another thread used last: all, or
        hidden ones only. Those of the loss are used."""
        current, claims = self.program, self.claims
        self.outer_adjoints.begin(claims.may_clear, all_gradients=all_gradients)
        if all_gradients:
            claims.clear(current.derivatives.gradients)
            claims.clear_arrays(current.derivatives.arrays, Ndarray.clear_gradient)
        if current.derivatives.hidden:
            hidden = [
                current.derivatives.adjoints[symbol] for symbol in list(current.derivatives.hidden)
            ]
            claims.clear({name: current.derivatives.gradients[name] for name in hidden})
        if isinstance(loss, Field):
            claims.use([loss.symbol])
        elif loss is not None:
            claims.use_arrays([loss])

    # Fields in which derivatives arrive, and which have no gradient, get a hidden one.

    def pieces(self, launch: Launch) -> list[Launch]:
        """Return what is launched, and differentiated, one after the other for a launch of a
        kernel."""
        variant, derivatives = launch.variant, self.program.derivatives
        version, pieces = self._known_pieces.get(variant, _NO_PIECES)
        if version != derivatives.version:
            version = derivatives.version
            pieces = self._find_pieces(variant)
            self._known_pieces[variant] = version, pieces
        self.order.prepare_launches(pieces)
        if pieces[0] is variant:
            return [launch]
        launch = launch.with_arrays(self.arrays.locals.behind(launch.arrays, pieces))
        return [launch.with_variant(piece) for piece in pieces]

    def _find_pieces(self, variant: Variant) -> Sequence[Variant]:
        if variant.gradient_version != self.program.derivatives.gradient_version:
            self._look_at_gradients(variant)
        self.claims.use(variant.kernel.fields)
        return self._pieces(variant)

    def _pieces(self, variant: Variant) -> Sequence[Variant]:
        return variant.pieces() if self.rules == "save" else [variant]

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
            for piece in self._pieces(variant)
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
        """Return whether a copy carries a derivative, for which the target then has a gradient."""
        adjoints = self.program.derivatives.adjoints
        carries = target.dtype.is_float and source.symbol in adjoints
        if carries and target.symbol not in adjoints:
            self._hide({target.symbol: place})
        self.claims.use([target.symbol, source.symbol])
        return carries
