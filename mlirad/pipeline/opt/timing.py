"""The time of reading, of every pass, and of writing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from mlirad.bindings import ir
from mlirad.pipeline.runner import Watcher


class Timing:
    """Seconds by what they were spent on, in the order in which that began first."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.started = 0.0

    def watcher(self) -> Watcher:
        """Return what to call around passes."""
        return Watcher(self._before, self._after, self._after)

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Count what happens meanwhile."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def _before(self, name: str, op: ir.Operation) -> None:
        self.started = time.perf_counter()

    def _after(self, name: str, op: ir.Operation) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - self.started

    def report(self) -> str:
        """A table, as upstream writes it."""
        total = sum(self.seconds.values())
        rows = [
            f"  {seconds:8.4f} ({100 * seconds / max(total, 1e-9):5.1f}%)  {name}"
            for name, seconds in [*self.seconds.items(), ("Total", total)]
        ]
        title = (
            f"===-{'Execution time report':-^69}-===\n  Total Execution Time: {total:.4f} seconds\n"
        )
        return "\n".join([title, "  ----Wall Time----  ----Name----", *rows, ""])
