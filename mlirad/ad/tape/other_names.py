"""Names and arguments that a tape has in other systems."""

from __future__ import annotations

from typing import NoReturn

from mlirad.errors import TaichiTypeError

_AT_ITS_END = "the end of its block computes all gradients, and x.grad is that of x"
_FROM_ELSEWHERE = {  # names in torch, Warp, and TensorFlow
    "backward": f"{_AT_ITS_END}; tape.grad({{y: seed}}) computes the gradients of other outputs",
    "gradient": _AT_ITS_END,
    "zero": "each tape sets all gradients to 0 when it begins",
    "watch": "declare a field with needs_grad=True to give it a gradient",
}


def check_is_flag(clear_gradients: object) -> None:
    """Raise TaichiTypeError for an input in the place of the option: a tape takes one loss."""
    if not isinstance(clear_gradients, int):
        raise TaichiTypeError(
            "ti.ad.Tape takes one loss: it computes the gradients of all fields with "
            "needs_grad=True, and x.grad is that of x"
        )


class TapeClass(type):
    """The class of `Tape`, which is no tape."""

    def __enter__(cls) -> NoReturn:
        raise TaichiTypeError(
            "ti.ad.Tape is a class: `with ti.ad.Tape(loss):` makes a tape for a loss"
        )

    def __exit__(cls, *details: object) -> None:
        pass


class OtherNames(metaclass=TapeClass):
    """Errors for names of other systems, with what to write instead."""

    def __getattr__(self, name: str) -> NoReturn:
        cure = _FROM_ELSEWHERE.get(name)
        raise AttributeError(
            f"a tape has no attribute '{name}'" + (f": {cure}" if cure else ""), name=name
        )
