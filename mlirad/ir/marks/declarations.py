"""Notes of passes on a module, without the code that they are about."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.ops import Func
from mlirad.ir.walk import functions


def declarations(module: ir.Module) -> ir.Module:
    """The attributes of a module and of its functions, which have no bodies here."""
    copy = ir.Module.create(module.operation.location)
    for name in module.operation.attributes:
        copy.operation.attributes[name] = module.operation.attributes[name]
    with ir.InsertionPoint(copy.body):
        for function in functions(module.operation):
            attributes = {name: function.attributes[name] for name in function.attributes}
            attributes["sym_visibility"] = ir.StringAttr.get("private")
            with function.location:
                ir.Operation.create(Func.FUNC, [], [], attributes, regions=1)
    return copy
