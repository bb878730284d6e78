"""Dependencies of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiTypeError
from mlirad.ir.te_regions import erase_unused
from mlirad.ir.walk import captured_values, owner_operation
from mlirad.te.graph import graph
from mlirad.te.places import place
from mlirad.te.tensor import Tensor


@in_turn
def consumed_tensors(tensor: Tensor) -> list[Tensor]:
    """The tensors that a definition reads and makes use of: derivatives read more."""
    op = owner_operation(tensor.value)
    if not len(op.regions):
        return []
    erase_unused(op)
    definitions = graph()
    return [definitions.tensor(value) for value in captured_values(op) if _is_tensor(value)]


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def is_stopped(tensor: Tensor) -> bool:
    """Return whether no derivative passes through a definition."""
    return te.STOP in owner_operation(tensor.value).attributes


@in_turn
def stop(tensor: Tensor) -> None:
    """Let no derivative pass through a definition."""
    with graph().defining(tensor.place):
        owner_operation(tensor.value).attributes[te.STOP] = ir.UnitAttr.get()


def is_given(tensor: Tensor) -> bool:
    """Return whether a call gives a tensor."""
    return te.PlaceholderOp.holds(owner_operation(tensor.value))


def behind(
    outputs: Sequence[Tensor], sources: Callable[[Tensor], Sequence[Tensor]] = consumed_tensors
) -> list[Tensor]:
    """Return tensors and all that they are made of, each behind those that it reads.

    Raises TaichiTypeError if `sources`, which say what one is made of, go round in a circle.
    """
    ordered, begun = dict[Tensor, None](), set[Tensor]()
    pending = [(tensor, False) for tensor in reversed(outputs)]
    while pending:
        tensor, is_done = pending.pop()
        if is_done:
            ordered[tensor] = None
        elif tensor not in ordered:
            if tensor in begun:
                raise TaichiTypeError(
                    f"a cycle: an override makes '{tensor.name}' depend on a tensor that depends "
                    "on it",
                    place(),
                )
            begun.add(tensor)
            pending.append((tensor, True))
            pending += [(source, False) for source in sources(tensor)]
    return list(ordered)
