"""Derivatives of programs: the tape, and derivatives as functions."""

from mlirad.ad.checkpoint.checkpointing import checkpointed
from mlirad.ad.forward.forward_mode import FwdMode
from mlirad.ad.forward.second_order import hessian, hvp
from mlirad.ad.functions.array_program import program
from mlirad.ad.functions.check import check
from mlirad.ad.functions.custom_checks import check_custom
from mlirad.ad.functions.custom_gradients import grad_for, grad_replaced, no_grad
from mlirad.ad.functions.transforms import forward, grad, jacobian, jvp, value_and_grad, vjp
from mlirad.ad.tape.tape import Tape, clear_all_gradients

__all__ = [
    "FwdMode",
    "Tape",
    "check",
    "check_custom",
    "checkpointed",
    "clear_all_gradients",
    "forward",
    "grad",
    "grad_for",
    "grad_replaced",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "no_grad",
    "program",
    "value_and_grad",
    "vjp",
]


def __dir__() -> list[str]:
    return __all__
