"""The loss of a tape that is a tensor of torch."""

from __future__ import annotations

from typing import Any

from mlirad.ad.recorder.lost import warn_of_unreached_tensor
from mlirad.ad.recording.ledger import Ledger
from mlirad.ad.tape.reverse import reverse
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.lang.arguments.array_buffer import array_buffer
from mlirad.lang.arguments.foreign_array import is_torch
from mlirad.lang.field.field import Field


class TensorLoss:
    """A tensor of one element. Its gradient is 1 when the reverses begin; those of other tensors
    are added to, as always in torch.

    Raises TaichiRuntimeError for more elements, and for a tensor without a gradient.
    """

    def __init__(self, tensor: Any) -> None:
        if tensor.numel() != 1:
            raise TaichiRuntimeError(
                "The loss of `Tape` must be a tensor only contains one element, not "
                f"{tensor.numel()}"
            )
        if not tensor.requires_grad:
            raise TaichiRuntimeError(
                "Gradients of loss are not allocated, please set requires_grad=True for all "
                "tensors that are required by autodiff."
            )
        self._tensor = tensor

    def begin(self) -> None:
        """Set it to 0, before a tape records."""
        self._tensor.detach().zero_()

    def reverse(self, ledger: Ledger) -> None:
        """Run the reverses from 1 in its gradient."""
        array = ledger.arrays.table.find(array_buffer(self._tensor, "the loss", False))
        if array is None or not any(entry.may_write(array) for entry in ledger.entries):
            warn_of_unreached_tensor()
        ledger.arrays.unseen.check_gradient_arrays()
        ledger.outer_adjoints.settle()
        gradient = self._tensor.grad
        if gradient is not None:
            gradient.zero_()
        with ledger.arrays.gradients.added_up():
            if gradient is not None:
                gradient.fill_(1)
            reverse(ledger, [array])


def tensor_loss(loss: object, grad_check: object) -> TensorLoss | None:
    """Return a loss that is a tensor; None for others. Raises TaichiTypeError where its gradient is
    to be compared with differences."""
    if isinstance(loss, Field) or not is_torch(loss):
        return None
    if grad_check is not None:
        raise TaichiTypeError(
            "grad_check: expected a field or an ndarray as the loss, got a tensor"
        )
    return TensorLoss(loss)
