"""Warnings of derivatives that are lost while something records, or that find a way which the
program did not name: each once."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable, Iterable, Sequence

from mlirad.ad.recording.array_table import FlowArray, TapeArray
from mlirad.ad.recording.ledger import Ledger
from mlirad.lang.callers import caller, is_result_used, program_frame
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch, LaunchedKernel
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import Target
from mlirad.runtime.boxes import Box
from mlirad.runtime.derivative_kind import ADJOINT
from mlirad.runtime.footprints import Flow, Footprint
from mlirad.runtime.program import Program
from mlirad.runtime.threads import Views


def warn_once(program: Program, key: str, message: str) -> None:
    """Warn, where that was not said before."""
    if key not in program.derivatives.warned:
        program.derivatives.warned.add(key)
        warnings.warn(message, stacklevel=program_frame()[1])


def warn_of_read(program: Program, name: str, within: str) -> None:
    """Python reads what carries a derivative."""
    place = caller()
    warn_once(
        program,
        place,
        f"{place}: {name} is read in Python inside a {within}: what Python computes from it "
        "carries no derivative",
    )


def warn_of_result(program: Program, kernel: LaunchedKernel, within: str) -> None:
    """A kernel returns what carries a derivative."""
    place = caller()
    if place not in program.derivatives.warned and is_result_used():
        warn_once(
            program,
            place,
            f"{place}: the result of kernel '{kernel.__name__}' ({kernel.place}) is used in "
            f"Python inside a {within}: what Python computes from it carries no derivative; let "
            "the kernel write it to a field",
        )


def warn_of_view(program: Program, key: str | int, name: str, within: str) -> None:
    """A launch leaves what carries a derivative in an array of which there may be views."""
    for place in program.threads.views.take(key):
        warn_once(
            program,
            place,
            f"{place}: a view of {name} exists at {caller()}, inside a {within}, while {name} "
            "carries a derivative: what Python computes from the view carries no derivative; "
            "make the view afterwards",
        )


def warn_of_hidden_field(program: Program, symbol: str, place: str, kind: str, way: str) -> None:
    """Warn of a field that got a hidden gradient or dual because a derivative passes it."""
    option = "needs_grad" if kind == "gradient" else "needs_dual"
    warn_once(
        program,
        symbol,
        f"field '{symbol}' ({place}) has no {kind}, but carries a derivative {way}: it was given "
        f"a hidden one; declare it with {option}=True, or cut the derivative with ti.stop_grad",
    )


# Of a tape.


def warn_of_hidden(ledger: Ledger, outputs: Sequence[FlowArray]) -> None:
    """Name the fields and arrays without gradients on the way from an input to an output."""
    hidden_arrays = ledger.arrays.gradients.hidden()
    if not ledger.hidden and not hidden_arrays:  # on nearly all tapes
        return
    follows = next_on_the_way((entry.flows() for entry in reversed(ledger.entries)), outputs)
    for symbol, place in ledger.hidden.items():
        if symbol in follows and not ledger.program.derivatives.are_derivatives(symbol):
            way = f"to the loss ({chain(symbol, follows)})"
            warn_of_hidden_field(ledger.program, symbol, place, "gradient", way)
    for array in hidden_arrays:
        if array in follows:
            warn_once(
                ledger.program,
                array.describe(),
                f"{array.describe()} ({array.place}) has no gradient, but carries a derivative "
                f"to the loss ({chain(array, follows)}): it was given a hidden one; pass a "
                "ti.ndarray with needs_grad=True, or cut the derivative with ti.stop_grad",
            )


def warn_of_unreached(ledger: Ledger, loss: Target) -> None:
    """Say where no launch wrote to the loss."""
    if not _is_reached(ledger, loss):
        _warn_of_loss(_noun(ledger, loss))


def warn_of_program(
    ledger: Ledger, inputs: Sequence[Target], outputs: Sequence[Target], name: str
) -> None:
    """Say which outputs of a program no launch wrote to, and which inputs it set itself, so that
    no derivative reaches them."""
    for output in outputs:
        if not _is_reached(ledger, output):
            _warn(
                f"{caller()}: {name}: no kernel that the program launches writes to its output, "
                f"{_noun(ledger, output)}: its gradients are 0"
            )
    for target in inputs:
        if target.grad is not None and not target.grad.to_numpy().any():
            _warn(
                f"{caller()}: {name}: the program sets its input, {_noun(ledger, target)}, in "
                "Python, so that the result does not depend on the argument: its gradient is 0"
            )


def warn_of_no_seeds() -> None:
    """Say that reverses begin with nothing."""
    _warn(
        f"{caller()}: tape.grad() of a tape without a loss starts from the values in the gradient "
        "fields, and all of these are 0: pass the adjoints of the outputs, as in "
        "tape.grad({y: 1.0}), or give the tape a loss"
    )


def _is_reached(ledger: Ledger, target: Target) -> bool:
    array, entries = ledger.name_of(target), ledger.entries
    if entries and entries[-1].may_write(array):
        return True
    return any(entry.may_write(array) for entry in reversed(entries))


def _noun(ledger: Ledger, target: Target) -> str:
    name = ledger.name_of(target)
    return f"field '{name}'" if isinstance(name, str) else "a ti.ndarray"


def warn_of_unreached_tensor() -> None:
    """Say that no launch wrote to a loss that is a tensor."""
    _warn_of_loss("a tensor of torch")


def _warn_of_loss(loss: str) -> None:
    _warn(
        f"{caller()}: no kernel launched in this tape writes to its loss, {loss}: all gradients "
        "are 0"
    )


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=program_frame()[1])


# Of a tape inside of another.


def warn_of_hidden_inside(ledger: Ledger) -> None:
    """Name the fields without gradients to which derivatives pass."""
    for symbol, place in ledger.hidden.items():
        way = "in a tape inside a program that is differentiated"
        warn_of_hidden_field(ledger.program, symbol, place, "gradient", way)


def warn_of_unreached_inside(written: Iterable[Sequence[Footprint]], loss: Field) -> None:
    """Say where no launch wrote to the loss."""
    if not any(access.array == loss.symbol for footprints in written for access in footprints):
        _warn_of_loss(f"field '{loss.symbol}'")


def warn_of_carried_read(ledger: Ledger, target: Target) -> None:
    """Python reads a field or an ndarray that has a gradient, or carries a derivative."""
    if _is_still_0(ledger, target):
        place = caller()
        warn_once(
            ledger.program,
            f"{place}: gradient",
            f"{place}: {_describe(ledger.name_of(target))} is read in Python inside a tape, which "
            "computes it at the end of its `with` block: it is 0 here, so read it after the block",
        )
        return
    ledger.carriers.follow(ledger.entries)
    array = ledger.name_of(target)
    if array in ledger.carriers.carrying or _is_input(ledger.program, target):
        described = f"a ti.ndarray of shape {target.shape}" if array is None else _describe(array)
        warn_of_read(ledger.program, described, "tape")


def _is_still_0(ledger: Ledger, target: Target) -> bool:
    """Return whether a target is a gradient that the tape computes when it ends."""
    return (
        isinstance(target, Field)
        and target.is_gradient
        and not ledger.outer_adjoints.is_set(target.symbol)
    )


def _is_input(program: Program, target: Target) -> bool:
    """Return whether the program asked for the gradient of a field or an ndarray."""
    if isinstance(target, Ndarray):
        return target.grad is not None
    return target.has(ADJOINT) and target.symbol not in program.derivatives.hidden


def warn_of_views(ledger: Ledger, launch: Launch | None = None) -> None:
    """Say where Python has views of what carries a derivative now, after a launch of a kernel or
    another change."""
    views = ledger.program.threads.views
    if not views.handed or (launch is not None and not _reaches(launch, views)):
        return
    ledger.carriers.follow(ledger.entries)
    for key in views:
        array = key if isinstance(key, str) else ledger.arrays.table.by_key.get(key)
        if array in ledger.carriers.carrying:
            warn_of_view(ledger.program, key, _describe(array), "tape")


def _reaches(launch: Launch, views: Views) -> bool:
    """Return whether floats made of others get to something of which there are views."""
    targets = [flow.target for flow in launch.variant.notes.flows().between]
    return any(
        (target if isinstance(target, str) else launch.array(target).address) in views
        for target in targets
    )


def warn_of_write(ledger: Ledger, target: Target, box: Box, place: str) -> None:
    """Python writes to a box of a field or an array, which may carry a derivative."""
    ledger.carriers.follow(ledger.entries)
    array = ledger.name_of(target)
    if ledger.carriers.overwritten(array, box):
        warn_once(
            ledger.program,
            place,
            f"{place}: {_describe(array)} is written in Python inside a tape, over a value that "
            "carries a derivative and that no kernel has read since: that derivative is lost",
        )


def warn_of_carried_result(ledger: Ledger, launch: Launch) -> None:
    """A kernel returns something to Python, which may carry a derivative."""
    names: dict[int, TapeArray] = (
        {
            number: ledger.arrays.table.know(launch.arrays[position], launch.kernel.__name__)
            for number, position in launch.variant.array_positions.items()
        }
        if launch.arrays
        else {}
    )
    if any(
        ledger.carriers.has_gradient(source if isinstance(source, str) else names[source])
        for source in launch.variant.notes.flows().results
    ):
        warn_of_result(ledger.program, launch.kernel, "tape")


def _describe(array: FlowArray) -> str:
    return array.describe() if isinstance(array, TapeArray) else f"'{array}'"


Array = Hashable


def next_on_the_way(
    flows: Iterable[Sequence[Flow]], outputs: Collection[Array]
) -> dict[Array, Array]:
    """For each array from which an output is reached, the next one; `flows` are those of launches,
    last first."""
    follows: dict[Array, Array] = {}
    for group in flows:
        for flow in group:
            if flow.target in outputs or flow.target in follows:
                for source in flow.sources:
                    if source not in outputs and source != flow.target:
                        follows.setdefault(source, flow.target)
    return follows


def chain(first: Array, follows: dict[Array, Array]) -> str:
    """The way from an array to an output, in words."""
    way = [first]
    while way[-1] in follows and follows[way[-1]] not in way:
        way.append(follows[way[-1]])
    return " -> ".join(map(str, way))
