"""Gradients against finite differences, and which launch it is that disagrees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlirad.ad.checkpoint.snapshot import Snapshot
from mlirad.ad.functions.targets import listed
from mlirad.ad.tape.entries import Entry, HostWrite, Launch
from mlirad.ad.tape.versions import Versions
from mlirad.errors import TaichiAssertionError, TaichiRuntimeError, TaichiTypeError
from mlirad.lang.field.field import Field
from mlirad.runtime.derivative_kind import ADJOINT
from mlirad.runtime.program import Program
from mlirad.types import f64

STEPS = (2.0**-10, 2.0**-14, 2.0**-18, 2.0**-22)
ELEMENTS = (
    32  # perturbed one by one; more of them only along random directions, and a sample by itself
)
Array = np.ndarray[Any, Any]


def fields_of(wrt: Any, what: str) -> list[Field]:
    """One field or several, each with a gradient. Raises TaichiTypeError for anything else."""
    found = listed(wrt)[0]
    for field in found:
        if not isinstance(field, Field) or not field.has(ADJOINT):
            name = (
                f"field '{field.symbol}' without one"
                if isinstance(field, Field)
                else f"a {type(field).__name__}"
            )
            raise TaichiTypeError(f"{what} takes fields that have a gradient, not {name}")
    return found


def check_loss_type(loss: Any) -> None:
    """Raise TaichiAssertionError unless a loss is in double precision."""
    if loss.dtype != f64:
        raise TaichiAssertionError(
            f"gradients are checked in f64, and the loss is of type {loss.dtype}"
        )


def compare(
    fields: Sequence[Field],
    loss: Any,
    entries: Sequence[Entry],
    start: Snapshot,
    run: Callable[[], Any],
    rel: float,
) -> None:
    """Compare the gradients that lie in `fields` with differences of `loss`, as `run` computes it
    from `start`.

    Memory is afterwards what it was before. Raises TaichiAssertionError naming the element and the
    launch of `entries` that disagree, and TaichiRuntimeError where `run` does not give the same
    loss again, or writes to array arguments, which are not put back.
    """
    for entry in entries:
        if entry.writes_arrays():
            raise TaichiRuntimeError(
                f"gradients are checked where only fields are written, and {entry} writes to an "
                f"array "
                "argument"
            )
    end, changed = Snapshot(start.program, with_gradients=True), start.program.own.changed
    written = dict(start.program.written)
    recorded = _value(loss)

    def evaluate(field: Field | None = None, change: Any = 0.0) -> float:
        start.restore()
        loss.fill(0)
        if field is not None:
            field.located().view[...] += change
        run()
        return _value(loss)

    try:
        again = evaluate()
        if not abs(again - recorded) <= 1e-12 * (1 + abs(recorded)):
            raise TaichiRuntimeError(
                f"the program cannot be checked: from the same fields it gives a loss of "
                f"{recorded!r} and then of {again!r}; give ti.ad.check what computes the loss"
            )
        for field in fields:
            gradient = _adjoint(field).copy()
            for direction in _directions(gradient.shape):
                found = float((gradient * direction).sum())
                slopes = [
                    _slope(lambda h: evaluate(field, h * direction), step)  # noqa: B023 - used at once
                    for step in STEPS
                ]
                if not _agree(found, slopes, rel, recorded):
                    raise TaichiAssertionError(
                        _message(field, direction, found, slopes, rel, entries, start, loss)
                    )
    finally:
        end.restore()
        start.program.own.changed, start.program.written = changed, written


def repeat(entries: Sequence[Entry]) -> None:
    """Do again what a tape recorded. Raises TaichiRuntimeError where what Python wrote was not
    kept."""
    for entry in entries:
        if isinstance(entry, HostWrite) and entry.written is None:
            raise TaichiRuntimeError(
                "a tape in which Python wrote to fields is checked with grad_check=, or by giving "
                "ti.ad.check what computes the loss"
            )
        entry.repeat()


def _message(
    field: Field,
    direction: Array,
    found: float,
    slopes: Sequence[float],
    rel: float,
    entries: Sequence[Entry],
    start: Snapshot,
    loss: Any,
) -> str:
    places = np.argwhere(direction)
    where = f"{[int(k) for k in places[0]]}" if len(places) == 1 else " along a random direction"
    nearest = min(slopes, key=lambda slope: abs(slope - found))
    return (
        f"Grad check failed: Not all pass finite difference check. In '{field.symbol}'{where} "
        f"the gradient is "
        f"{found!r}, finite differences give {nearest!r}; {_suspect(entries, start, loss, rel)}"
    )


def _value(loss: Any) -> float:
    return float(loss.to_numpy().item())


def _adjoint(field: Field) -> Array:
    """The gradient of a field in the axes of its memory."""
    assert field.grad is not None
    return field.grad.located().view


def _directions(shape: tuple[int, ...]) -> list[Array]:
    """Unit directions, for many elements of some of them, and random ones."""
    size = int(np.prod(shape))
    random = np.random.default_rng(size)
    chosen = range(size) if size <= ELEMENTS else random.choice(size, ELEMENTS, replace=False)
    found = [(np.arange(size) == k).astype(float).reshape(shape) for k in chosen]
    return found if size <= ELEMENTS else [random.uniform(-1, 1, shape), *found]


def _slope(f: Callable[[float], float], step: float) -> float:
    """The derivative at 0 by differences of the fourth order."""
    near, far = f(step) - f(-step), f(2 * step) - f(-2 * step)
    return (8 * near - far) / (12 * step)


def _agree(found: float, slopes: Sequence[float], rel: float, scale: float) -> bool:
    return any(
        abs(found - slope) <= rel * max(abs(found), abs(slope)) + 1e-8 * (1 + abs(scale))
        for slope in slopes
    )


# Which launch disagrees with its own differences.


def _suspect(entries: Sequence[Entry], start: Snapshot, loss: Any, rel: float) -> str:
    start.restore()
    loss.fill(0)
    random = np.random.default_rng(len(entries))
    for entry in entries:
        if not _agrees_alone(entry, start.program, random, rel):
            return f"{entry} disagrees with its own finite differences"
    return (
        "every launch agrees with its own finite differences, so what passes between them is wrong"
    )


def _agrees_alone(entry: Entry, program: Program, random: np.random.Generator, rel: float) -> bool:
    """Whether the reverse of one entry is the transpose of its derivative, in random directions;
    then do it."""
    here = Snapshot(program, with_gradients=True)
    pairs = {
        symbol: program.adjoints[symbol]
        for symbol in program.fields
        if symbol in program.adjoints and program.fields[symbol].view.dtype == np.float64
    }
    moves, weights = (
        {symbol: random.uniform(-1, 1, program.fields[symbol].view.shape) for symbol in pairs}
        for _ in range(2)
    )
    if isinstance(entry, Launch):
        saved = Versions(program, "save").before_launch(entry.variant, entry.values, entry.buffers)
    else:
        saved = []
    entry.repeat()
    for memory in program.gradients.values():
        memory.fill(0)
    for symbol, adjoint in pairs.items():
        program.fields[adjoint].view[...] = weights[symbol]
    for version in saved:
        version.give_back()
    entry.reverse()
    found = sum(
        float((program.fields[adjoint].view * moves[symbol]).sum())
        for symbol, adjoint in pairs.items()
    )

    def after(h: float) -> float:
        here.restore()
        for symbol in pairs:
            program.fields[symbol].view[...] += h * moves[symbol]
        entry.repeat()
        return sum(float((program.fields[symbol].view * weights[symbol]).sum()) for symbol in pairs)

    agrees = _agree(found, [_slope(after, step) for step in STEPS], rel, after(0.0))
    here.restore()
    entry.repeat()
    return agrees
