"""The figure of `benchmarks.scale`: time per element and step against their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.scale.growths import Growth
from benchmarks.scale.sample import Sample

_PANELS = ("workloads by size", "workloads by steps", "plans of tapes by steps")


def draw(found: Mapping[Growth, Sequence[Sample]], path: Path) -> None:
    """Draw the primals and the tapes; a line that does not rise grows as its algorithm does."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [panel for panel in _PANELS if any(_panel(growth) == panel for growth in found)]
    figure, rows = pyplot.subplots(
        len(shown), 2, figsize=(12, 4.4 * len(shown)), squeeze=False, sharey="row"
    )
    for panel, axes in zip(shown, rows):
        for one, mode in zip(axes, ("primal", "tape")):
            _draw_one(one, mode, {g: s for g, s in found.items() if _panel(g) == panel})
            one.set(title=f"{panel}: {mode}")
        axes[0].set_ylabel("ns, over number ^ exponent of the algorithm")
        axes[1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def _panel(growth: Growth) -> str:
    return _PANELS[0 if not growth.grows_in_steps else 2 if growth.plan else 1]


def _draw_one(axes: Any, mode: str, found: Mapping[Growth, Sequence[Sample]]) -> None:
    for number, (growth, samples) in enumerate(found.items()):
        counts = [sample.count for sample in samples]
        seconds = [getattr(sample, mode) for sample in samples]
        each = [1e9 * one / count**growth.exponent for one, count in zip(seconds, counts)]
        marker = "osv^D"[number // 10]
        axes.plot(counts, each, marker + "-", markersize=3, linewidth=1, label=growth.title)
    axes.set(xscale="log", yscale="log", xlabel="elements, cells, particles, rows; or steps")
    axes.grid(alpha=0.3)
