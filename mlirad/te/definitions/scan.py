"""`te.scan`: recurrences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiTypeError
from mlirad.ir.walk import has_uses
from mlirad.te.definitions.arguments import (
    call_function,
    check_arguments,
    describe,
    fits,
    refuse,
    shown_value,
)
from mlirad.te.definitions.bounds import check_reads
from mlirad.te.definitions.compute import check_axes, compute, define, placeholder, tensor_type
from mlirad.te.definitions.size_needs import note_needs
from mlirad.te.emission import Emitter
from mlirad.te.expressions import (
    INDEX,
    Axis,
    Branches,
    Expr,
    Extent,
    Operand,
    Read,
    Reduction,
    by_ranges,
    cast,
    expr,
)
from mlirad.te.expressions.normal_form import replace_nodes
from mlirad.te.graph import graph
from mlirad.te.places import place
from mlirad.te.tensor import Tensor, checked_extent, same_shape

UNROLLED = 64  # steps of recurrences that go from all states to all


@check_arguments
@in_turn
def scan(
    length: Any, initial: Tensor | Sequence[Tensor], update: Callable[..., Any], name: str = "scan"
) -> Any:
    """Return the states of a recurrence: `h = te.scan(T, h0, lambda t, h, i: 0.9 * h[i] + x[t,
    i])`.

    If each element depends only on the same element of the previous state, the steps become a loop,
    and `length` may be a size. Otherwise each step is a definition, and at most 64 steps are
    possible.

    Args:
        length: the number of steps.
        initial: the state before the first step: a tensor, or a list of tensors of the same shape
            and type.
        update: `update(t, state, *indices)` returns an element of the state after step t, or as
            many as there are states.
        name: a name for messages.

    Returns:
        A tensor of shape `(length + 1, *initial.shape)` that starts with the initial state, or one
        for each state.

    Raises:
        TaichiTypeError: there are more than 64 such steps, or their number is a size.
    """
    states = [initial] if isinstance(initial, Tensor) else list(initial)
    steps = checked_extent(length, "scan: length")
    _check_states(states)
    first = states[0]
    axes = [Axis(INDEX, f"i{k}", extent) for k, extent in enumerate(first.shape)]
    number = Axis(INDEX, "t", steps)
    before = [placeholder(state.shape, state.dtype, state.name) for state in states]
    values = _elements_after_step(update, number, before, axes)
    needs = []
    for value in values:
        check_axes(value, {number, *axes})
        needs += check_reads(value, (steps, *first.shape))
    is_within = any(has_uses(state.value) for state in before)  # what the update defines
    if not is_within and all(_is_local(value, before, axes) for value in values):
        stand_ins = {state: Axis(state.dtype, state.name, 0) for state in before}
        histories = _loop(steps, states, stand_ins, values, [number, *axes], name)
    else:
        histories = _unroll(steps, states, update, name)
    for history in histories:
        note_needs(history, needs)
    return histories[0] if isinstance(initial, Tensor) else histories


def _elements_after_step(
    update: Callable[..., Any], step: Expr, states: Sequence[Tensor], axes: Sequence[Axis]
) -> list[Expr]:
    """The elements behind a step. Raises TaichiTypeError for another number of them."""
    before = states[0] if len(states) == 1 else list(states)
    results = call_function(update, (step, before, *axes), "scan: update")
    results = results if isinstance(results, tuple | list) else [results]
    if len(results) != len(states):
        refuse("scan", "update", f"returns {len(results)} numbers for {len(states)} states")
    for result in results:
        if not fits(result, Operand):
            refuse("scan", "update", f"returns {shown_value(result)}, expected {describe(Operand)}")
    values = [expr(result) for result in results]
    return [cast(value, states[0].dtype) for value in values]


def _check_states(states: Sequence[Tensor]) -> None:
    if not states:
        refuse("scan", "initial", "is empty: expected at least one state")
    for state in states:
        if state.dtype != states[0].dtype or not same_shape(state.shape, states[0].shape):
            why = "scan: initial: the states of a recurrence must have the same shape and type"
            raise TaichiTypeError(why, place())


def _is_local(body: Expr, states: Sequence[Tensor], axes: Sequence[Axis]) -> bool:
    """Return whether states are read at the element's own indices alone, and nothing is reduced."""

    def is_elsewhere(node: Expr) -> bool:
        if not isinstance(node, Read) or all(node.tensor is not state for state in states):
            return isinstance(node, Reduction)
        return any(index is not axis for index, axis in zip(node.indices, axes))

    return not any(map(is_elsewhere, body.nodes()))


def _loop(
    steps: Extent,
    states: Sequence[Tensor],
    before: dict[Tensor, Axis],
    values: Sequence[Expr],
    axes: Sequence[Axis],
    name: str,
) -> list[Tensor]:
    first, definitions, at, count = states[0], graph(), place(), len(states)
    for body in values:
        if Branches(body).is_deeper_than(te.MOST_NESTED):
            why = f"nests more than {te.MOST_NESTED} choices: read the values from a tensor"
            refuse("scan", "update", why)
    bodies = [_of_states(body, before) for body in values]
    shape = (steps + 1, *first.shape, *([count] if count > 1 else []))

    def begin(indices: list[ir.Value]) -> list[ir.Value]:
        return [te.read(state.value, indices) for state in states]

    def step(arguments: list[ir.Value]) -> list[ir.Value]:
        scope = dict[Expr, ir.Value](zip([*axes, *before.values()], arguments))
        emitter = Emitter(scope, definitions.extent)
        return [emitter.value(value) for value in bodies]

    with definitions.defining(at):
        type_, sizes = tensor_type(shape, first.dtype), definitions.sizes(shape)
        value = te.scan(name, type_, sizes, count, begin, step)
    history = definitions.add_tensor(Tensor(value, shape, first.dtype, name, at))
    if count == 1:
        return [history]
    return [
        compute(shape[:-1], lambda *i, k=k: history[(*i, k)], f"{name}.{state.name}")
        for k, state in enumerate(states)
    ]


def _of_states(body: Expr, stand_ins: Mapping[Tensor, Axis]) -> Expr:
    """An expression with values in the places of reads of states."""
    reads = {
        read: stand_in
        for read in body.nodes()
        for state, stand_in in stand_ins.items()
        if isinstance(read, Read) and read.tensor is state
    }
    return replace_nodes(body, reads)


def _unroll(
    steps: Extent, states: Sequence[Tensor], update: Callable[..., Any], name: str
) -> list[Tensor]:
    if not isinstance(steps, int) or steps > UNROLLED:
        raise TaichiTypeError(
            f"scan: length: '{name}' combines different elements of the states, so expected a "
            f"known number of at most {UNROLLED} steps",
            place(),
        )
    first, at = states[0], place()
    histories: list[list[Tensor]] = [[state] for state in states]
    for t in range(steps):
        current = [history[-1] for history in histories]
        axes = [Axis(INDEX, f"i{k}", extent) for k, extent in enumerate(first.shape)]
        values = _elements_after_step(update, expr(t, INDEX), current, axes)
        for history, body in zip(histories, values):  # whose reads have been looked at
            history.append(define(first.shape, axes, body, f"{name}.{t + 1}", at))
    return [_stack(history, name) for history in histories]


def _stack(history: Sequence[Tensor], name: str) -> Tensor:
    """Tensors of one shape along a first axis."""

    def element(t: Any, *indices: Any) -> Any:
        return by_ranges(t, range(1, len(history) + 1), [tensor[indices] for tensor in history])

    return compute((len(history), *history[0].shape), element, name)
