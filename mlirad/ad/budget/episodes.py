"""Episodes: launches to run again, and copies, that bring contents to memory."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from heapq import heapify, heappop, heappush

import msgspec

from mlirad.ad.budget.graph import Content, Graph

Holds = Callable[[int], int]  # the launch that made what a unit holds


class Episode(msgspec.Struct):
    """An episode: launches in order; `copies`: contents that are copied back; `standing`: those in
    memory already."""

    steps: list[int]
    copies: set[Content]
    standing: set[Content]
    targets: dict[int, list[Content]]  # by the launch that makes them


def closure(
    graph: Graph,
    copies: Container[Content],
    holds: Holds,
    targets: Sequence[Content],
    moved: Container[Content],
) -> Episode:
    """Return how to make contents (`targets`): by launches, as far as they are neither in `copies`
    nor in memory, or are about to be `moved` from there."""
    episode = Episode([], set(), set(), {})
    queue = [(-maker, unit) for unit, maker in targets]
    heapify(queue)
    queued: set[Content] = set(targets)
    while queue:
        before, unit = heappop(queue)
        content = unit, -before
        if content in copies:
            episode.copies.add(content)
        elif holds(unit) == content[1] and content not in moved:
            episode.standing.add(content)
        else:
            maker = content[1]
            assert not graph.is_source(content), f"content {content} was not kept"
            if maker not in episode.targets:
                episode.steps.append(maker)
            episode.targets.setdefault(maker, []).append(content)
            for operand in graph.inputs(maker, [unit]):
                if operand not in queued:
                    queued.add(operand)
                    heappush(queue, (-operand[1], operand[0]))
    episode.steps.reverse()
    return episode


def in_the_way(graph: Graph, holds: Holds, episode: Episode) -> list[Content]:
    """The contents in memory that something else displaces, before they are used."""
    if not episode.standing:
        return []
    first: dict[int, int] = {}  # by unit, the launch that first displaces what it holds
    for number in reversed(episode.steps):
        for unit in graph.steps[number].writes:
            if number != holds(unit) or not graph.steps[number].is_stable(unit):
                first[unit] = number
    units = {unit for unit, _ in episode.copies}
    return [
        content
        for content in sorted(episode.standing)
        if (content[0] in units or first.get(content[0], content[1] + 1) <= content[1])
    ]


def last_uses(
    graph: Graph, loose: Container[Content], episode: Episode, time: int
) -> dict[int, Content]:
    """Return by unit the content of a copy that is the first to come there and that no earlier
    reverse uses: the copy has space for what the unit holds."""
    first: dict[int, int] = {}
    for unit, maker in episode.copies:
        first[unit] = min(maker, first.get(unit, maker))
    written: dict[int, int] = {}
    for number in reversed(episode.steps):
        written.update(dict.fromkeys(graph.steps[number].writes, number))
    again = episode.steps and episode.steps[-1] == time - 1
    lent = set(graph.lent(time - 1)) if again else ()
    return {
        unit: (unit, maker)
        for unit, maker in first.items()
        if (unit, maker) in loose
        and graph.first_use[unit, maker] >= time - 1
        and written.get(unit, time) > maker
        and (unit, maker) not in lent
    }
