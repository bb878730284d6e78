"""The tape: launches in order, differentiated in reverse order."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from mlirad.ad.checkpoint.snapshot import Snapshot
from mlirad.ad.functions.custom_gradients import nothing
from mlirad.ad.functions.differences import check_loss_type, compare, fields_of, repeat
from mlirad.ad.tape.arrays import Arrays
from mlirad.ad.tape.carriers import Carriers
from mlirad.ad.tape.claims import Claims
from mlirad.ad.tape.entries import (
    Entry,
    HostCopy,
    HostWrite,
    Launch,
    Replaced,
    box_of,
    memory_of,
    touched_box,
)
from mlirad.ad.tape.lost import (
    warn_of_hidden,
    warn_of_read,
    warn_of_result,
    warn_of_unreached,
    warn_of_write,
)
from mlirad.ad.tape.places import caller
from mlirad.ad.tape.seeds import Adjoints, check_loss, check_seeds, fingerprint, ones_like
from mlirad.ad.tape.versions import Version, Versions, WayBack
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.lang.arguments import ArrayBuffer
from mlirad.lang.autodiff_mode import AutodiffMode
from mlirad.lang.field.field import Field
from mlirad.lang.kernel import Kernel, flat_values
from mlirad.lang.ndarray import Ndarray
from mlirad.pipeline.mode import (
    ANOMALY,
    ANOMALY_REVERSE,
    PRIMAL,
    REVERSE,
    VALIDATION,
    VALIDATION_ANOMALY,
    Mode,
)
from mlirad.runtime.explanation import Explanation, Row
from mlirad.runtime.footprints import Box
from mlirad.runtime.program import Program, program
from mlirad.runtime.variant import Derivative, Variant

RULES = ("save", "refuse")
_NO_DEBUG = (
    "Debug mode is disabled, autodiff valid check will not work. Please specify "
    "`ti.init(debug=True)` to "
    "enable the check."
)


class Tape:
    """Record the kernels launched in a `with` block; at its end, or by `grad()`, run their
    reverses.

    `loss` is a 0-D field (or an ndarray of one element) with a gradient. On entry it is set to 0
    and, with `clear_gradients`, the gradients of all fields and ndarrays are cleared, but for those
    that a tape of another thread used last: such a one is cleared when this tape uses it; those of
    torch's tensors add up, as in torch. Raises RuntimeError for a loss that cannot be
    differentiated.

    A tape records what the thread launches that entered it, and is left in that thread.
    Without a loss nothing is set to 0 and no reverse runs at the end: `grad` is given the outputs
    with their seeds.

    Values that reverses need and that later launches, the same one, or Python overwrite are kept
    (`rules="save"`); with `rules="refuse"` the launch raises TaichiRuntimeError or
    TaichiCompilationError, naming the read and the write.

    With `validation` and `ti.init(debug=True)` a launch raises TaichiAssertionError where it writes
    an element of a field with a gradient that was read since the tape was entered, which is
    Taichi's rule; without debug there is a warning. With `anomaly`, a launch or its reverse raises
    TaichiAssertionError at the first NaN or infinity that it writes, naming kernel, field, index
    and source line. With `grad_check`, a list of fields, their gradients are compared with finite
    differences; a loss that is not in f64, or a difference of more than a hundredth, raises
    TaichiAssertionError, what is no field with a gradient TaichiTypeError.
    """

    repeats_steps = (
        True  # whether checkpointed loops run steps again; else they are gone through as any loop
    )

    def __init__(
        self,
        loss: Any = None,
        clear_gradients: bool = True,
        validation: bool = False,
        grad_check: Any = None,
        rules: str = "save",
        anomaly: bool = False,
    ) -> None:
        if rules not in RULES:
            raise ValueError(f"rules of a tape are one of {', '.join(RULES)}, not {rules!r}")
        if loss is None and grad_check is not None:
            raise TaichiTypeError(
                "grad_check compares the gradients of a loss, and the tape has none"
            )
        self.validation, self.anomaly = validation, anomaly
        self.grad_check = None if grad_check is None else fields_of(grad_check, "grad_check")
        self.loss, self.clear_gradients, self.rules = loss, clear_gradients, rules
        self.entries: list[Entry] = []
        self.is_replacing = False  # inside a function with a gradient of its own
        self.hidden: dict[str, str] = {}
        self.entered = False
        self.closed_at = -1  # the program's count of changes when the recording ended
        self.is_recording = False
        self.is_broken_off = False  # an exception ended the recording, and what was kept is gone
        self.program: Program = program()
        self.arrays = Arrays(self.program)

    def __enter__(self) -> Tape:
        assert not self.entered, "Tape can be entered only once."
        self.program = program()
        if self.program.recorder is not None:
            raise TaichiRuntimeError("a tape is recording already: tapes cannot be nested")
        self.program.materialize()
        if self.loss is not None:
            check_loss(self.loss)
        if self.grad_check is not None:
            check_loss_type(self.loss)
        self.entered = True
        self.claims = Claims(self.program)
        if self.clear_gradients:
            self.claims.clear(self.program.gradients)
            self.claims.clear_arrays(self.program.arrays, Ndarray.clear_gradient)
        if self.program.hidden:
            hidden = [self.program.adjoints[symbol] for symbol in list(self.program.hidden)]
            self.claims.clear({name: self.program.gradients[name] for name in hidden})
        self.claims.use([self.loss.symbol] if isinstance(self.loss, Field) else [])
        self.claims.use_arrays([self.loss] if isinstance(self.loss, Ndarray) else [])
        if self.grad_check:
            self.start = Snapshot(self.program)
        if self.loss is not None:
            self.loss.fill(0)
        if self.validation:
            self._start_validation()
        self.versions, self.arrays = self._new_versions(), Arrays(self.program)
        self.carriers = Carriers(self.program)
        self.program.recorder, self.is_recording = self, True
        return self

    def _new_versions(self) -> Versions:
        return Versions(self.program, self.rules)

    def _start_validation(self) -> None:
        if not self.program.config.debug:
            warnings.warn(_NO_DEBUG, stacklevel=3)
        for allocation in self.program.own.checks.values():
            allocation.clear()

    @property
    def _primal_mode(self) -> Mode:
        if self.is_replacing:  # functions with a gradient of their own are not checked
            return PRIMAL
        if self.validates:
            return VALIDATION_ANOMALY if self.anomaly else VALIDATION
        return ANOMALY if self.anomaly else PRIMAL

    @property
    def _reverse_mode(self) -> Mode:
        return ANOMALY_REVERSE if self.anomaly else REVERSE

    @property
    def validates(self) -> bool:
        """Whether launches check Taichi's rule for accesses now."""
        return self.validation and self.program.config.debug and self.is_recording

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.program.own is not self.claims.own:
            raise TaichiRuntimeError("a tape is left in another thread than it was entered in")
        while self.program.recorder is not self:  # a loop that was left without its end
            self.program.recorder.close()
        self.program.recorder, self.is_recording = None, False
        self.closed_at = self.program.changes
        self.finish_write()
        if kind is not None:
            self.entries, self.versions, self.is_broken_off = [], self._new_versions(), True
            self.arrays = Arrays(self.program)
        if kind is None and self.loss is not None:
            warn_of_unreached(self)
            self.arrays.check_given()
            self.loss.grad.fill(1)
            with self.arrays.added_up():
                self._reverse([self.name_of(self.loss)])
            if self.grad_check:
                compare(
                    self.grad_check,
                    self.loss,
                    self.entries,
                    self.start,
                    lambda: repeat(self.entries),
                    1e-2,
                )

    def finish_write(self) -> None:
        """Keep what Python wrote last, for a program that is to be repeated."""
        if self.grad_check is not None and self.entries and isinstance(self.entries[-1], HostWrite):
            self.entries[-1].note_written()

    @property
    def calls(self) -> list[tuple[Any, tuple[Any, ...]]]:
        """What was recorded, with its arguments: kernels, and functions with a gradient of their
        own."""
        return [
            (e.kernel, tuple(e.values)) if isinstance(e, Launch) else (e.function, e.args)
            for e in self.entries
            if isinstance(e, Launch | Replaced)
        ]

    @property
    def modes(self) -> list[AutodiffMode]:
        """The mode of each of `calls` while it was recorded."""
        checked = self.validation and self.program.config.debug
        return [
            AutodiffMode.VALIDATION if checked and isinstance(kernel, Kernel) else AutodiffMode.NONE
            for kernel, _ in self.calls
        ]

    def launch(
        self, kernel: Kernel, variant: Variant, values: Sequence[Any], buffers: Sequence[Any]
    ) -> Any:
        """Launch a kernel, keeping what it overwrites of what reverses read; what it returns.

        Raises TaichiCompilationError where it cannot be differentiated.
        """
        self.finish_write()
        if self.is_replacing:
            self.claims.use_variant(variant)
            self.versions.note_buffers(buffers)
            found = self.run(variant, values, buffers)
            self.arrays.seen_by_call(buffers, kernel.__name__)
            return found
        found = None
        if buffers:
            self.claims.use_arrays(
                [buffer.owner for buffer in buffers if isinstance(buffer.owner, Ndarray)]
            )
            variant, buffers = self.arrays.with_gradients(variant, buffers)
        for piece in self.pieces(variant):
            found = self.record(kernel, piece, values, buffers)
        return found

    def pieces(self, variant: Variant) -> Sequence[Variant]:
        """What is launched, and differentiated, one after the other for a variant of a kernel."""
        if variant.gradient_version != self.program.gradient_version:
            self._look_at_gradients(variant)
        self.claims.use_variant(variant)
        return variant.parts() if self.rules == "save" else [variant]

    @in_turn
    def _look_at_gradients(self, variant: Variant) -> None:
        variant.refresh()
        self._give_gradients(variant)
        variant.gradient_version = self.program.gradient_version

    def record(
        self, kernel: Kernel, piece: Variant, values: Sequence[Any], buffers: Sequence[Any]
    ) -> Any:
        """Launch one of the pieces of a kernel, keeping what it overwrites of what reverses read;
        what it returns."""
        derivative = piece.derivative(self._reverse_mode)
        if buffers:
            return self._record_with_arrays(kernel, piece, values, buffers, derivative)
        saved = self.versions.before_launch(piece, values, ())
        found = self.run(piece, values, ())
        self.entries.append(Launch(kernel, piece, values, (), saved, derivative))
        self.versions.after_launch(piece, values, ())
        return found

    def _record_with_arrays(
        self,
        kernel: Kernel,
        piece: Variant,
        values: Sequence[Any],
        buffers: Sequence[ArrayBuffer],
        derivative: Derivative,
    ) -> Any:
        known = [self.arrays.know(buffer, kernel.__name__) for buffer in buffers]
        own, unseen, saved = self.arrays.look(piece, values, buffers, known, self.versions)
        self.entries += unseen
        saved += self.versions.before_launch(piece, values, own)
        found = self.run(piece, values, buffers)
        self.arrays.take(piece, values, buffers, known)
        given = [buffer.without_copy() for buffer in buffers]
        self.entries.append(Launch(kernel, piece, values, own, saved, derivative, given, known))
        self.versions.after_launch(piece, values, own)
        return found

    def run(self, piece: Variant, values: Sequence[Any], buffers: Sequence[Any]) -> Any:
        """Launch one of the pieces of a kernel without recording it; what it returns."""
        mode = self._primal_mode
        found = piece.launch(
            mode, flat_values(values, buffers, piece, reverse=False, tangents=mode.tangents)
        )
        for position, buffer in enumerate(buffers):
            if buffer.back is not None and position in piece.written_arrays():
                buffer.back()
        return found

    def again(self, actions: Sequence[tuple[Any, tuple[Any, ...]]]) -> list[Entry]:
        """Do recorded actions once more, as on a tape of their own; its entries."""
        outer = self.entries, self.versions
        self.entries, self.versions = [], self._new_versions()
        try:
            for action, arguments in actions:
                action.record(self, arguments)
            return self.entries
        finally:
            self.entries, self.versions = outer

    def replaced(
        self,
        function: Any,
        primal: Callable[..., Any],
        args: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        """Call a function with a gradient of its own (`primal` is what it decorates), and record
        only the call.

        Raises TaichiRuntimeError where it was given no gradient.
        """
        if self.is_replacing:
            return primal(*args, **keywords)
        if function.grad is None:
            raise TaichiRuntimeError(
                f"'{function.__name__}' is decorated with ti.ad.grad_replaced, but no "
                "ti.ad.grad_for gives its gradient"
            )
        self.finish_write()
        place = caller()
        if self.is_recording:
            self.arrays.check_given()
        self.entries += self.arrays.look_at_all(self.versions)
        kept = self.versions.before_call(place)
        self.is_replacing = True
        try:
            result = primal(*args, **keywords)
        finally:
            self.is_replacing = False
        self.arrays.take_all()
        if self.is_recording and self.rules != "refuse" and function.grad is not nothing:
            self.arrays.hold_given(function.__name__)
        saved = self.versions.after_call(kept, place, function.grad is not nothing)
        self.entries.append(Replaced(function, primal, args, keywords, saved))
        return result

    def _give_gradients(self, variant: Variant) -> None:
        """Give fields in which derivatives arrive, and which have no gradient, a hidden one
        (docs/gradients.md, 2)."""
        adjoints = self.program.adjoints
        while True:
            pieces = variant.parts() if self.rules == "save" else [variant]
            missing = {
                flow.target: flow.place
                for piece in pieces
                for flow in piece.footprints().flows.between
                if isinstance(flow.target, str)
                and flow.target not in adjoints
                and flow.target in self.program.give_derivative
                and any(s in adjoints or variant.argument_needs_grad(s) for s in flow.sources)
            }
            if not missing:
                return
            self._hide(missing)
            variant.refresh()

    @in_turn
    def _hide(self, missing: dict[str, str]) -> None:
        """Give fields a hidden gradient, for the places that pass derivatives to them."""
        for symbol in missing:
            self.program.give_derivative[symbol]("grad")
        self.hidden.update(missing)
        self.program.hidden.update(missing)
        self.program.materialize()
        for symbol in missing:
            self.program.gradients[self.program.adjoints[symbol]].fill(0)

    def name_of(self, target: Any) -> Any:
        """A field or an ndarray as flows name it."""
        return target.symbol if isinstance(target, Field) else self.arrays.known.get(target.address)

    def host_read(self, target: Any) -> None:
        """Python reads a field or an ndarray."""
        self.carriers.follow(self.entries)
        warn_of_read(self, self.name_of(target))

    def result(self, kernel: Kernel, variant: Variant, buffers: Sequence[ArrayBuffer]) -> None:
        """A launch returns something to Python."""
        if not self.is_replacing:
            warn_of_result(self, kernel, variant, buffers)

    def host_write(self, target: Any, index: tuple[int, ...] | None) -> None:
        """Keep what Python is about to write: an element (`index` into the view of its memory), or
        everything."""
        self.finish_write()
        if self.is_replacing:
            return
        key, view, adjoint = memory_of(target)
        hidden = self.arrays.hidden_of(target) if isinstance(target, Ndarray) else None
        adjoint = adjoint if hidden is None else hidden.values
        box, touched = box_of(view, index), touched_box(target, index)
        place = caller()
        self.warn_of_write(target, touched, place)
        saved = self.versions.before_write(key, view, touched, place)
        self.entries.append(HostWrite(view, [] if adjoint is None else [adjoint], box, saved))

    def warn_of_write(self, target: Any, box: Box, place: str) -> None:
        """Python writes to a box of a field or an ndarray."""
        if self.is_recording:  # else a step of a checkpointed loop is done again
            self.carriers.follow(self.entries)
            warn_of_write(self, self.name_of(target), box, place)

    def host_copy(self, target: Field, source: Field) -> None:
        """Keep what `target.copy_from(source)` is about to overwrite, and note where its derivative
        goes."""
        if self.is_replacing:
            return
        carries = self.note_copy(target, source)
        self.host_write(target, None)
        if carries:
            self.entries[-1] = HostCopy(target, source, caller(), self.entries[-1].saved)

    def note_copy(self, target: Field, source: Field) -> bool:
        """Whether a copy carries a derivative, for which the target then has a gradient."""
        adjoints = self.program.adjoints
        carries = target.dtype.is_float and source.symbol in adjoints
        if carries and target.symbol not in adjoints:
            self._hide({target.symbol: caller()})
        self.claims.use([target.symbol, source.symbol])
        return carries

    def explain(self) -> Explanation:
        """What the tape keeps, with its bytes: a row for each array a launch overwrites and a
        reverse reads, and for each of the state of a checkpointed loop, its snapshots."""
        rows: dict[tuple[str, str, str, str], int] = {}
        for entry in self.entries:
            for version in entry.saved:
                verdict = "redone" if version.redone else "kept"
                key = (str(version.key), version.read, version.written, verdict)
                rows[key] = rows.get(key, 0) + version.copy.nbytes
        others = [row for entry in self.entries for row in entry.rows()]
        return Explanation([*(Row(*key, size) for key, size in rows.items()), *others])

    def grad(
        self, seeds: Mapping[Any, Any] | None = None, clear_gradients: bool | None = None
    ) -> None:
        """Run the reverses of what was recorded, last first; on a closed tape, as often as is
        wanted.

        `seeds` gives for each output, a field or ndarray with a gradient, its adjoint: an array of
        its shape, or a number for one of 0 dimensions, where None stands for 1. Without `seeds` the
        loss is seeded with 1; a tape without a loss goes on from the adjoints that lie in the
        gradient fields. `clear_gradients` (by default as the tape has it) says whether gradients,
        those of recorded ndarrays too, are set to 0 before, or added to: each is then the sum of
        what it was and of what these seeds give. Those of torch's tensors are always added to.

        Afterwards, and where a reverse raises an error, every primal field holds again what the
        forward program left there. Raises TaichiTypeError for seeds of another shape or type and
        for outputs without a gradient, TaichiRuntimeError where memory has changed since the tape
        was closed.
        """
        assert self.entered, "Before evaluating gradients tape must be entered."
        if self.is_broken_off:
            raise TaichiRuntimeError(
                "an exception ended the block of this tape: what it had kept is gone"
            )
        if self._has_changed():
            raise TaichiRuntimeError(
                "fields were written, or kernels launched, after the tape was closed: its gradient "
                "would not belong to what it recorded"
            )
        self.arrays.check_given()
        before = self._fingerprint()
        self._seed_and_reverse(
            seeds, self.clear_gradients if clear_gradients is None else clear_gradients
        )
        if self._has_changed() and before is not None and before == self._fingerprint():
            self.closed_at = (
                self.program.changes
            )  # given gradients launched kernels, which wrote to gradients only

    def _has_changed(self) -> bool:
        """Whether the thread that recorded, or the one that asks, changed memory after the tape was
        closed."""
        return max(self.claims.own.changed, self.program.own.changed) > self.closed_at

    def _fingerprint(self) -> list[int] | None:
        """What tells whether gradients that were given for functions wrote to primal memory; None
        without any."""
        calls = any(entry.calls_gradient() for entry in self.entries)
        return fingerprint(self.program, self.entries) if calls else None

    def _seed_and_reverse(self, seeds: Mapping[Any, Any] | None, clear_gradients: bool) -> None:
        if seeds is None and self.loss is None:
            self._reverse(
                [
                    symbol
                    for symbol, name in list(self.program.adjoints.items())
                    if self.program.fields[name].view.any()
                ]
            )
            return
        given = (
            [(self.loss, ones_like(self.loss))]
            if seeds is None
            else check_seeds(seeds, self.program)
        )
        outputs = [output for output, _ in given]
        self.claims.use([output.symbol for output in outputs if isinstance(output, Field)])
        adjoints = Adjoints(self.program, self.entries, outputs, self.claims)
        before = None if clear_gradients else adjoints.copies()
        adjoints.clear()
        for output, seed in given:
            output.grad.from_numpy(seed)
        with self.arrays.added_up():
            self._reverse([self.name_of(output) for output in outputs])
        if before is not None:
            adjoints.add(before)

    def _reverse(self, outputs: Sequence[Any]) -> None:
        """Run the reverses from the adjoints that lie in the gradient fields; `outputs` are those
        seeded."""
        warn_of_hidden(self, outputs)
        self.arrays.clear_hidden()
        way = WayBack((version for entry in self.entries for version in entry.saved), self.program)
        try:
            self.sweep(self.entries, way.give_back)
        finally:
            way.end()

    def sweep(
        self, entries: Sequence[Entry], give_back: Callable[[Version], None] = Version.give_back
    ) -> None:
        """Run reverses, last first, with memory as each needs it: as versions of it are given
        back."""
        for entry in reversed(entries):
            for version in entry.saved:
                if version.redone:
                    give_back(version)
            entry.reverse()
            for version in entry.saved:
                if not version.redone:
                    give_back(version)


def clear_all_gradients() -> None:
    """Set the gradients of every field and ndarray to 0."""
    current = program()
    current.materialize()
    for memory in list(current.gradients.values()):
        memory.fill(0)
    for array in current.arrays:
        array.clear_gradient()
