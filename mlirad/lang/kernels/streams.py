"""Streams and events of GPUs, by their names. Every machine has one queue here, and launches run in
the order in which the program makes them, so that a stream never has to wait for another."""

from __future__ import annotations

from typing import Any

from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.runtime.program import program

KEYWORD = "qd_stream"  # of a launch


class Queued:
    """A stream or an event, until it is destroyed; `handle` 0 is the machine's own queue."""

    handle = 0

    def __init__(self) -> None:
        self._is_destroyed = False

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        self.destroy()

    def check_alive(self) -> None:
        """Raise TaichiRuntimeError if it was destroyed."""
        if self._is_destroyed:
            raise TaichiRuntimeError(f"the {type(self).__name__.lower()} was destroyed")

    def destroy(self) -> None:
        """Wait for what was launched."""
        if not self._is_destroyed:
            program().executor.synchronize()
        self._is_destroyed = True

    def synchronize(self) -> None:
        """Wait for what was launched."""
        self.check_alive()
        program().executor.synchronize()


class Stream(Queued):
    """A queue of launches, named by `kernel(qd_stream=)`."""


class Event(Queued):
    """A point in the order of launches."""

    def record(self, qd_stream: Stream | None = None) -> None:
        """Note what was launched into a stream."""
        self.check_alive()
        check_stream(qd_stream)

    def wait(self, qd_stream: Stream | None = None) -> None:
        """Have a stream wait for what was noted."""
        self.check_alive()
        check_stream(qd_stream)


def check_stream(stream: object) -> None:
    """Raise TaichiTypeError for what is no stream, and TaichiRuntimeError for one that was
    destroyed."""
    if stream is None:
        return
    if not isinstance(stream, Stream):
        raise TaichiTypeError(f"expected a stream made by create_stream(), got {stream!r}")
    stream.check_alive()


def without_stream(kwargs: dict[str, object]) -> dict[str, object]:
    """Return the arguments of a launch without its stream."""
    check_stream(kwargs[KEYWORD])
    return {name: value for name, value in kwargs.items() if name != KEYWORD}
