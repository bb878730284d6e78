"""Start the server that runs the commands of tests, for as long as this process lives."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def start() -> str:
    """The path of the server's socket; who connects before it is ready waits."""
    folder = Path(tempfile.mkdtemp(prefix="mlirad-lit-"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(str(folder / "socket"))
        listening.listen(64)
        number = listening.fileno()
        path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)]))
        server = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("server.py")), str(number)],
            stdin=subprocess.PIPE,
            pass_fds=[number],
            env={**os.environ, "PYTHONPATH": path},
        )
    atexit.register(_stop, server, folder, os.getpid())
    return str(folder / "socket")


def _stop(server: subprocess.Popen[bytes], folder: Path, owner: int) -> None:
    """End the server where the process that started it ends, and not where a fork of it does."""
    if os.getpid() != owner:
        return
    assert server.stdin is not None
    server.stdin.close()
    server.wait()
    shutil.rmtree(folder)
