"""`ti.ad.check`: is a gradient the derivative?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from mlirad.ad.tape.differences import ELEMENTS, check_loss_type, compare, fields_of, repeat
from mlirad.ad.tape.snapshot import Snapshot
from mlirad.ad.tape.tape import Tape
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.lang.field.field import Field
from mlirad.lang.recorder import Target
from mlirad.runtime.program import program


def check(
    loss: Tape | Target,
    wrt: Field | Sequence[Field],
    run: Callable[[], Any] | None = None,
    *,
    rel: float = 1e-5,
) -> None:
    """Compare the gradients of a loss with finite differences, in f64.

    Elements are changed one at a time. If there are more than 32, only a sample of them is changed,
    and then all of them along a random direction. Afterwards, the fields hold the values that the
    forward program left in them. If all derivatives agree, it prints one line. It warns if the loss
    is not smooth at this point, and accepts a gradient from either side of it.

    Args:
        loss: a 0-D field that `run()` computes, or a tape that has run its reverses; its launches
            are then repeated from the current values of the fields.
        wrt: the field or fields, in f64 and with gradients, with respect to which the loss is
            differentiated.
        run: the function that computes the loss. A tape differentiates it.
        rel: the largest relative difference that is accepted.

    Raises:
        TaichiAssertionError: a gradient and its difference disagree. The message names the element,
            and the kernel whose reverse disagrees with the differences of that kernel alone.
        TaichiTypeError: `wrt` is not a field in f64 with a gradient.
        TaichiRuntimeError: the program computes a different loss from the same fields, or writes to
            ndarrays.
    """
    fields = fields_of(wrt, "ti.ad.check")
    for field in fields:
        if field.dtype.numpy.itemsize < 8:
            raise TaichiTypeError(
                f"ti.ad.check needs f64, and field '{field.symbol}' is of type {field.dtype}"
            )
    if isinstance(loss, Tape):
        if run is not None:
            raise TaichiTypeError(
                "ti.ad.check takes a tape, or a loss and the function that computes it, not both"
            )
        _check_tape(fields, loss, rel)
    elif not callable(run):
        raise TaichiTypeError(
            "ti.ad.check takes a tape, or a loss and the function that computes it: "
            "ti.ad.check(loss, x, run), not ti.ad.check(loss, x, run())"
        )
    else:
        _check_program(fields, loss, run, rel)
    names = ", ".join(f"'{field.symbol}' ({_count(field)})" for field in fields)
    print(f"ti.ad.check: the gradient with respect to {names} agrees with finite differences")


def _count(field: Field) -> str:
    """Return how many elements of a field were compared, in words."""
    size = math.prod((*field.shape, *field.element_shape))
    if size > ELEMENTS:
        return f"{ELEMENTS} of {size} elements, and all in a random direction"
    return f"{size} element{'s' * (size != 1)}"


def _check_program(
    fields: Sequence[Field], loss: Target, run: Callable[[], Any], rel: float
) -> None:
    """Differentiate a program on a tape, and compare."""
    check_loss_type(loss)
    current = program()
    current.trees.materialize()
    start = Snapshot(current)
    with Tape(loss, grad_check=[]) as tape:
        run()
    compare(fields, loss, tape.entries, start, run, rel)


def _check_tape(fields: Sequence[Field], tape: Tape, rel: float) -> None:
    """Compare the gradients that a tape has computed with differences of its launches."""
    if not tape.entered or tape.ledger.is_open:
        raise TaichiRuntimeError("ti.ad.check takes a tape that has run its reverses")
    if tape.loss is None:
        raise TaichiRuntimeError("ti.ad.check takes a tape with a loss")
    check_loss_type(tape.loss)
    start = Snapshot(tape.program)
    compare(fields, tape.loss, tape.entries, start, lambda: repeat(tape.entries), rel)
