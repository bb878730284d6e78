"""The MPI library, imported with `mlirad.dist`; a rank that fails brings all down."""

from __future__ import annotations

import sys
import threading
import traceback
from types import TracebackType
from typing import Any

from mlirad.errors import TaichiRuntimeError

_MISSING = (
    "mlirad.dist needs MPI, which is not installed ({}): pip install 'mlirad[mpi]' brings "
    "mpi4py and MPICH with its mpiexec; on a cluster, build mpi4py with the MPI of the machine "
    "(pip install --no-binary mpi4py mpi4py)"
)

try:
    from mpi4py import MPI
except ImportError as error:
    raise ImportError(_MISSING.format(error)) from error
except RuntimeError as error:  # mpi4py is there, and finds no library
    raise ImportError(_MISSING.format(error)) from error


def world() -> Any:
    """A communicator of all ranks, which nobody else uses. Raises TaichiRuntimeError for an MPI
    that may not be called beside threads, which mlirad has."""
    level = MPI.Query_thread()
    if level < MPI.THREAD_FUNNELED:
        raise TaichiRuntimeError(
            "mlirad.dist: this MPI was started for programs without threads (MPI_THREAD_SINGLE), "
            "and mlirad has some: start it with MPI_THREAD_FUNNELED at least "
            "(mpi4py.rc.thread_level)"
        )
    return MPI.COMM_WORLD.Dup()


def local_size(comm: Any) -> int:
    """Return the number of ranks on this machine."""
    shared = comm.Split_type(MPI.COMM_TYPE_SHARED)
    size = int(shared.Get_size())
    shared.Free()
    return size


def end_all(comm: Any, said: str) -> None:
    """Say something on the error output, and end all ranks."""
    sys.stdout.flush()
    for line in said.rstrip().splitlines():
        sys.stderr.write(f"[rank {comm.rank} of {comm.size}] {line}\n")
    sys.stderr.flush()
    comm.Abort(1)


def end_all_on_errors(comm: Any) -> None:
    """From now on, an exception that nothing catches in a rank, in whatever thread, ends all ranks
    once it is said: others may wait for this one for ever."""

    def say(
        kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end_all(comm, "".join(traceback.format_exception(kind, error, trace)))

    def say_of_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_type is not SystemExit:
            say(args.exc_type, args.exc_value, args.exc_traceback)

    sys.excepthook = say
    threading.excepthook = say_of_thread
