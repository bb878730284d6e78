"""One command of a test: hand it to the server with this process' folder and streams, and end as it
ended.

It runs as `python -I -S client.py SOCKET COMMAND ARGUMENT...`, and imports next to nothing: it is
started 200 times.
"""

import _socket
import os
import sys

LOST = 134  # the exit status of a command that died, as a shell shows an abort


def main() -> int:
    """Hand over the command line; its exit status."""
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    server.connect(sys.argv[1])
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    request = "\0".join([os.getcwd(), *sys.argv[2:]]).encode()
    server.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    status = server.recv(1)
    return status[0] if status else LOST


os._exit(main())
