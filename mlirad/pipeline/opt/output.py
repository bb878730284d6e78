"""Write what came out: a file appears whole, or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

STANDARD = "-"


def write(data: str | bytes, file: str) -> None:
    """Write to a file, by a new one beside it that takes its place; `-` and devices are written as
    they are."""
    raw = data if isinstance(data, bytes) else data.encode()
    if file == STANDARD:
        sys.stdout.flush()
        _write_all(sys.stdout.fileno(), raw)
        return
    if Path(file).exists() and not Path(file).is_file():
        Path(file).write_bytes(raw)
        return
    replace(Path(os.path.realpath(file)), raw)


def replace(path: Path, raw: bytes) -> None:
    """Give a file a new content in one step; it keeps its permissions."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    number = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        _write_all(number, raw)
        if path.exists():
            os.fchmod(number, path.stat().st_mode & 0o777)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    finally:
        os.close(number)


def _write_all(number: int, raw: bytes) -> None:
    while raw:
        raw = raw[os.write(number, raw) :]
