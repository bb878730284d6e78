"""Names that a tape has in other systems."""

from __future__ import annotations

from typing import NoReturn

_AT_ITS_END = "the end of its block computes all gradients, and x.grad has that of x"
_FROM_ELSEWHERE = {  # names in torch, Warp, and TensorFlow
    "backward": f"{_AT_ITS_END}; tape.grad({{y: seed}}) computes those of other outputs",
    "gradient": _AT_ITS_END,
    "zero": "each tape sets all gradients to 0 when it begins",
    "watch": "needs_grad=True, where a field is declared, gives it a gradient",
}


class OtherNames:
    """Errors for names of other systems, with what to write instead."""

    def __getattr__(self, name: str) -> NoReturn:
        cure = _FROM_ELSEWHERE.get(name)
        raise AttributeError(
            f"a tape has no attribute '{name}'" + (f": {cure}" if cure else ""), name=name
        )
