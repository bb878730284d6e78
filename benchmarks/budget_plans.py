"""Count the launches that a tape repeats within a memory limit. Only the planner runs, no kernel.

    python -m benchmarks.budget_plans

Chains of equal steps are compared with the binomial schedule (Griewank and Walther, Algorithm 799:
revolve, ACM TOMS 26, 2000) with the same memory. Chains of unequal steps, trees and U-shaped graphs
get fractions of the memory that all their states take. The seconds are processor time of the
planner alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from math import isqrt
from random import Random

from mlirad.ad.budget.graph import Content, Graph, Step
from mlirad.ad.budget.planner import Planner
from mlirad.ad.checkpoint.schedule import executions

PARTS = (0.5, 0.25, 0.1)


class Nothing:
    """A machine that does nothing."""

    def keep(self, content: Content) -> None:
        """Copy nothing."""

    def drop(self, content: Content) -> None:
        """Let go of nothing."""

    def put(self, content: Content) -> None:
        """Let no unit hold anything."""

    def exchange(self, content: Content, other: Content) -> None:
        """Exchange nothing."""

    def run(self, step: int) -> None:
        """Launch nothing."""

    def reverse(self, step: int) -> None:
        """Reverse nothing."""

    def take_apart(self, contents: Sequence[Content], parts: Sequence[int]) -> None:
        """Take nothing apart."""


def planned(graph: Graph, budget: int) -> tuple[Planner, float]:
    """Record a graph's steps and reverse them; the planner, and its seconds."""
    fresh = Graph()
    for size in graph.sizes:
        fresh.unit(size)
    planner = Planner(Nothing(), lambda: budget, graph=fresh)
    begun = time.thread_time()
    for step in graph.steps:
        planner.record(step)
    planner.reverse()
    return planner, time.thread_time() - begun


def repeated(planner: Planner) -> float:
    """The cost of what ran again."""
    steps = planner.graph.steps
    return sum(steps[step].cost * times for step, times in planner.repeated.items())


def chain(steps: int, seed: int | None = None) -> Graph:
    """Steps that overwrite a state; of unequal costs, and a state in one to four arrays of unequal
    sizes, with a seed."""
    graph, draw = Graph(), Random(seed)
    states = [graph.unit(1)]
    if seed is not None:
        states += [graph.unit(draw.choice([2, 4, 8])) for _ in range(3)]
    for number in range(steps):
        state = states[number % len(states)]
        read = tuple({state, states[number % len(states) - 1]})
        cost = 1.0 if seed is None else draw.choice([1.0, 2.0, 10.0])
        graph.add(Step(read, (state,), before=(state,), cost=cost))
    return graph


def tree(depth: int) -> Graph:
    """Nodes made of two others, in arrays that are used again from level to level."""
    graph = Graph()
    units = [graph.unit(1) for _ in range(2**depth)]
    for level in range(depth):
        for node in range(2 ** (depth - level - 1)):
            left, right = units[2 * node], units[2 * node + 1]
            graph.add(Step((left, right), (units[node],), before=(units[node],)))
    return graph


def u_shape(depth: int, rounds: int) -> Graph:
    """Encoders and decoders with skips, in arrays of half the size at each level."""
    graph = Graph()
    units = [graph.unit(2 ** (depth - level)) for level in range(depth + 1)]
    for _ in range(rounds):
        for level in range(depth):
            made = units[level + 1]
            cost = float(graph.sizes[units[level]])
            graph.add(Step((units[level],), (made,), needs=(units[level],), cost=cost))
        for level in reversed(range(depth)):
            read, made = units[level + 1], units[level]
            cost = float(graph.sizes[made])
            graph.add(Step((read, made), (made,), needs=(read,), before=(made,), cost=cost))
    return graph


def chains(lengths: Sequence[int]) -> None:
    """The table of chains of equal steps."""
    print("| T | states | binomial | within the budget | over it | planner, us a launch |")
    print("|---|---|---|---|---|---|")
    for steps in lengths:
        for states in (steps.bit_length(), isqrt(steps), steps // 10, steps // 4):
            planner, seconds = planned(chain(steps), states + 1)
            least = executions(steps, states) - 2 * steps
            found = sum(planner.repeated.values())
            each = 1e6 * seconds / (steps + found)
            print(
                f"| {steps:,} | {states:,} | {least:,} | {found:,} | {found / least:.3f} ", end=""
            )
            print(f"| {each:.0f} |", flush=True)


def others() -> None:
    """The table of other graphs: how much more is run than once."""
    graphs: dict[str, Callable[[], Graph]] = {
        "chain of 1,000 unequal steps": lambda: chain(1000, 1),
        "tree of 512 leaves": lambda: tree(9),
        "U of 2 x 6 levels, 20 times": lambda: u_shape(6, 20),
    }
    print("| | " + " | ".join(f"{part:.0%} of the bytes" for part in PARTS) + " |")
    print("|---|" + "---|" * len(PARTS))
    for name, make in graphs.items():
        graph = make()
        once = sum(step.cost for step in graph.steps)
        everything = planned(graph, 10**9)[0].room.peak
        cells = []
        for part in PARTS:
            budget = max(graph.least(), int(part * everything))
            more = repeated(planned(graph, budget)[0]) / once
            cells.append(f"{more:.2f}" + (" (the least)" if budget == graph.least() else ""))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.budget_plans",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--lengths",
        type=int,
        nargs="+",
        default=[100, 1000, 10_000],
        metavar="STEPS",
        help="lengths of the chains of equal steps (default: 100 1000 10000)",
    )
    settings = parser.parse_args(arguments)
    chains(settings.lengths)
    others()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
