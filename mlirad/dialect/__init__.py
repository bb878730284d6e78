"""Our dialects over upstream MLIR, and the context that holds them."""
from functools import cache

from mlirad.bindings import ir
from mlirad.dialect.field import Field
from mlirad.dialect.grad import Grad
from mlirad.dialect.snode import Snode


@cache
def context() -> ir.Context:
    """The process' one context, with every dialect of ours loaded."""
    made = ir.Context()
    made.enable_multithreading(False)
    with made, ir.Location.unknown():
        for dialect in (Snode, Field, Grad):
            dialect.load()
    return made
