"""Turn the results.json that the driver of the peers writes into markdown tables.

python -m benchmarks.peers_table results.json
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Result = dict[str, Any]
LAUNCHES = {
    "empty": "empty kernel",
    "fwd": "16 elements",
    "fwd_args": "with two scalars",
    "fwd_ndarray": "with an ndarray",
    "tape_fwd_bwd": "forward and reverse in a tape",
}
# the peer whose times are a workload's goal, its name in the table, and the ratio that is wanted
GOALS = {
    "conv2d": ("jax", "JAX", "1"),
    "mlp_kernel": ("jax", "JAX", "1"),
    "black_scholes": ("jax", "JAX", "1"),
    "matmul": ("numba", "NumPy", "1.5"),
    **dict.fromkeys(
        ("saxpy_sum", "stencil2d", "nbody", "ewma", "mass_spring", "lbm"),
        ("numba", "by hand", "1.1"),
    ),
}
KINDS = {"small": "small kernel", "p2g2d": "2-D particle to grid", "p2g3d": "3-D particle to grid"}


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers_table",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("results", type=Path, metavar="RESULTS", help="the file results.json")
    parser.add_argument(
        "--table",
        choices=("one", "two", "goals", "launches", "first-calls"),
        help="print one table only: the workloads with one thread or with two, their goals, the "
        "launches, or the first calls (default: all)",
    )
    settings = parser.parse_args()
    texts = tables(json.loads(settings.results.read_text()))
    names = [settings.table] if settings.table else list(texts)
    print("\n\n".join(texts[name] for name in names if texts[name]))


def tables(results: Result) -> dict[str, str]:
    """The tables by their name; empty ones of what was not run."""
    return {
        "one": workloads(results["main"], 1),
        "two": workloads(results["main"], 2),
        "goals": goals(results["main"]),
        "launches": launches(results["launch"]),
        "first-calls": first_calls(results["compile"]),
    }


def workloads(results: Sequence[Result], threads: int) -> str:
    """Milliseconds, forward alone and forward with reverse; the fastest of each in bold. Of the
    variants of a system's program, the one with the fastest right gradient."""
    mine = [result for result in results if result["threads"] == threads]
    peers = _in_order(_system(result) for result in mine)
    rows = []
    for workload, size in _in_order((result["workload"], result["n"]) for result in mine):
        here: dict[str, Result] = {}
        for result in mine:
            if (result["workload"], result["n"]) == (workload, size):
                variants = here.get(_system(result), result), result
                here[_system(result)] = min(variants, key=_rank)
        fastest = {
            key: min((r[key] for r in here.values() if r.get(key)), default=0.0)
            for key in ("primal_ms", "grad_ms")
        }
        rows.append(
            [f"`{workload}`", f"{size:,}", *(_times(here.get(peer), fastest) for peer in peers)]
        )
    title = "One thread" if threads == 1 else f"{threads} threads"
    return _table(
        f"{title}, milliseconds, forward / forward and reverse:", ["workload", "n", *peers], rows
    )


def _system(result: Result) -> str:
    """The system of a program that may be a variant, such as `jax` of `jax:rows`."""
    name: str = result["peer"]
    return name.partition(":")[0]


def _rank(result: Result) -> tuple[bool, bool, float]:
    return "error" in result, result.get("agrees") is False, result.get("grad_ms", 0.0)


def _times(result: Result | None, fastest: dict[str, float]) -> str:
    if result is None:
        return "–"
    if "error" in result:
        return "fails"
    cells = [_number(result.get(key), fastest[key]) for key in ("primal_ms", "grad_ms")]
    return " / ".join(cells) + (" wrong" if result.get("agrees") is False else "")


def _number(value: float | None, fastest: float) -> str:
    if value is None:
        return "–"
    text = f"{value:.0f}" if value >= 100 else f"{value:.2g}"
    return f"**{text}**" if value == fastest else text


def goals(results: Sequence[Result]) -> str:
    """mlirad's times divided by those of the peer that each goal names, at the largest size."""
    timed = {(r["workload"], r["peer"], r["n"], r["threads"]): r for r in results if "grad_ms" in r}
    rows = []
    for workload, (peer, name, goal) in GOALS.items():
        size = max((n for program, _, n, _ in timed if program == workload), default=0)
        mine, other = (
            [timed.get((workload, system, size, threads)) for threads in (1, 2)]
            for system in ("mlirad", peer)
        )
        if all((*mine, *other)):
            pairs = [*zip(mine, other), mine]
            rows.append(
                [f"`{workload}`, {size:,}", name, goal, *(_ratios(*pair) for pair in pairs)]
            )
    headings = ["workload", "peer", "goal", "one thread", "two threads"]
    return _table(
        "mlirad's times divided by those of a peer, forward / forward and reverse:",
        [*headings, "speedup by the second thread"],
        rows,
    )


def _ratios(dividend: Result | None, divisor: Result | None) -> str:
    assert dividend is not None and divisor is not None
    return " / ".join(f"{dividend[key] / divisor[key]:.2f}" for key in ("primal_ms", "grad_ms"))


def launches(results: Sequence[Result]) -> str:
    """Microseconds a launch."""
    rows = []
    for result in results:
        rows.append(
            [
                f"{result['peer']}, {result['threads']} thread{'s' * (result['threads'] > 1)}",
                *(_number(result["us"].get(key), -1.0) for key in LAUNCHES),
            ]
        )
    return _table("A launch, microseconds:", ["", *LAUNCHES.values()], rows)


def first_calls(results: Sequence[Result]) -> str:
    """Seconds from process start to the first gradient."""
    kinds = [kind for kind in KINDS if any(result["kind"] == kind for result in results)]
    rows = []
    for peer in _in_order(result["peer"] for result in results):
        row = [peer]
        for kind in kinds:
            here = [r for r in results if (r["peer"], r["kind"]) == (peer, kind)]
            row.append(
                " / ".join(_median(here, state, "start_to_grad_s") for state in ("cold", "warm"))
            )
            row.append(_median(here, "cold", "first_grad_s"))
        rows.append(row)
    headings = [text for kind in kinds for text in (KINDS[kind], "of it, gradient")]
    return _table(
        "Process start to first gradient, cold / warm cache, seconds:", ["", *headings], rows
    )


def _median(results: Iterable[Result], state: str, key: str) -> str:
    values = [r[key] for r in results if r["state"] == state and r.get(key) is not None]
    return f"{statistics.median(values):.2f}" if values else "–"


def _in_order(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [headings, ["---"] * len(headings), *rows]
    return f"{title}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
