"""Work in a process of its own, which may die or hang."""

from __future__ import annotations

import json
import os
import select
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any


def isolated(work: Callable[[], Iterable[Any]], seconds: float) -> Iterator[Any]:
    """What a child finds, piece by piece; a text as the last one if it dies or takes too long:
    `seconds` of processor for a piece, or sixteen times as long."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            for result in work():
                os.write(writing, json.dumps(result).encode() + b"\n")
        finally:
            os._exit(0)
    os.close(writing)
    waiting, is_late = b"", False
    while True:
        is_late = not _ready(reading, child, seconds)
        if is_late:
            os.kill(child, signal.SIGKILL)
        piece = b"" if is_late else os.read(reading, 1 << 16)
        if not piece:
            break
        *lines, waiting = (waiting + piece).split(b"\n")
        yield from map(json.loads, lines)
    os.close(reading)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if is_late:
        yield f"no result after {seconds} s"
    elif status:
        yield f"died of signal {-status}"


def _ready(reading: int, child: int, seconds: float) -> bool:
    """Wait until there is a piece; False if it takes too long."""
    begin = _processor_time(child)
    for _ in range(16):
        if select.select([reading], [], [], seconds)[0]:
            return True
        if _processor_time(child) - begin > seconds:
            return False
    return False


def _processor_time(child: int) -> float:
    fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
