"""`ti.ad.checkpointed`: time loops on a tape that keep few states, and run steps again for the
rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Any

from mlirad.ad.checkpoint.recorded_steps import LoopDeclaration, Statistics
from mlirad.ad.checkpoint.step_recorder import StepRecorder
from mlirad.ad.recorder.recording import Recording
from mlirad.ad.recording.sizes import bytes_of
from mlirad.ad.recording.target_memory import memory_of
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.lang.callers import caller
from mlirad.lang.field.field import Field
from mlirad.lang.layout.tree import LeafGroup
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import Recorder, Target
from mlirad.runtime.program import program


def checkpointed(
    steps: Iterable[Any] | Callable[[Any], Any],
    over: Iterable[Any] | None = None,
    *,
    state: Target | Sequence[Target] | None = None,
    snapshots: int | None = None,
    memory: int | str | None = None,
    scratch: Target | Sequence[Target] = (),
) -> CheckpointedSteps:
    """Loop over time steps so that the gradient keeps `snapshots` states, and recomputes the
    others.

    Write `for t in ti.ad.checkpointed(range(T), state=[x, v], snapshots=20):` inside a tape, with
    kernel launches and writes from Python in the body; or call
    `ti.ad.checkpointed(step, range(T), state=...)`, which calls `step(t)`. Launches are recorded
    with their arguments and random seeds, and writes from Python with their values. When a step is
    recomputed, the recorded launches and writes are repeated; the Python body does not run again.

    If the iterable has a length, the number of recomputed steps is minimal (see
    docs/checkpointing.md); otherwise it is slightly higher. The loop is an ordinary loop if nothing
    is recorded, in forward mode (`FwdMode`, `hvp`), in a tape with `memory=`, which covers all that
    it records, and in functions with their own gradient.

    Args:
        steps: the iterable, or the function that does one step.
        over: the iterable, if `steps` is a function.
        state: the fields and ti.ndarrays that steps write. A field that steps only add to
            (`loss[None] += ...`) and never read need not be listed.
        snapshots: the number of states to keep.
        memory: the memory limit, instead of `snapshots`: bytes, or a text such as "512MB". It
            covers the snapshots, a copy of the final state, and the values that two steps save for
            their reverses; those of one step are estimated to be as large as state and scratch.
        scratch: float fields that each step writes before it reads them.

    Raises:
        TaichiRuntimeError: the tape has `rules="refuse"`, `snapshots` is below 1, the memory limit
            is too low, or a step writes a field that is not listed.
        TaichiTypeError: the state is not a list of fields and ti.ndarrays.
    """
    if state is None:
        raise TaichiTypeError(
            "ti.ad.checkpointed() takes state=, the fields that a step writes, and snapshots= or "
            "memory=: ti.ad.checkpointed(range(100), state=[x, v], snapshots=10)"
        )
    tape = _tape()
    declared = declared_of(state, scratch, snapshots, memory)
    if over is None:
        return CheckpointedSteps(tape, steps, declared)
    if not callable(steps):
        raise TaichiTypeError(
            "ti.ad.checkpointed(step, over, ...): expected a function as step, got "
            f"{type(steps).__name__}"
        )
    loop = CheckpointedSteps(tape, over, declared)
    for t in loop:
        steps(t)
    return loop


def _tape() -> Recording | None:
    """The tape that steps are recorded for; None where they are not: outside of a tape, in forward
    mode or for second derivatives, or where the tape itself has launches run again within a
    budget."""
    recorder: Recorder | None = program().threads.recorder
    tape = recorder.tape if isinstance(recorder, StepRecorder) else recorder
    if not isinstance(tape, Recording):
        return None
    if tape.ledger.rules == "refuse":
        raise TaichiRuntimeError(
            'ti.ad.checkpointed() saves snapshots, which rules="refuse" does not allow'
        )
    is_any_loop = tape.ledger.keeper.repeats_launches or not tape.ledger.order.repeats_steps
    return None if is_any_loop else tape


def declared_of(
    state: object, scratch: object, snapshots: int | None, memory: int | str | None
) -> LoopDeclaration:
    """Return the declaration of a loop. Raises TaichiTypeError for what is no state or scratch."""
    state_fields, scratch_fields = _targets(state, "state"), _targets(scratch, "scratch")
    fields = [target for target in scratch_fields if isinstance(target, Field)]
    floats = [field for field in fields if field.dtype.is_float]
    for target in scratch_fields:
        if target in state_fields:
            raise TaichiTypeError(
                f"ti.ad.checkpointed(): {_name(target)} is both in state= and in scratch="
            )
        if target not in floats:
            raise TaichiTypeError(
                f"ti.ad.checkpointed(): scratch= takes float fields: put {_name(target)} into "
                "state="
            )
    size, more = (
        sum(memory_of(target)[1].copy_bytes() for target in targets)
        for targets in (state_fields, scratch_fields)
    )
    count = _snapshots(snapshots, memory, size, more)
    return LoopDeclaration(state_fields, tuple(floats), count, caller())


class CheckpointedSteps:
    """The iterable of a checkpointed loop; `statistics` says what it cost, once its tape has run
    its reverses too."""

    def __init__(self, tape: Recording | None, over: object, declared: LoopDeclaration) -> None:
        if not isinstance(over, Iterable):
            raise TaichiTypeError(
                "ti.ad.checkpointed() expected a range or another iterable, got "
                f"{type(over).__name__}"
            )
        self._program = program()
        self._outer: Recorder | None = self._program.threads.recorder
        self._tape, self._over, self._declared = tape, over, declared
        self._begun = False
        self.statistics = Statistics()

    def __iter__(self) -> Iterator[Any]:
        if self._begun:
            raise TaichiRuntimeError(
                "a checkpointed loop can run only once: call ti.ad.checkpointed() again"
            )
        if self._program.threads.recorder is not self._outer:
            raise TaichiRuntimeError(
                "a checkpointed loop must run in the tape, and in the loop, in which it was created"
            )
        self._begun = True
        outer = self._outer
        if (
            self._tape is None  # nothing is recorded, or forward mode
            or not isinstance(outer, Recording | StepRecorder)
            or not outer.is_differentiating  # inside a function with a gradient of its own
        ):
            yield from self._over
            return
        length = len(self._over) if isinstance(self._over, Sized) else None
        recorder = StepRecorder(outer, self._declared, length, self.statistics)
        try:
            items = iter(self._over)
            while True:
                recorder.begin_step()
                try:
                    item = next(items)
                except StopIteration:
                    break
                yield item
                recorder.end_step()
        finally:
            recorder.close()


def _targets(value: object, role: str) -> tuple[Target, ...]:
    targets = [value] if isinstance(value, Field | Ndarray | LeafGroup) else value
    if not isinstance(targets, list | tuple):
        raise TaichiTypeError(
            f"ti.ad.checkpointed(): {role}=: expected a list of fields and ti.ndarrays, got "
            f"{type(value).__name__}"
        )
    single: list[Any] = [
        leaf
        for target in targets
        for leaf in (target.__leaves__() if isinstance(target, LeafGroup) else [target])
    ]
    for target in single:
        if not isinstance(target, Field | Ndarray):
            raise TaichiTypeError(
                f"ti.ad.checkpointed(): {role}=: expected fields and ti.ndarrays, got "
                f"{type(target).__name__}"
            )
        if (isinstance(target, Field) and target.primal is not None) or (
            isinstance(target, Ndarray) and target.is_gradient
        ):
            raise TaichiTypeError(
                f"ti.ad.checkpointed(): {role}= does not take gradients: {_name(target)}"
            )
        if isinstance(target, Field):
            target.find_memory()
    return tuple(dict.fromkeys(single))


def _name(target: Target) -> str:
    return (
        f"field '{target.symbol}'"
        if isinstance(target, Field)
        else f"a ti.ndarray of shape {target.shape}"
    )


def _snapshots(snapshots: int | None, memory: int | str | None, size: int, more: int) -> int:
    if (snapshots is None) == (memory is None):
        raise TaichiTypeError("ti.ad.checkpointed(): pass either snapshots= or memory=")
    if memory is None:
        if not isinstance(snapshots, int) or isinstance(snapshots, bool):
            raise TaichiTypeError(
                f"ti.ad.checkpointed(): expected a number for snapshots=, got {snapshots!r}"
            )
        if snapshots < 1:
            raise TaichiRuntimeError(
                f"ti.ad.checkpointed(): snapshots={snapshots}: expected at least 1, for the "
                "first state"
            )
        return snapshots
    count = (bytes_of(memory, "ti.ad.checkpointed()") - 3 * (size + more)) // max(size, 1)
    if count < 1:
        raise TaichiRuntimeError(
            f"ti.ad.checkpointed(): memory={memory!r} is too small: a state has {size} bytes, "
            f"and {4 * size + 3 * more} are needed for a snapshot, for the final state, "
            "and for the values that two steps save for their reverses"
        )
    return count
