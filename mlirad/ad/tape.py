"""The tape: launches in order, differentiated in reverse order."""
from __future__ import annotations

from types import TracebackType
from typing import Any

from mlirad.errors import TaichiRuntimeError
from mlirad.lang.field import Field
from mlirad.lang.kernel import Kernel, flat_values
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.program import Program, program
from mlirad.runtime.variant import Variant


class Tape:
    """Record the kernels launched in a `with` block; at its end, or by `grad()`, run their reverses.

    `loss` is a 0-D field (or an ndarray of one element) with a gradient. On entry it is set to 0 and, with
    `clear_gradients`, every gradient field is cleared. Raises RuntimeError for a loss that cannot be differentiated.
    """

    def __init__(self, loss: Any = None, clear_gradients: bool = True, validation: bool = False,
                 grad_check: Any = None) -> None:
        self.loss, self.clear_gradients = loss, clear_gradients
        self.launches: list[tuple[Variant, list[Any], list[Any]]] = []
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
        self.loss.fill(0)
        self.program.recorder = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.program.recorder = None
        if kind is None:
            self.grad()

    def record(self, kernel: Kernel, variant: Variant, values: list[Any], buffers: list[Any]) -> None:
        """Note a launch."""
        self.launches.append((variant, values, buffers))

    def host_write(self, target: Any) -> None:
        """Note a write from Python."""

    def grad(self) -> None:
        """Seed the loss with 1 and run the reverses of the recorded launches, last first."""
        assert self.entered, "Before evaluating gradients tape must be entered."
        self.loss.grad.fill(1)
        for variant, values, buffers in reversed(self.launches):
            variant.launch("reverse", flat_values(values, buffers, variant, reverse=True))


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
