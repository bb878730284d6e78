"""Run in a process of its own, so that a death inside MLIR is reported like any other error."""

from __future__ import annotations

import mmap
import os
import signal
import sys
import traceback
from collections.abc import Callable

FRAMES = 50_000  # of Python: what reads a program nests as the program does
_SIZE = 4096


class Progress:
    """A short text that another process can read after this one died."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, _SIZE)

    def note(self, text: str) -> None:
        """Say what is being done now."""
        raw = text.encode()[: _SIZE - 1]
        self.memory[: len(raw) + 1] = raw + b"\0"

    def read(self) -> str:
        """Return what was noted last."""
        return self.memory[:].partition(b"\0")[0].decode(errors="replace")


def supervise(work: Callable[[], int], died: Callable[[str], None]) -> int:
    """The status of `work`, done by a fork; where that was killed, `died` is told by which signal,
    and the status is 1."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _end(work)
    _, ended = os.waitpid(child, 0)
    if os.WIFSIGNALED(ended):
        died(signal.Signals(os.WTERMSIG(ended)).name)
        return 1
    return os.WEXITSTATUS(ended)


def _end(work: Callable[[], int]) -> None:
    """End this process with the status of `work`, whatever happens."""
    status = 1
    sys.setrecursionlimit(FRAMES)
    try:
        status = work()
        sys.stdout.flush()
        sys.stderr.flush()
    except KeyboardInterrupt:
        status = 130
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
