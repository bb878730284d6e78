"""Memory that was to be cleared, and is when something uses it."""

from __future__ import annotations

from threading import Lock


class Clearing:
    """What elements of a program wait with: `version` grows whenever more of them do, so that
    launches look only when they have to."""

    def __init__(self) -> None:
        self.version = 0
        self.lock = Lock()
