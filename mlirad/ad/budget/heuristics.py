"""Which content to give up first: that of the lowest score.

Those of Kirisame et al. (Dynamic Tensor Rematerialization, ICLR 2021), whose staleness is here how
far the launch that made a content lies in front of the place that the sweep has come to: a reverse
comes to the last ones first. `balanced` divides by a power of it: on a chain of equal steps, of
which r are run again for each at most, the gaps of a binomial schedule grow with that power.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Candidate(NamedTuple):
    """A content that may be given up.

    `alone`: what its launch costs; `around`: what would run again with it; `age`: launches between
    the one that made it and where the sweep is; `repetitions`: how often a launch would be run
    again at most, by a binomial schedule for so many contents in as much room.
    """

    size: int
    alone: float
    around: float
    age: int
    repetitions: int


Heuristic = Callable[[Candidate], float]


def neighbourhood(candidate: Candidate) -> float:
    """The paper's `h_DTR`, with its neighbourhoods as disjoint sets."""
    return candidate.around / (candidate.size * candidate.age)


def local(candidate: Candidate) -> float:
    """`h_DTR_local`: what is around does not count."""
    return candidate.alone / (candidate.size * candidate.age)


def oldest(candidate: Candidate) -> float:
    """`h_LRU`."""
    return 1.0 / candidate.age


def largest(candidate: Candidate) -> float:
    """`h_size`."""
    return 1.0 / candidate.size


def cheapest(candidate: Candidate) -> float:
    """`h_MSPS`: what would run again for each byte."""
    return candidate.around / candidate.size


def balanced(candidate: Candidate) -> float:
    """`h_DTR` with a power of the age, that of a binomial schedule."""
    power = 1.0 - 1.0 / max(1, candidate.repetitions)
    return candidate.around / (candidate.size * float(candidate.age + 1) ** power)


HEURISTICS: dict[str, Heuristic] = {
    "balanced": balanced,
    "neighbourhood": neighbourhood,
    "local": local,
    "oldest": oldest,
    "largest": largest,
    "cheapest": cheapest,
}
