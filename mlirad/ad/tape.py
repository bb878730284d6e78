"""The tape: launches in order, differentiated in reverse order."""
from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from mlirad.ad.custom_gradients import nothing
from mlirad.ad.differences import check_loss_type, compare, fields_of, repeat
from mlirad.ad.entries import Entry, HostCopy, HostWrite, Launch, Replaced, memory_of
from mlirad.ad.snapshot import Snapshot
from mlirad.ad.versions import Version, Versions
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.autodiff_mode import AutodiffMode
from mlirad.lang.field import Field
from mlirad.lang.kernel import Kernel, flat_values
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.explanation import Explanation, Row
from mlirad.runtime.footprints import Box
from mlirad.runtime.program import Program, program
from mlirad.runtime.variant import Variant

RULES = ("save", "refuse")
_NO_DEBUG = ("Debug mode is disabled, autodiff valid check will not work. Please specify `ti.init(debug=True)` to "
             "enable the check.")


class Tape:
    """Record the kernels launched in a `with` block; at its end, or by `grad()`, run their reverses.

    `loss` is a 0-D field (or an ndarray of one element) with a gradient. On entry it is set to 0 and, with
    `clear_gradients`, every gradient field is cleared. Raises RuntimeError for a loss that cannot be differentiated.

    Values that reverses need and that later launches, or the same one, overwrite are kept (`rules="save"`); with
    `rules="refuse"` the launch raises TaichiRuntimeError or TaichiCompilationError, naming the read and the write.

    With `validation` and `ti.init(debug=True)` a launch raises TaichiAssertionError where it writes an element of a
    field with a gradient that was read since the tape was entered, which is Taichi's rule; without debug there is a
    warning. With `anomaly`, a launch or its reverse raises TaichiAssertionError at the first NaN or infinity that it
    writes, naming kernel, field, index and source line. With `grad_check`, a list of fields, their gradients are
    compared with finite differences; a loss that is not in f64, or a difference of more than a hundredth, raises
    TaichiAssertionError, what is no field with a gradient TaichiTypeError.
    """

    def __init__(self, loss: Any = None, clear_gradients: bool = True, validation: bool = False,
                 grad_check: Any = None, rules: str = "save", anomaly: bool = False) -> None:
        if rules not in RULES:
            raise ValueError(f"rules of a tape are one of {', '.join(RULES)}, not {rules!r}")
        if validation and anomaly:
            raise ValueError("a tape looks for broken rules (validation=True) or for NaNs (anomaly=True), not for both")
        self.validation, self.anomaly = validation, anomaly
        self.grad_check = None if grad_check is None else fields_of(grad_check, "grad_check")
        self.loss, self.clear_gradients, self.rules = loss, clear_gradients, rules
        self.entries: list[Entry] = []
        self.is_replacing = False  # inside a function with a gradient of its own
        self.hidden: dict[str, str] = {}
        self.entered = False
        self.closed_at = -1  # the program's count of changes when the recording ended
        self.program: Program = program()

    def __enter__(self) -> Tape:
        assert not self.entered, "Tape can be entered only once."
        self.program = program()
        if self.program.recorder is not None:
            raise TaichiRuntimeError("a tape is recording already: tapes cannot be nested")
        self.program.materialize()
        _check_loss(self.loss)
        if self.grad_check is not None:
            check_loss_type(self.loss)
        self.entered = True
        if self.clear_gradients:
            clear_all_gradients()
        for symbol in self.program.hidden:
            self.program.gradients[self.program.adjoints[symbol]].fill(0)
        if self.grad_check:
            self.start = Snapshot(self.program)
        self.loss.fill(0)
        if self.validation:
            self._start_validation()
        self.versions = Versions(self.program, self.rules)
        self.program.recorder = self
        return self

    def _start_validation(self) -> None:
        if not self.program.config.debug:
            warnings.warn(_NO_DEBUG, stacklevel=3)
        for allocation in self.program.checks.values():
            allocation.data.fill(0)

    @property
    def _primal_mode(self) -> str:
        if self.validates:
            return "validation"
        return "anomaly" if self.anomaly else "primal"

    @property
    def validates(self) -> bool:
        """Whether launches check Taichi's rule for accesses now."""
        return self.validation and self.program.config.debug and self.program.recorder is self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.program.recorder = None
        self.closed_at = self.program.changes
        self._note_written()
        if kind is None:
            self.grad()
            if self.grad_check:
                compare(self.grad_check, self.loss, self.entries, self.start, lambda: repeat(self.entries), 1e-2)

    def _note_written(self) -> None:
        """Keep what Python wrote last, for a program that is to be repeated."""
        if self.grad_check is not None and self.entries and isinstance(self.entries[-1], HostWrite):
            self.entries[-1].note_written()

    @property
    def calls(self) -> list[tuple[Any, tuple[Any, ...]]]:
        """What was recorded, with its arguments: kernels, and functions with a gradient of their own."""
        return [(e.kernel, tuple(e.values)) if isinstance(e, Launch) else (e.function, e.args)
                for e in self.entries if isinstance(e, Launch | Replaced)]

    @property
    def modes(self) -> list[AutodiffMode]:
        """The mode of each of `calls` while it was recorded."""
        checked = self.validation and self.program.config.debug
        return [AutodiffMode.VALIDATION if checked and isinstance(kernel, Kernel) else AutodiffMode.NONE
                for kernel, _ in self.calls]

    def launch(self, kernel: Kernel, variant: Variant, values: Sequence[Any], buffers: Sequence[Any]) -> None:
        """Launch a kernel, keeping what it overwrites of what reverses read.

        Raises TaichiCompilationError where it cannot be differentiated.
        """
        self._note_written()
        if self.is_replacing:
            self.versions.note_buffers(buffers)
            variant.launch("primal", flat_values(values, buffers, variant, reverse=False))
            return
        if variant.gradient_version != self.program.gradient_version:
            variant.refresh()
            self._give_gradients(variant)
            variant.gradient_version = self.program.gradient_version
        for piece in variant.parts() if self.rules == "save" else [variant]:
            derivative = piece.derivative("anomaly-reverse" if self.anomaly else "reverse")
            saved = self.versions.before_launch(piece, values, buffers)
            piece.launch(self._primal_mode, flat_values(values, buffers, piece, reverse=False))
            self.entries.append(Launch(kernel, piece, values, buffers, saved, derivative))
            self.versions.after_launch(piece, values, buffers)

    def replaced(self, function: Any, primal: Callable[..., Any], args: tuple[Any, ...],
                 keywords: dict[str, Any]) -> Any:
        """Call a function with a gradient of its own (`primal` is what it decorates), and record only the call.

        Raises TaichiRuntimeError where it was given no gradient.
        """
        if self.is_replacing:
            return primal(*args, **keywords)
        if function.grad is None:
            raise TaichiRuntimeError(f"'{function.__name__}' is decorated with ti.ad.grad_replaced, but no "
                                     "ti.ad.grad_for gives its gradient")
        self._note_written()
        place = _caller()
        kept = self.versions.before_call(place)
        self.is_replacing = True
        try:
            result = primal(*args, **keywords)
        finally:
            self.is_replacing = False
        saved = self.versions.after_call(kept, place, function.grad is not nothing)
        self.entries.append(Replaced(function, primal, args, keywords, saved))
        return result

    def _give_gradients(self, variant: Variant) -> None:
        """Give fields in which derivatives arrive, and which have no gradient, a hidden one (AUTODIFF.md §3)."""
        adjoints = self.program.adjoints
        while True:
            pieces = variant.parts() if self.rules == "save" else [variant]
            missing = {flow.target: flow.place for piece in pieces for flow in piece.footprints().flows
                       if isinstance(flow.target, str) and flow.target not in adjoints
                       and flow.target in self.program.give_derivative and any(s in adjoints for s in flow.sources)}
            if not missing:
                return
            self._hide(missing)
            variant.refresh()

    def _hide(self, missing: dict[str, str]) -> None:
        """Give fields a hidden gradient, for the places that pass derivatives to them."""
        for symbol in missing:
            self.program.give_derivative[symbol]("grad")
        self.hidden.update(missing)
        self.program.hidden.update(missing)
        self.program.materialize()
        for symbol in missing:
            self.program.gradients[self.program.adjoints[symbol]].fill(0)

    def _warn_of_hidden(self) -> None:
        """Name the fields without gradients on the way from an input to the loss, once each."""
        loss = self.loss.symbol if isinstance(self.loss, Field) else ""
        follows: dict[str | int, str | int] = {}  # the next array on a way to the loss
        for entry in reversed(self.entries):
            for flow in entry.flows():
                if flow.target == loss or flow.target in follows:
                    for source in flow.sources:
                        if source not in (loss, flow.target):
                            follows.setdefault(source, flow.target)
        for symbol, place in self.hidden.items():
            if symbol in follows and symbol not in self.program.warned:
                self.program.warned.add(symbol)
                chain: list[str | int] = [symbol]
                while chain[-1] in follows and follows[chain[-1]] not in chain:
                    chain.append(follows[chain[-1]])
                warnings.warn(f"field '{symbol}' ({place}) has no gradient, but carries a derivative to the loss "
                              f"({' -> '.join(map(str, chain))}): it got a hidden one; give it needs_grad=True, or cut "
                              "the derivative with ti.stop_grad", stacklevel=4)

    def host_read(self, target: Any) -> None:
        """Warn, once a line, where a value that carries a derivative leaves the differentiated program."""
        place = _caller()
        carries = any(flow.target == target.symbol for entry in self.entries if isinstance(entry, Launch)
                      for flow in entry.flows())
        if carries and target.symbol in self.program.adjoints and place not in self.program.warned:
            self.program.warned.add(place)
            warnings.warn(f"{place}: '{target.symbol}' is read in Python inside a tape: what is computed from it there "
                          "carries no derivative", stacklevel=4)

    def host_write(self, target: Any, index: tuple[int, ...] | None) -> None:
        """Keep what Python is about to write: an element (`index` into the view of its memory), or everything."""
        self._note_written()
        if self.is_replacing:
            return
        key, view, adjoint = memory_of(target)
        whole: Box = ((None, None),) * view.ndim
        box = whole if index is None else (*((i, i) for i in index), *whole[len(index):])
        touched = box if len(target.shape) + len(target.element_shape) == view.ndim else \
            ((None, None),) * (len(target.shape) + len(target.element_shape))  # of a field in nested blocks, all
        saved = self.versions.before_write(key, view, touched, _caller())
        self.entries.append(HostWrite(view, adjoint, box, saved))

    def host_copy(self, target: Field, source: Field) -> None:
        """Keep what `target.copy_from(source)` is about to overwrite, and note where its derivative goes."""
        if self.is_replacing:
            return
        adjoints = self.program.adjoints
        carries = target.dtype.is_float and source.symbol in adjoints
        if carries and target.symbol not in adjoints:
            self._hide({target.symbol: _caller()})
        self.host_write(target, None)
        if carries:
            self.entries[-1] = HostCopy(target, source, _caller(), self.entries[-1].saved)

    def explain(self) -> Explanation:
        """What the tape keeps: a row for each array a launch overwrites and a reverse reads, with its bytes."""
        rows: dict[tuple[str, str, str, str], int] = {}
        for entry in self.entries:
            for version in entry.saved:
                verdict = "redone" if version.redone else "kept"
                key = (str(version.key), version.read, version.written, verdict)
                rows[key] = rows.get(key, 0) + version.copy.nbytes
        return Explanation([Row(*key, size) for key, size in rows.items()])

    def grad(self) -> None:
        """Seed the loss with 1 and run the reverses of what was recorded, last first.

        Afterwards, and where a reverse raises an error, every primal field holds again what the forward program left
        there.
        """
        assert self.entered, "Before evaluating gradients tape must be entered."
        if self.closed_at != self.program.changes:
            raise TaichiRuntimeError("fields were written, or kernels launched, after the tape was closed: its gradient "
                                     "would not belong to what it recorded")
        self._warn_of_hidden()
        self.loss.grad.fill(1)
        exchanged: list[Version] = []
        try:
            for entry in reversed(self.entries):
                self._exchange(entry, exchanged, redone=True)
                entry.reverse()
                self._exchange(entry, exchanged, redone=False)
        finally:
            for version in reversed(exchanged):
                version.exchange()

    def _exchange(self, entry: Entry, exchanged: list[Version], *, redone: bool) -> None:
        for version in entry.saved:
            if version.redone == redone:
                version.exchange()
                exchanged.append(version)


def _caller() -> str:
    """The line of the user's program that runs now."""
    frame = sys._getframe(1)
    package = __file__.rsplit("/", 2)[0]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _check_loss(loss: Any) -> None:
    if isinstance(loss, Field):
        if loss.shape != () or loss.element_shape:
            raise TaichiRuntimeError("The loss of `Tape` must be a 0-D field, i.e. scalar")
        if not loss.has("grad"):
            raise TaichiRuntimeError("Gradients of loss are not allocated, please use ti.field(..., needs_grad=True) "
                                     "for all fields that are required by autodiff.")
    elif isinstance(loss, Ndarray):
        if loss.values.size != 1:
            raise TaichiRuntimeError("The loss of `Tape` must be an ndarray with only one element")
        if loss.grad is None:
            raise TaichiRuntimeError("Gradients of loss are not allocated, please set needs_grad=True for all ndarrays "
                                     "that are required by autodiff.")
    else:
        raise TaichiRuntimeError(f"The loss of `Tape` must be a 0-D field, not a {type(loss).__name__}")


def clear_all_gradients() -> None:
    """Set every gradient field to 0."""
    current = program()
    current.materialize()
    for memory in current.gradients.values():
        memory.fill(0)
