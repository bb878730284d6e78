"""The tape: launches in order, differentiated in reverse order."""
from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from mlirad.ad.versions import Version, Versions, part
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.field import Field
from mlirad.lang.kernel import Kernel, flat_values
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.explanation import Explanation, Row
from mlirad.runtime.footprints import Box, Flow
from mlirad.runtime.program import Program, program
from mlirad.runtime.variant import Variant

RULES = ("save", "refuse")


class Tape:
    """Record the kernels launched in a `with` block; at its end, or by `grad()`, run their reverses.

    `loss` is a 0-D field (or an ndarray of one element) with a gradient. On entry it is set to 0 and, with
    `clear_gradients`, every gradient field is cleared. Raises RuntimeError for a loss that cannot be differentiated.

    Values that reverses need and that later launches, or the same one, overwrite are kept (`rules="save"`); with
    `rules="refuse"` the launch raises TaichiRuntimeError or TaichiCompilationError, naming the read and the write.
    """

    def __init__(self, loss: Any = None, clear_gradients: bool = True, validation: bool = False,
                 grad_check: Any = None, rules: str = "save") -> None:
        if rules not in RULES:
            raise ValueError(f"rules of a tape are one of {', '.join(RULES)}, not {rules!r}")
        self.loss, self.clear_gradients, self.rules = loss, clear_gradients, rules
        self.entries: list[Launch | HostWrite | HostCopy] = []
        self.hidden: dict[str, str] = {}
        self.entered = False
        self.program: Program = program()

    def __enter__(self) -> Tape:
        assert not self.entered, "Tape can be entered only once."
        self.program = program()
        if self.program.recorder is not None:
            raise TaichiRuntimeError("a tape is recording already: tapes cannot be nested")
        self.program.materialize()
        _check_loss(self.loss)
        self.entered = True
        if self.clear_gradients:
            clear_all_gradients()
        for symbol in self.program.hidden:
            self.program.gradients[self.program.adjoints[symbol]].fill(0)
        self.loss.fill(0)
        self.versions = Versions(self.program, self.rules)
        self.program.recorder = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.program.recorder = None
        if kind is None:
            self.grad()

    @property
    def calls(self) -> list[tuple[Kernel, tuple[Any, ...]]]:
        """The recorded launches: kernels with their arguments."""
        return [(e.kernel, tuple(e.values)) for e in self.entries if isinstance(e, Launch)]

    def launch(self, kernel: Kernel, variant: Variant, values: Sequence[Any], buffers: Sequence[Any]) -> None:
        """Launch a kernel, keeping what it overwrites of what reverses read.

        Raises TaichiCompilationError where it cannot be differentiated.
        """
        if variant.gradient_version != self.program.gradient_version:
            variant.refresh()
            self._give_gradients(variant)
            variant.gradient_version = self.program.gradient_version
        for piece in variant.parts() if self.rules == "save" else [variant]:
            saved = self.versions.before_launch(piece, values, buffers)
            piece.launch("primal", flat_values(values, buffers, piece, reverse=False))
            self.entries.append(Launch(kernel, piece, values, buffers, saved))
            self.versions.after_launch(piece, values, buffers)

    def _give_gradients(self, variant: Variant) -> None:
        """Give fields in which derivatives arrive, and which have no gradient, a hidden one (AUTODIFF.md §3)."""
        adjoints = self.program.adjoints
        while True:
            pieces = variant.parts() if self.rules == "save" else [variant]
            missing = {flow.target: flow.place for piece in pieces for flow in piece.footprints().flows
                       if isinstance(flow.target, str) and flow.target not in adjoints
                       and flow.target in self.program.give_gradient and any(s in adjoints for s in flow.sources)}
            if not missing:
                return
            self._hide(missing)
            variant.refresh()

    def _hide(self, missing: dict[str, str]) -> None:
        """Give fields a hidden gradient, for the places that pass derivatives to them."""
        for symbol in missing:
            self.program.give_gradient[symbol]()
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

    def host_write(self, target: Any, index: tuple[int, ...] | None) -> None:
        """Keep what Python is about to write: an element (`index` into the view of its memory), or everything."""
        key, view, adjoint = _memory_of(target)
        whole: Box = ((None, None),) * view.ndim
        box = whole if index is None else (*((i, i) for i in index), *whole[len(index):])
        touched = box if len(target.shape) + len(target.element_shape) == view.ndim else \
            ((None, None),) * (len(target.shape) + len(target.element_shape))  # of a field in nested blocks, all
        saved = self.versions.before_write(key, view, touched, _caller())
        self.entries.append(HostWrite(adjoint, box, saved))

    def host_copy(self, target: Field, source: Field) -> None:
        """Keep what `target.copy_from(source)` is about to overwrite, and note where its derivative goes."""
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

        Afterwards every primal field holds again what the forward program left there.
        """
        assert self.entered, "Before evaluating gradients tape must be entered."
        self._warn_of_hidden()
        self.loss.grad.fill(1)
        for entry in reversed(self.entries):
            for version in entry.saved:
                if version.redone:
                    version.exchange()
            entry.reverse()
            for version in entry.saved:
                if not version.redone:
                    version.exchange()
        for entry in self.entries:
            for version in entry.saved:
                version.exchange()


def _caller() -> str:
    """The line of the user's program that runs now."""
    frame = sys._getframe(1)
    package = __file__.rsplit("/", 2)[0]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


@dataclass
class Launch:
    """A launched kernel, and what it overwrote of what earlier reverses need."""

    kernel: Kernel
    variant: Variant
    values: Sequence[Any]
    buffers: Sequence[Any]
    saved: list[Version]

    def flows(self) -> tuple[Flow, ...]:
        """Which arrays pass derivatives to which."""
        return self.variant.footprints().flows

    def reverse(self) -> None:
        """Run its reverse."""
        variant = self.variant
        variant.launch("reverse", flat_values(self.values, self.buffers, variant, reverse=True))


@dataclass
class HostWrite:
    """A write from Python: a store of constants."""

    adjoint: np.ndarray[Any, Any] | None
    box: Box
    saved: list[Version]

    def flows(self) -> tuple[Flow, ...]:
        """Constants pass no derivatives."""
        return ()

    def reverse(self) -> None:
        """What was there before has no influence any more."""
        if self.adjoint is not None:
            part(self.adjoint, self.box)[...] = 0


@dataclass
class HostCopy:
    """A copy of one field to another."""

    target: Field
    source: Field
    place: str
    saved: list[Version]

    def flows(self) -> tuple[Flow, ...]:
        """From one to the other."""
        return (Flow(self.target.symbol, self.place, (self.source.symbol,)),)

    def reverse(self) -> None:
        """The adjoint of what was copied goes to where it came from."""
        arrived, sent = self.source.grad, self.target.grad
        assert arrived is not None and sent is not None
        arrived.from_numpy(arrived.to_numpy() + sent.to_numpy())
        sent.fill(0)


def _memory_of(target: Any) -> tuple[str | int, np.ndarray[Any, Any], np.ndarray[Any, Any] | None]:
    """The key, the memory and the adjoint's memory of a field or an ndarray."""
    if isinstance(target, Ndarray):
        return target.address, target.values, None if target.grad is None else target.grad.values
    adjoint = target.existing("grad")
    return target.symbol, target.located().view, None if adjoint is None or adjoint.memory is None else \
        adjoint.memory.view


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
