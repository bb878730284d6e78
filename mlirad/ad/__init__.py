"""Derivatives of programs: the tape, forward mode, and derivatives as functions."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mlirad.ad.recorder.custom_gradients import grad_for, grad_replaced, no_grad
from mlirad.ad.tape.tape import Tape, clear_all_gradients
from mlirad.loading import later

if TYPE_CHECKING:
    from mlirad.ad.checkpoint.checkpointing import checkpointed
    from mlirad.ad.forward.forward_mode import FwdMode
    from mlirad.ad.forward.second_order import hessian, hvp
    from mlirad.ad.functions.array_program import program
    from mlirad.ad.functions.batches import vmap
    from mlirad.ad.functions.check import check
    from mlirad.ad.functions.custom_checks import check_custom
    from mlirad.ad.functions.transforms import forward, grad, jacobian, jvp, value_and_grad, vjp
else:
    import_module("mlirad.ad.forward")  # the package: later it would take the function's name
    del forward
    _LATER = {  # loaded when they are asked for
        "checkpointed": "checkpoint.checkpointing",
        "FwdMode": "forward.forward_mode",
        **dict.fromkeys(("hessian", "hvp"), "forward.second_order"),
        "program": "functions.array_program",
        "vmap": "functions.batches",
        "check": "functions.check",
        "check_custom": "functions.custom_checks",
        **dict.fromkeys(("forward", "grad", "jacobian", "jvp"), "functions.transforms"),
        **dict.fromkeys(("value_and_grad", "vjp"), "functions.transforms"),
    }

    def __getattr__(name: str) -> Any:
        return later(__name__, _LATER, name)


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
    "vmap",
]


def __dir__() -> list[str]:
    return __all__
