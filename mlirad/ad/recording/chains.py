"""On which way derivatives reach an output, array by array."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence

from mlirad.runtime.footprints import Flow

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
    found = [first]
    while found[-1] in follows and follows[found[-1]] not in found:
        found.append(follows[found[-1]])
    return " -> ".join(map(str, found))
