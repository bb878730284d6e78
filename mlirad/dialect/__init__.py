"""Our dialects over upstream MLIR, and the context that holds them."""

import sys
from functools import cache

from mlirad.bindings import DIALECTS, PROVIDER, ir
from mlirad.dialect.field import Field
from mlirad.dialect.grad import Grad
from mlirad.dialect.loading import load_dialects
from mlirad.dialect.snode import Snode
from mlirad.dialect.te import Te

OURS = (Field, Grad, Snode, Te)


@cache
def context() -> ir.Context:
    """The process' one context, with every dialect of ours loaded, and those of upstream's that
    all programs need; others are loaded where a text or a pass has them.

    With all that there are, each `canonicalize` would collect their patterns.
    """
    mlir_context = ir.Context(load_on_create_dialects=[*DIALECTS])
    mlir_context.enable_multithreading(False)
    with mlir_context, ir.Location.unknown():
        load_dialects(OURS)
        for dialect in OURS:
            # The bindings look for this module, in every folder of the path, each time that they
            # meet an op of ours.
            name = f"{PROVIDER}.dialects.{dialect.DIALECT_NAMESPACE}"
            sys.modules.setdefault(name, sys.modules[dialect.__module__])
    return mlir_context
