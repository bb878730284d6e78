"""Walks over expressions that do not recurse: a program may nest them as deep as it likes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
N = TypeVar("N", bound=Hashable)
Steps = Generator[Any, Any, T]  # yields the steps of another computation for their result


def in_order(root: N, operands_of: Callable[[N], Sequence[N]]) -> list[N]:
    """A node and all that it is made of, each once and behind its parts."""
    ordered = dict[N, None]()
    pending = [(root, False)]
    while pending:
        node, are_parts_done = pending.pop()
        if are_parts_done:
            ordered[node] = None
        elif node not in ordered:
            pending.append((node, True))
            pending += [(operand, False) for operand in reversed(operands_of(node))]
    return list(ordered)


def unwound(steps: Steps[T]) -> T:
    """The result of steps, each of which may wait for the result of other ones."""
    pending: list[Steps[Any]] = [steps]
    result: Any = None
    try:
        while pending:
            try:
                needed = pending[-1].send(result)
            except StopIteration as end:
                pending.pop()
                result = end.value
            else:
                pending.append(needed)
                result = None
        return result
    finally:
        while pending:
            pending.pop().close()
