"""Graphs whose launches pause: what runs of a launch, and the parts that may end it."""

from __future__ import annotations

import ast
from typing import Any

from mlirad.errors import TaichiCompilationError, TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.building.regions import if_op
from mlirad.frontend.python.places.arrays import ArrayRef, array_ref
from mlirad.frontend.python.translation.scopes import Flag
from mlirad.frontend.python.translation.translator import Static, Translator
from mlirad.frontend.python.values import scalar as ex
from mlirad.types import u1

SIGNATURE = "qd.checkpoint(cp_id, yield_on=flag)"
NO_CHECKPOINT = -1
NOT_REACHED = -2  # a launch that was to resume where there is no checkpoint


class Checkpoints:
    """The checkpoints of a kernel, and two integers in memory for its launches: the number of the
    checkpoint to resume at, and that of the one that paused, or `NO_CHECKPOINT`. Numbers are places
    in `labels`."""

    def __init__(self) -> None:
        self.labels: list[int] = []
        self.resumed: Any = None
        self.paused: Any = None

    def number(self, label: int) -> int:
        """Return the number of a checkpoint, by its label."""
        if label not in self.labels:
            self.labels.append(label)
        return self.labels.index(label)


class Gate:
    """Decides whether a part of a launch runs: it does from the checkpoint at which the launch
    resumes to the one that pauses it."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self.checkpoints = checkpoints
        self.labels: list[int] = []
        self.is_inside = False  # a checkpoint is around
        self._resumed = _scalar(checkpoints.resumed).load()
        self._paused = _scalar(checkpoints.paused)
        self._is_reached, self._is_running = Flag(), Flag()
        if_op((self._resumed != NO_CHECKPOINT).value, lambda: self._is_reached.set(False))

    def is_open(self) -> ex.Expr:
        """Return whether what follows runs."""
        is_reached = ex.Expr(self._is_reached.read(), u1)
        return ex.select(is_reached, ex.Expr(self._is_running.read(), u1), False)

    def enter(self, label: int) -> None:
        """Begin a checkpoint: from here on a launch that resumes at it runs."""
        number = self.checkpoints.number(label)
        if_op((self._resumed == number).value, lambda: self._is_reached.set(True))

    def leave(self, label: int, flag: ArrayRef) -> None:
        """End a checkpoint: if it ran, and its flag is set, nothing behind it runs."""
        number = self.checkpoints.number(label)

        def pause() -> None:
            self._is_running.set(False)
            self._paused.store(number)

        is_set = ex.cast(flag.element([]).load() != 0, u1)
        if_op(ex.select(self.is_open(), is_set, False).value, pause)

    def finish(self) -> None:
        """Note that the checkpoint to resume at was not there."""

        def note() -> None:
            self._paused.store(NOT_REACHED)

        if_op(ex.logical_not(ex.Expr(self._is_reached.read(), u1)).value, note)


def _scalar(array: Any) -> Any:
    reference = array_ref(array)
    assert reference is not None
    return reference.element([])


def checkpoint(t: Translator, call: ast.Call, body: list[ast.stmt]) -> None:
    """Translate `with qd.checkpoint(label, yield_on=flag)`, which ends a launch if the flag is set
    behind it. Its loops run if the launch has come so far; no other statement may be in it but
    conditions."""
    gate = t.builder.gate
    if gate is None:
        raise TaichiSyntaxError("qd.checkpoint() requires @qd.kernel(graph=True, checkpoints=True)")
    if gate.is_inside:
        raise TaichiSyntaxError("qd.checkpoint() cannot be nested")
    label, flag = _arguments(t, call)
    if label in gate.labels:
        raise TaichiSyntaxError(f"cp_id {label!r} is already used by another checkpoint")
    gate.labels.append(label)
    gate.is_inside = True
    gate.enter(label)
    try:
        for statement in body:
            _visit(t, gate, statement)
    finally:
        gate.is_inside = False
    gate.leave(label, flag)


def _visit(t: Translator, gate: Gate, statement: ast.stmt) -> None:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return
    if not isinstance(statement, ast.For | ast.While | ast.If | ast.With | ast.Pass):
        kind = type(statement).__name__
        raise TaichiSyntaxError(
            f"qd.checkpoint(): a bare top-level {kind} statement is not supported, as it would run "
            "in every launch; put it into 'for _ in range(1):'",
            t.place_of(statement),
        )
    is_gated = isinstance(statement, ast.With) or (
        isinstance(statement, ast.For) and not isinstance(t.visit(statement.iter), Static)
    )
    if is_gated:
        t.visit(statement)
        return

    def visit() -> None:
        with t.at_run_time(), t.frame.scope():
            t.visit(statement)

    if_op(gate.is_open().value, visit)


def _arguments(t: Translator, call: ast.Call) -> tuple[int, ArrayRef]:
    """Return the label and the flag of a checkpoint."""
    arguments = dict(zip(("cp_id", "yield_on"), call.args))
    for keyword in call.keywords:
        if keyword.arg not in ("cp_id", "yield_on") or keyword.arg in arguments:
            raise TaichiSyntaxError(f"unexpected keyword argument '{keyword.arg}' of {SIGNATURE}")
        arguments[keyword.arg] = keyword.value
    if len(call.args) > 2:
        raise TaichiSyntaxError(f"too many arguments of {SIGNATURE}")
    for name in ("cp_id", "yield_on"):
        if name not in arguments:
            raise TaichiSyntaxError(f"missing required argument `{name}` of {SIGNATURE}")
    label = t.visit(arguments["cp_id"])
    if not isinstance(label, int) or isinstance(label, bool):
        raise TaichiSyntaxError(
            "the cp_id of a checkpoint must be an int literal or an IntEnum value"
        )
    return label, counter_array(t, arguments["yield_on"], "the yield_on of qd.checkpoint")


def counter_array(t: Translator, node: ast.expr, role: str) -> ArrayRef:
    """Return the array of one integer that an argument names. Raises TaichiSyntaxError for what is
    no array, and TaichiTypeError for another array."""
    if not isinstance(node, ast.Name | ast.Attribute):
        raise TaichiSyntaxError(f"{role} must reference a kernel ndarray argument by its name")
    unresolved = f"{role}: '{ast.unparse(node)}' does not resolve to an ndarray kernel parameter"
    try:
        array = array_ref(t.visit(node))
    except TaichiCompilationError as error:
        raise TaichiSyntaxError(unresolved) from error
    if array is None:
        raise TaichiSyntaxError(f"{unresolved}, nor to a field")
    if not isinstance(array, ArrayRef) or array.shape or array.element_shape:
        raise TaichiTypeError(f"{role} is an array of shape ()")
    if not array.dtype.is_integer:
        raise TaichiTypeError(f"{role} is an integer, not {array.dtype}")
    return array
