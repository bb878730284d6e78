"""Names that kernels have in other libraries, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

from mlirad.errors import did_you_mean

_TAPE = "launch it in `with ti.ad.Tape(loss):`; the end of the block computes all gradients"
_DUAL = "launch it in `with ti.ad.FwdMode(loss, x):`; the end of the block computes loss.dual"
_FUNCTION = (
    "ti.ad.value_and_grad(run, inputs=..., output=...) differentiates a function that launches it, "
    "and so do the other transforms of ti.ad"
)
_CLEARED = "ti.ad.Tape sets all gradients to 0 when it begins; x.grad.fill(0) sets those of x"
_CURES = {
    **dict.fromkeys(
        ("adjoint", "backward", "gradient", "reverse"),
        f"{_TAPE}. Without a tape, its grad(...) with the same arguments runs its reverse",
    ),
    **dict.fromkeys(("dual", "forward", "tangent"), _DUAL),
    **dict.fromkeys(("hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp"), _FUNCTION),
    **dict.fromkeys(("clear_grad", "zero_grad"), _CLEARED),
    **dict.fromkeys(("launch", "run"), "call it with its arguments to launch it"),
    **dict.fromkeys(("compile", "lower"), "its first launch compiles it, and ir(...) is its IR"),
}


_Method = TypeVar("_Method", bound=Callable[..., None])


class _Reverse(partial[None]):
    """A kernel's `grad`: a call runs the reverse, and any other use is an error."""

    def _refuse(self, kind: type[Exception]) -> NoReturn:
        name = self.args[0].__name__
        raise kind(
            f"{name}.grad is not an array: {name}.grad(...), with the arguments of the launch, "
            f"runs the reverse of kernel '{name}', and x.grad is the gradient of a field x"
        )

    def __getitem__(self, key: object) -> NoReturn:
        self._refuse(TypeError)

    def __setitem__(self, key: object, value: object) -> NoReturn:
        self._refuse(TypeError)

    if not TYPE_CHECKING:  # which would take every attribute to be there

        def __getattr__(self, name):
            if name.startswith("_"):  # Python's own
                raise AttributeError(name)
            self._refuse(AttributeError)


class _ReverseMethod:
    """A method that each kernel keeps as its `_Reverse`, from the first use on."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function

    def __get__(self, kernel: object, kind: object = None) -> Callable[..., None]:
        if kernel is None:
            return self.function
        reverse = vars(kernel)["grad"] = _Reverse(self.function, kernel)
        return reverse


def runs_reverse(method: _Method) -> _Method:
    """Decorate the method of kernels that runs their reverse."""
    return cast("_Method", _ReverseMethod(method))


class KernelNames:
    """Errors for attributes that a kernel does not have, and for one that must not be replaced."""

    __name__: str

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "grad"}

    if not TYPE_CHECKING:  # which would take every attribute to be there

        def __getattr__(self, name):
            if name.startswith("_"):  # Python's own; a kernel need not have its name yet
                raise AttributeError(f"a kernel has no attribute '{name}'", name=name)
            cure = _CURES.get(name)
            hint = f": {cure}" if cure else did_you_mean(name, dir(self))
            raise AttributeError(f"kernel '{self.__name__}' has no attribute '{name}'{hint}")

        def __setattr__(self, name, value):
            if name == "grad":
                raise AttributeError(
                    f"{self.__name__}.grad = ...: the reverse of kernel '{self.__name__}' cannot "
                    "be replaced: ti.ad.grad_replaced and ti.ad.grad_for give a derivative to a "
                    "Python function that launches kernels"
                )
            super().__setattr__(name, value)
