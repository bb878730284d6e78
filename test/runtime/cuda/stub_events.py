"""The driver's events in the stub, on a clock that counts launches: each takes a millisecond."""

from __future__ import annotations

from collections.abc import Callable


class Events:
    """The times of events, None until they are reached, by handle."""

    def __init__(self) -> None:
        self.times: dict[int, float | None] = {}
        self.clock = 0.0

    def create(self) -> int:
        """A handle."""
        handle = 0xE000 + len(self.times)
        self.times[handle] = None
        return handle

    def record(self, event: int) -> Callable[[], None]:
        """What happens when the stream comes to an event."""
        self.times[event] = None

        def reach() -> None:
            self.times[event] = self.clock

        return reach

    def between(self, first: int, second: int) -> float:
        """Milliseconds, of events that are reached."""
        begun, ended = self.times[first], self.times[second]
        assert begun is not None and ended is not None, "nobody has waited for an event"
        return ended - begun
