"""Explanations of a budget: what is kept, what was given up and launched again, and where the time
went."""

from __future__ import annotations

from collections.abc import Mapping

from mlirad.ad.budget.copies import Copies
from mlirad.ad.budget.planner import Planner
from mlirad.ad.budget.units import Units
from mlirad.runtime.explanation import Explanation, Row


def explain_budget(
    planner: Planner, units: Units, copies: Copies, names: Mapping[int, str], head: str
) -> Explanation:
    """A row for each array of which something is kept, and remarks: `head`, arrays by what was
    given up, kernels by what ran again, seconds."""
    room, graph = planner.room, planner.graph
    sizes: dict[str, int] = {}
    for unit, _ in (*room.fixed, *room.loose):
        name = _name(units, unit)
        sizes[name] = sizes.get(name, 0) + graph.sizes[unit]
    remarks = [f"{head}; at most {copies.peak} were held"]
    given_up: dict[str, int] = {}
    for unit, count in room.dropped.items():
        name = _name(units, unit)
        given_up[name] = given_up.get(name, 0) + count
    remarks += [f"{name}: given up {count} times" for name, count in given_up.items()]
    again: dict[str, list[int]] = {}
    for step, count in planner.repeated.items():
        again.setdefault(names.get(step, "a copy"), []).append(count)
    remarks += [
        f"kernel '{name}': launched again {sum(counts)} times, one launch at most {max(counts)} "
        f"times, {_milliseconds(copies, 'launches again', names, name)}; its reverses "
        f"{_milliseconds(copies, 'reverses', names, name)}"
        for name, counts in again.items()
    ]
    remarks.append(
        ", ".join(
            f"{activity} {1000 * seconds:.1f} ms" for activity, seconds in copies.seconds.items()
        )
    )
    rows = [Row(name, "", "", "kept", size) for name, size in sizes.items()]
    return Explanation(rows, remarks, copies.peak)


def _milliseconds(copies: Copies, activity: str, names: Mapping[int, str], name: str) -> str:
    """The time that went into the launches of a kernel, or into their reverses."""
    seconds_of_kernel = [
        seconds for step, seconds in copies.of_steps[activity].items() if names.get(step) == name
    ]
    return f"{1000 * sum(seconds_of_kernel):.1f} ms"


def _name(units: Units, unit: int) -> str:
    return str(units.places[unit][0].key)
