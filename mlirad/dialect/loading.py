"""Loading our dialects into a context."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mlirad.bindings import PassManager, ext, ir

_FOLDER = Path(__file__).parent / "irdl"


def load_dialects(dialects: Sequence[type[ext.Dialect]]) -> None:
    """Load dialects into the current context from their IRDL text in `mlirad/dialect/irdl/`.

    `ext.Dialect.load` generates this text from the classes and simplifies it, which takes six times
    as long. Raises RuntimeError for a class of an op that its file does not have.
    """
    texts = [(_FOLDER / f"{d.DIALECT_NAMESPACE}.mlir").read_text("utf-8") for d in dialects]
    module = ir.Module.parse("\n".join(texts))
    ext.irdl.load_dialects(module)
    for dialect in dialects:
        _register(dialect)


def generated_module(dialect: type[ext.Dialect]) -> ir.Module:
    """Return the IRDL that the classes of a dialect stand for, in the current context."""
    module: ir.Module = dialect._emit_module()
    PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)
    return module


def _register(dialect: type[ext.Dialect]) -> None:
    """Have the bindings give ops and types of a loaded dialect as instances of its classes."""
    bindings = ext._cext
    context = ir.Context.current
    for op in dialect.operations:
        if not context.is_registered_operation(op.OPERATION_NAME):
            raise RuntimeError(f"no '{op.OPERATION_NAME}' in its file: run tools/irdl_files.py")
        op._attach_traits()
    bindings.globals._register_dialect_impl(dialect.DIALECT_NAMESPACE, dialect, replace=True)
    for type_ in dialect.types:
        identity = ir.DynamicType.lookup_typeid(type_.type_name)
        bindings.register_type_caster(identity, replace=True)(type_)
    for op in dialect.operations:
        bindings.register_operation(dialect, replace=True)(op)
        bindings.register_op_adaptor(op, replace=True)(op.Adaptor)
