"""The tape: launches in order, differentiated in reverse order."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from mlirad.ad.recorder.lost import warn_of_unreached
from mlirad.ad.recorder.recording import Recording
from mlirad.ad.recording.entries import ConstantLaunch, Entry, RecordedCall, RecordedLaunch
from mlirad.ad.recording.keeper import Keep, KeepAll
from mlirad.ad.recording.ledger import Ledger
from mlirad.ad.recording.order import FirstOrder, Order
from mlirad.ad.recording.sizes import kept_within
from mlirad.ad.tape.differences import check_loss_type, compare, fields_of, repeat
from mlirad.ad.tape.inner_tape import InnerTape
from mlirad.ad.tape.other_names import OtherNames, check_is_flag
from mlirad.ad.tape.reverse import contents, reverse_loss, reverse_present, reverse_seeds
from mlirad.ad.tape.seeds import check_loss
from mlirad.ad.tape.snapshot import Snapshot
from mlirad.ad.tape.tensor_loss import tensor_loss
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.frontend.python.building.builder import refuse_in_kernel
from mlirad.lang.autodiff_mode import AutodiffMode
from mlirad.lang.callers import caller, program_frame
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.kernel import Kernel
from mlirad.lang.kernels.launch import LaunchedKernel
from mlirad.lang.keywords import refuse_unknown
from mlirad.lang.recorder import GivenGradient, Target
from mlirad.runtime.explanation import Explanation
from mlirad.runtime.program import Program, program

RULES = ("save", "refuse")
_NO_DEBUG = (
    "Debug mode is disabled, autodiff valid check will not work. Please specify "
    "`ti.init(debug=True)` to enable the check."
)


_INSIDE = (
    "a tape inside a program that is differentiated runs its reverses once, at its end: it "
    "takes a loss and clears gradients, and supports no other option"
)
_CHANGED = (
    "fields were written, or kernels launched, after the tape was closed: the gradient would "
    "not match what was recorded"
)
_GRADIENT_INSIDE = (
    "grad() of a tape is called inside a tape or a forward mode, where it is not "
    "differentiated: use kernel.grad()"
)


class Tape(OtherNames):
    """Record the kernels launched in a `with` block. At the end of the block, or when you call
    `grad()`, run their reverses.

    A tape records the launches of the thread that entered it, and must end in that thread.
    Without a loss nothing is set to 0 and no reverse runs at the end: call `grad` with the outputs
    and their adjoints. A value that a reverse needs is saved when a later launch, the same launch,
    or Python overwrites it.

    Args:
        loss: a 0-D field, an ndarray with one element, or a torch tensor with one element, with a
            gradient. It is set to 0 when the tape is entered.
        clear_gradients: on entry, set the gradients of all fields and ndarrays to 0. A gradient
            that a tape of another thread used last is cleared when this tape uses it. Gradients of
            torch tensors accumulate, as in torch.
        validation: with `ti.init(debug=True)`, apply Taichi's rule to fields with a gradient: a
            launch must not write an element that was read since the tape was entered. Without debug
            there is a warning.
        grad_check: fields whose gradients are compared with finite differences. The loss must be in
            f64.
        rules: "save" keeps overwritten values that a reverse needs; "refuse" raises an error that
            names the read and the write.
        anomaly: raise an error at the first NaN or infinity that a launch or its reverse writes,
            naming the kernel, field, index and source line.
        memory: a memory limit for what is kept: bytes, a text such as "512MB", or a fraction such
            as `0.25` of what would be kept without a limit. Launches run again to stay within it
            (docs/checkpointing.md).

    Raises:
        RuntimeError: the loss cannot be differentiated.
        TaichiRuntimeError, TaichiCompilationError: a launch overwrites a value that is needed,
            under `rules="refuse"`.
        TaichiAssertionError: `validation`, `anomaly` or `grad_check` (a relative difference of more
            than a hundredth, or a loss that is not in f64) found an error.
        TaichiTypeError: an entry of `grad_check` is not a field with a gradient, or a keyword is
            unknown.
        TaichiMemoryError: the memory limit is too low; the message gives the lowest limit that
            works.
        ValueError: `rules` has another value.
    """

    def __init__(
        self,
        loss: Target | Any = None,
        clear_gradients: bool = True,
        validation: bool = False,
        grad_check: Field | Sequence[Field] | None = None,
        rules: str = "save",
        anomaly: bool = False,
        memory: int | float | str | None = None,
        **unknown: object,
    ) -> None:
        refuse_unknown("ti.ad.Tape", unknown, Tape)
        check_is_flag(clear_gradients)
        if rules not in RULES:
            raise ValueError(f"expected rules= as one of {', '.join(RULES)}, got {rules!r}")
        if loss is None and grad_check is not None:
            raise TaichiTypeError(
                "grad_check compares the gradients of a loss, but the tape has no loss"
            )
        self.validation = validation
        self.tensor_loss = tensor_loss(loss, grad_check)
        self.memory = kept_within(memory, rules)
        self.order: Order = FirstOrder(anomaly)  # until it is entered, another may be put here
        self.grad_check = None if grad_check is None else fields_of(grad_check, "grad_check")
        self.loss = loss if self.tensor_loss is None else None
        self.clear_gradients, self.rules = clear_gradients, rules
        self.entered = False
        self.inner: InnerTape | None = None  # inside of what takes derivatives
        self.is_broken_off = False  # an exception ended the recording, and what was kept is gone
        self.recording = self._recording()

    def _recording(self) -> Recording:
        return Recording(
            program(),
            self.rules,
            self.order,
            validation=self.validation,
            keeps_written=self.grad_check is not None,
            keep=_keep(self.memory),
        )

    def _is_ready(self, current: Program) -> bool:
        """Return whether the recording that was made with the tape is for what it is entered in."""
        ledger = self.recording.ledger
        is_here = self.program is current and ledger.claims.state is current.threads.state
        return is_here and ledger.order is self.order

    @property
    def program(self) -> Program:
        """Return the program whose launches are recorded."""
        return self.recording.program

    @property
    def ledger(self) -> Ledger:
        return self.recording.ledger

    @property
    def entries(self) -> list[Entry]:
        """Return what was recorded, in order."""
        return self.recording.ledger.entries

    def __enter__(self) -> Tape:
        assert not self.entered, (
            "Tape can be entered only once. Make one for each run: `with ti.ad.Tape(loss):`"
        )
        current = program()
        self.order.prepare(self.loss)
        if current.threads.recorder is not None:
            self.inner, self.entered = _inside(self, current), True
            self.inner.begin(clear_all_gradients)
            return self
        current.trees.materialize()
        if self.loss is not None:
            check_loss(self.loss)
            if self.grad_check is not None:
                check_loss_type(self.loss)
        self.entered = True
        if not self._is_ready(current):
            self.recording = self._recording()
        ledger = self.recording.ledger
        ledger.clear(self.loss, all_gradients=self.clear_gradients)
        if self.grad_check:
            self.start = Snapshot(current)
        if self.loss is not None:
            self.loss.fill(0)
        if self.tensor_loss is not None:
            self.tensor_loss.begin()
        if self.validation:
            self._start_validation()
        self.order.begin(ledger.claims)
        self.recording.begin()
        return self

    def _start_validation(self) -> None:
        if not self.program.config.debug:
            warnings.warn(_NO_DEBUG, stacklevel=program_frame()[1])
        for allocation in self.program.threads.state.checks.values():
            allocation.clear()

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        threads, ledger = self.program.threads, self.recording.ledger
        if self.inner is not None:
            self.inner.close(has_failed=kind is not None)
            return
        if threads.state is not ledger.claims.state:
            raise TaichiRuntimeError("a tape must be left in the thread that entered it")
        while threads.recorder is not self.recording:  # a loop that was left without its end
            threads.recorder.close()
        self.recording.close()
        if kind is not None:
            ledger.forget()
            self.is_broken_off = True
        elif self.tensor_loss is not None:
            self.tensor_loss.reverse(ledger)
        elif self.loss is not None:
            warn_of_unreached(ledger, self.loss)
            if ledger.arrays.table:
                ledger.arrays.unseen.check_gradient_arrays()
            reverse_loss(ledger, self.loss)
            if self.grad_check:
                entries, start = self.entries, self.start
                compare(self.grad_check, self.loss, entries, start, lambda: repeat(entries), 1e-2)

    @property
    def calls(self) -> list[tuple[LaunchedKernel | GivenGradient, tuple[Any, ...]]]:
        """Return what was recorded, with its arguments: kernels, and functions with their own
        gradient."""
        return [
            (e.call.function, e.call.args)
            if isinstance(e, RecordedCall)
            else (e.launch.kernel, tuple(e.launch.values))
            for e in self.entries
            if isinstance(e, RecordedLaunch | ConstantLaunch | RecordedCall)
        ]

    @property
    def modes(self) -> list[AutodiffMode]:
        """Return the mode in which each of `calls` was recorded."""
        checked = self.validation and self.program.config.debug
        return [
            AutodiffMode.VALIDATION if checked and isinstance(kernel, Kernel) else AutodiffMode.NONE
            for kernel, _ in self.calls
        ]

    def explain(self) -> Explanation:
        """Explain what the tape keeps: one row for each array, with its bytes, and their sum as
        `bytes`. With a memory limit, also report what was discarded and which launches ran again.
        In this case, `bytes` is the memory still in use after the reverse, and `peak_bytes` is the
        largest memory used at any time."""
        return self.ledger.keeper.explain(self.entries)

    def grad(
        self, seeds: Mapping[Target, Any] | None = None, clear_gradients: bool | None = None
    ) -> None:
        """Run the reverses of the recorded launches, last first. You may call it several times on a
        closed tape.

        Afterwards, and also if a reverse raises an error, every primal field holds the values that
        the forward program left in it.

        Args:
            seeds: the adjoint of each output, by output (a field or ndarray with a gradient): an
                array of its shape, or a number for an output of 0 dimensions; None stands for 1.
                Without `seeds` the adjoint of the loss is 1, and a tape without a loss starts from
                the values in the gradient fields.
            clear_gradients: set gradients, also those of recorded ndarrays, to 0 first; otherwise
                add to them. The default is the setting of the tape. Gradients of torch tensors are
                always added to.

        Raises:
            TaichiTypeError: a seed has the wrong shape or type, or an output has no gradient.
            TaichiRuntimeError: memory has changed since the tape was closed.
        """
        _check_closed(self)
        self.ledger.arrays.unseen.check_gradient_arrays()
        before = contents(self.ledger)
        if seeds is None and self.tensor_loss is not None:
            self.tensor_loss.reverse(self.ledger)
        elif seeds is None and self.loss is None:
            reverse_present(self.ledger)
        else:
            clear = self.clear_gradients if clear_gradients is None else clear_gradients
            reverse_seeds(self.ledger, self.loss, seeds, clear)
        if self.has_changed() and before is not None and before == contents(self.ledger):
            # given gradients launched kernels, which wrote to gradients only
            self.recording.closed_at = self.program.threads.changes

    def has_changed(self) -> bool:
        """Return whether the thread that recorded, or the calling thread, changed memory after the
        tape was closed."""
        thread = self.ledger.claims.state
        return max(thread.changed, self.program.threads.state.changed) > self.recording.closed_at


def _keep(memory: int | float | None) -> Keep:
    """Return the keeper of a tape that keeps no more than some bytes, or all."""
    if memory is None:
        return KeepAll
    from mlirad.ad.budget.budget import Budget  # few tapes have one

    return partial(Budget, memory=memory)


def _inside(tape: Tape, current: Program) -> InnerTape:
    """Return a tape inside of what takes derivatives. Raises TaichiRuntimeError where it cannot be
    one."""
    is_plain = tape.order == FirstOrder() and tape.rules == "save" and tape.clear_gradients
    has_more = tape.validation or tape.memory is not None or tape.grad_check is not None
    if tape.loss is None or not is_plain or has_more:
        raise TaichiRuntimeError(f"{caller()}: {_INSIDE}")
    return InnerTape(current, current.threads.recorder, tape.loss)


def _check_closed(tape: Tape) -> None:
    """Raise TaichiRuntimeError where the reverses of a tape cannot run."""
    assert tape.entered, (
        "Before evaluating gradients tape must be entered: `with ti.ad.Tape(loss) as tape:` "
        "records the launches of its block"
    )
    if tape.inner is not None:
        raise TaichiRuntimeError(f"{caller()}: {_INSIDE}")
    if tape.is_broken_off:
        raise TaichiRuntimeError(
            "an exception ended the block of this tape, so its recording is gone"
        )
    if tape.program.threads.recorder is not None:
        raise TaichiRuntimeError(f"{caller()}: {_GRADIENT_INSIDE}")
    if tape.has_changed():
        raise TaichiRuntimeError(_CHANGED)


def clear_all_gradients() -> None:
    """Set the gradients of every field and ndarray to 0. Raises TaichiTypeError in a kernel."""
    refuse_in_kernel("gradients are cleared", "x.grad.fill(0) clears one in each launch")
    current = program()
    current.trees.materialize()
    if current.threads.recorder is not None:
        current.threads.recorder.clear_gradients()
    current.derivatives.given.clear()
    current.derivatives.follow_reverse = False
    for memory in list(current.derivatives.gradients.values()):
        memory.clear(current.backlog)
    for array in current.derivatives.arrays:
        array.clear_gradient()
