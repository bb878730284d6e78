"""Warnings of derivatives that a tape loses, or finds a way for that the program did not name: each
once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mlirad.ad.functions.chains import chain, next_on_the_way
from mlirad.ad.tape.places import caller, is_result_used
from mlirad.lang.arguments import ArrayBuffer
from mlirad.lang.kernel import Kernel
from mlirad.runtime.footprints import Box
from mlirad.runtime.variant import Variant

if TYPE_CHECKING:
    from mlirad.ad.tape.tape import Tape


def warn_of_hidden(tape: Tape, outputs: Sequence[Any]) -> None:
    """Name the fields and arrays without gradients on the way from an input to an output."""
    follows = next_on_the_way((entry.flows() for entry in reversed(tape.entries)), outputs)
    for symbol, place in tape.hidden.items():
        if symbol in follows:
            _warn(
                tape,
                symbol,
                f"field '{symbol}' ({place}) has no gradient, but carries a derivative to the loss "
                f"({chain(symbol, follows)}): it got a hidden one; give it needs_grad=True, or "
                f"cut the "
                "derivative with ti.stop_grad",
            )
    for one in tape.arrays.hidden():
        if one in follows:
            _warn(
                tape,
                one.describe(),
                f"{one.describe()} ({one.place}) has no gradient, but carries a derivative to "
                f"the loss "
                f"({chain(one, follows)}): it got a hidden one; pass a ti.ndarray with "
                "needs_grad=True, or cut the derivative with ti.stop_grad",
            )


def warn_of_unreached(tape: Tape) -> None:
    """Say where no launch wrote to the loss."""
    loss = tape.name_of(tape.loss)
    if not any(entry.may_write(loss) for entry in tape.entries):
        name = f"field '{loss}'" if isinstance(loss, str) else "a ti.ndarray"
        warnings.warn(
            f"{caller()}: no kernel launched in this tape writes to its loss, {name}: all "
            f"gradients are 0",
            stacklevel=4,
        )


def warn_of_read(tape: Tape, array: Any) -> None:
    """Python reads a field or an array."""
    if array in tape.carriers.carrying:
        place = caller()
        _warn(
            tape,
            place,
            f"{place}: {_quoted(array)} is read in Python inside a tape: what is computed from "
            f"it there carries "
            "no derivative",
        )


def warn_of_write(tape: Tape, array: Any, box: Box, place: str) -> None:
    """Python writes to a box of a field or an array."""
    if tape.carriers.overwritten(array, box):
        _warn(
            tape,
            place,
            f"{place}: {_quoted(array)} is written in Python inside a tape, over what carries a "
            f"derivative and "
            "no kernel has read since: that derivative is lost",
        )


def warn_of_result(
    tape: Tape, kernel: Kernel, variant: Variant, buffers: Sequence[ArrayBuffer]
) -> None:
    """A kernel returns something to Python."""
    names: dict[str | int, Any] = (
        {
            number: tape.arrays.know(buffers[position], kernel.__name__)
            for number, position in variant.array_positions.items()
        }
        if buffers
        else {}
    )
    if not any(
        tape.carriers.has_gradient(names.get(source, source)) for source in variant.flows().results
    ):
        return
    place = caller()
    if place not in tape.program.warned and is_result_used():
        _warn(
            tape,
            place,
            f"{place}: the result of kernel '{kernel.__name__}' ({kernel.place}) is used in "
            f"Python inside a "
            "tape: what is computed from it there carries no derivative; let the kernel write it "
            "into a field",
        )


def _warn(tape: Tape, key: str, message: str) -> None:
    if key not in tape.program.warned:
        tape.program.warned.add(key)
        warnings.warn(message, stacklevel=5)


def _quoted(array: Any) -> str:
    return f"'{array}'" if isinstance(array, str) else array.describe()
