"""Programs on several machines, by MPI: see docs/distributed.md.

Importing this needs mpi4py and an MPI (`pip install 'mlirad[mpi]'`); nothing else does.
"""

from mlirad.distributed.collectives import allreduce, bcast, gather, reduce, scatter, sendrecv
from mlirad.distributed.grid import Grid
from mlirad.distributed.loops import checkpointed
from mlirad.distributed.migration import migrate
from mlirad.distributed.start import barrier, init, rank, size

__all__ = [
    "Grid",
    "allreduce",
    "barrier",
    "bcast",
    "checkpointed",
    "gather",
    "init",
    "migrate",
    "rank",
    "reduce",
    "scatter",
    "sendrecv",
    "size",
]


def __dir__() -> list[str]:
    return __all__
