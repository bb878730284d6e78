"""LLVM's engine for a module, whose functions have no unwind tables.

The engine maps the sections of a module wherever there is room, and registers its unwind table with
the C++ runtime, which takes all addresses between the first function of a table and the last for
this module's. Where something large is mapped (a GPU's driver reserves most of the address space),
`.ltext` and `.text.startup` lie gigabytes apart, with other libraries between them: the next C++
exception, as the end of `for item in ir.DictAttr(...)` is one, then killed the process
(`_Unwind_Find_FDE`). Nothing is thrown through a kernel.

The parameters keep no attributes of other dialects. For each of them upstream's translation makes a
warning, with the text of the whole function, even where nobody reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.bindings import ir
from mlirad.ir.ops import Llvm
from mlirad.ir.signature import label_parameters, parameter_attributes
from mlirad.ir.walk import block_operations

_DIALECT = "llvm."


def engine_of(module: ir.Module, *, opt_level: int, libraries: Sequence[str] = ()) -> Any:
    """The engine of a module of LLVM's dialect. Raises RuntimeError if it cannot be compiled."""
    from mlirad.bindings import ExecutionEngine  # takes a while to load

    with module.context:
        for op in block_operations(module.body):
            if op.name == Llvm.FUNC:
                op.attributes["no_unwind"] = ir.UnitAttr.get()
                _drop_foreign_labels(op)
    return ExecutionEngine(module, opt_level=opt_level, shared_libs=[*libraries])


def _drop_foreign_labels(function: ir.Operation) -> None:
    """Remove what other dialects have noted on the parameters of a function."""
    labels = parameter_attributes(function) if "arg_attrs" in function.attributes else []
    if any(not name.startswith(_DIALECT) for label in labels for name in label):
        llvm_labels = (
            {name: label[name] for name in label if name.startswith(_DIALECT)} for label in labels
        )
        for key, attribute in label_parameters(llvm_labels).items():
            function.attributes[key] = attribute
