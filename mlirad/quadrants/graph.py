"""`qd.graph`: parts of kernels with `graph=True`, and `ti.graph`'s sequences of launches."""

from mlirad.frontend.python.translation.graphs import do_while_loop as do_while
from mlirad.frontend.python.translation.graphs import parallel, parallel_context
from mlirad.lang.graph import Arg, ArgKind, Graph, GraphBuilder

__all__ = ["Arg", "ArgKind", "Graph", "GraphBuilder", "do_while", "parallel", "parallel_context"]


def __dir__() -> list[str]:
    return __all__
