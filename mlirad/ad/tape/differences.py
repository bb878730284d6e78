"""Gradients against finite differences, and which launch it is that disagrees."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from mlirad.ad.recording.entries import Entry, HostWrite
from mlirad.ad.tape.kinks import Kink, find_kink
from mlirad.ad.tape.seeds import as_list
from mlirad.ad.tape.slopes import STEPS, agree, slope
from mlirad.ad.tape.snapshot import Snapshot
from mlirad.ad.tape.suspects import suspicious
from mlirad.errors import TaichiAssertionError, TaichiRuntimeError, TaichiTypeError
from mlirad.lang.callers import program_frame
from mlirad.lang.field.field import Field
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import Target
from mlirad.runtime.derivative_kind import ADJOINT
from mlirad.runtime.program import Program
from mlirad.types import f64

ELEMENTS = (
    32  # perturbed one by one; more of them only along random directions, and a sample by itself
)
_ANOMALY = "ti.ad.Tape(loss, anomaly=True) names the line that makes the first NaN or infinity"
Array = np.ndarray[Any, Any]


def fields_of(wrt: object, user: str) -> list[Field]:
    """One field or several, each with a gradient. Raises TaichiTypeError for anything else."""
    fields = as_list(wrt)[0]
    for field in fields:
        if not isinstance(field, Field) or not field.has(ADJOINT):
            name = (
                f"field '{field.symbol}', which has none: declare it with needs_grad=True"
                if isinstance(field, Field)
                else f"a {type(field).__name__}{_field_instead(field)}"
            )
            raise TaichiTypeError(f"{user} takes fields that have a gradient, not {name}")
    return fields


def _field_instead(value: object) -> str:
    """Return what to pass in place of something that is no field."""
    if isinstance(value, Ndarray):
        return ": copy it into one inside of the program, x.copy_from(a), and check x"
    return ""


def check_loss_type(loss: Target) -> None:
    """Raise TaichiAssertionError unless a loss is in double precision."""
    if loss.dtype != f64:
        raise TaichiAssertionError(
            f"gradients are checked in f64, but the loss has type {loss.dtype}"
        )


def compare(
    fields: Sequence[Field],
    loss: Target,
    entries: Sequence[Entry],
    start: Snapshot,
    run: Callable[[], object],
    rel: float,
) -> None:
    """Compare the gradients that lie in `fields` with differences of `loss`, as `run` computes it
    from `start`.

    Memory is afterwards what it was before. Raises TaichiAssertionError naming the element and the
    launch of `entries` that disagree, and TaichiRuntimeError if `run` does not give the same loss
    again, or writes to array arguments.
    """
    _refuse_arrays(entries)
    kinks, flat, recorded = list[str](), list[str](), _value(loss)
    gradients = [field.derivative(ADJOINT).find_memory().elements.read() for field in fields]

    def evaluate(field: Field | None = None, change: Array | float = 0.0) -> float:
        start.restore()
        clear_gradients(start.program)  # which the program may use
        loss.fill(0)
        if field is not None:
            elements = field.find_memory().elements
            elements.write(elements.read() + change)
        run()
        return _value(loss)

    with _memory_put_back(start.program):
        _check_same_loss(recorded, evaluate())
        for field, gradient in zip(fields, gradients):
            is_flat = not gradient.any()
            for direction in _directions(gradient.shape):
                derivative = float((gradient * direction).sum())
                after = partial(_after, evaluate, field, direction)
                slopes = [slope(after, step) for step in STEPS]
                is_flat = is_flat and not any(slopes)
                if agree(derivative, slopes, rel, recorded):
                    continue
                text, kink = _statement(field, direction, derivative), find_kink(after)
                is_along_several = np.count_nonzero(direction) > 1
                if kink and (is_along_several or kink.allows(derivative, rel, recorded)):
                    kinks.append(f"{text}: {kink}")
                    continue
                why = kink or suspicious(entries, start, loss, rel)
                raise TaichiAssertionError(_message(text, derivative, slopes, why))
            if is_flat:
                flat.append(field.symbol)
    _warn_of_kinks(kinks)
    _warn_of_no_dependence(flat)


def _after(
    evaluate: Callable[[Field, Array], float], field: Field, direction: Array, step: float
) -> float:
    """Return the loss after a step of a field."""
    return evaluate(field, step * direction)


def _warn_of_no_dependence(names: Sequence[str]) -> None:
    """Warn of fields that a loss does not depend on: then any gradient of 0 agrees."""
    for name in names:
        warnings.warn(
            f"the gradient with respect to '{name}' and its differences are all 0: the loss does "
            f"not depend on '{name}' here. Does the program read it, and does it leave it as it "
            "finds it?",
            stacklevel=program_frame()[1],
        )


def _warn_of_kinks(kinks: Sequence[str]) -> None:
    """Warn of points at which a gradient cannot be compared."""
    if kinks:
        more = f" ({len(kinks) - 1} more)" * (len(kinks) > 1)
        text = f"the loss is not smooth where its gradient is checked. {kinks[0]}{more}"
        warnings.warn(text, stacklevel=program_frame()[1])


def _refuse_arrays(entries: Sequence[Entry]) -> None:
    for entry in entries:
        if entry.writes_arrays():
            raise TaichiRuntimeError(
                f"gradients can only be checked if a program writes to fields alone, but {entry} "
                "writes to an array argument"
            )


@contextmanager
def _memory_put_back(program: Program) -> Iterator[None]:
    """Let memory be afterwards what it was before, and count no change."""
    end, threads = Snapshot(program, with_gradients=True), program.threads
    changed, written = threads.state.changed, dict(threads.written)
    try:
        yield
    finally:
        end.restore()
        threads.state.changed, threads.written = changed, written


def _check_same_loss(recorded: float, again: float) -> None:
    if not math.isfinite(recorded):
        raise TaichiAssertionError(f"the loss is {recorded}, so its gradient is none: {_ANOMALY}")
    if not abs(again - recorded) <= 1e-12 * (1 + abs(recorded)):
        raise TaichiRuntimeError(
            "the program cannot be checked: from the same fields it computes a loss of "
            f"{recorded!r}, then of {again!r}; pass ti.ad.check the function that computes the "
            "loss"
        )


def clear_gradients(program: Program) -> None:
    """Set the gradients of all fields to 0, as a tape does that is entered."""
    for memory in program.derivatives.gradients.values():
        memory.fill(0)


def repeat(entries: Sequence[Entry]) -> None:
    """Do again what a tape recorded. Raises TaichiRuntimeError where what Python wrote was not
    kept."""
    for entry in entries:
        if isinstance(entry, HostWrite) and entry.written is None:
            raise TaichiRuntimeError(
                "a tape in which Python wrote to fields must be checked with grad_check=, or by "
                "passing ti.ad.check the function that computes the loss"
            )
        entry.repeat()


def _statement(field: Field, direction: Array, derivative: float) -> str:
    """Return what the gradient is along a direction, in words."""
    places = np.argwhere(direction)
    where = f"{[int(k) for k in places[0]]}" if len(places) == 1 else " along a random direction"
    return f"In '{field.symbol}'{where} the gradient is {derivative!r}"


def _message(text: str, derivative: float, slopes: Sequence[float], why: Kink | str) -> str:
    nearest = min(slopes, key=lambda slope: abs(slope - derivative))
    hint = "" if math.isfinite(derivative) else f"; {_ANOMALY}"
    return (
        f"Grad check failed: Not all pass finite difference check. {text}, finite differences give "
        f"{nearest!r}; {why}{hint}"
    )


def _value(loss: Target) -> float:
    return float(loss.to_numpy().item())


def _directions(shape: tuple[int, ...]) -> list[Array]:
    """Unit directions, for many elements of some of them, and random ones."""
    size = int(np.prod(shape))
    random = np.random.default_rng(size)
    chosen = range(size) if size <= ELEMENTS else random.choice(size, ELEMENTS, replace=False)
    directions = [(np.arange(size) == k).astype(float).reshape(shape) for k in chosen]
    return directions if size <= ELEMENTS else [random.uniform(-1, 1, shape), *directions]
