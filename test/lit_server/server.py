"""Run commands of tests, each in a fork of a process that has everything loaded.

It is given a listening socket, and ends when its standard input does, which is when whoever started
it is gone.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence

from filecheck.main import main as filecheck

from mlirad_opt import load_compiler

Command = Callable[[Sequence[str]], int]


def serve(listening: socket.socket, commands: dict[str, Command]) -> None:
    """Fork for every connection, until the standard input ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([listening, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        connection, _ = listening.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            answer(connection, commands)
        connection.close()


def answer(connection: socket.socket, commands: dict[str, Command]) -> None:
    """Run what was asked for with the streams that came along, tell its status, and end this
    process."""
    request, streams, _, _ = socket.recv_fds(connection, 1 << 18, 3)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115  (until the process ends)
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    folder, name, *arguments = request.decode().split("\0")
    os.chdir(folder)
    status = run(commands[name], arguments)
    connection.send(bytes([status]))
    os._exit(status)


def run(command: Command, arguments: Sequence[str]) -> int:
    """The status that a process of its own would end with."""
    try:
        status = command(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def commands_of_tests() -> dict[str, Command]:
    """What tests may run, loaded."""
    load_compiler()
    from mlirad.dialect import context
    from mlirad.pipeline import amdgpu, opt, ptx  # noqa: F401  (loaded here, not in every fork)
    from mlirad.pipeline.registry import find_pass, pass_names

    for name in pass_names():
        find_pass(name)
    context()
    from mlirad.mlir import run

    return {
        "mlirad-opt": opt.main,
        "mlirad-run": run.main,
        "filecheck": lambda arguments: filecheck(["filecheck", *arguments]) or 0,
    }


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), commands_of_tests())
