"""Dialects that programs define in IRDL's textual form."""

from __future__ import annotations

from importlib import import_module

from mlirad.bindings import PROVIDER, ir, leave_out_classes
from mlirad.errors import MLIRError, TaichiCompilationError
from mlirad.ir.foreign_ops.registry import has_dialect, note_ops
from mlirad.ir.ops import Irdl
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import symbol_of
from mlirad.ir.walk import block_operations

_texts: dict[str, str] = {}  # of the dialects that were loaded


def load_dialects(text: str, context: ir.Context, file: str | None = None) -> list[str]:
    """Load the dialects of a text in IRDL, or of a file that holds it, and return their names.

    A dialect is loaded once; the same text may be loaded again. Raises MLIRError if it is no
    module of IRDL, TaichiCompilationError if a dialect of its name is another.
    """
    with context, ir.Location.unknown():
        module = _parse(text, file)
        dialects = block_operations(module.body)
        for op in dialects:
            if op.name != Irdl.DIALECT:
                problem = f"'{op.name}' in a text of IRDL, expected '{Irdl.DIALECT}' only"
                raise MLIRError(problem, source_location(op.location))
        names = [symbol_of(op) for op in dialects]
        new = {symbol_of(op): op for op in dialects if _is_new(op)}
        if new:
            for name, op in zip(names, dialects):
                if name not in new:
                    op.erase()
            _load(module, new)
        return names


def _parse(text: str, file: str | None) -> ir.Module:
    try:
        return ir.Module.parse(text) if file is None else ir.Module.parseFile(file)
    except ir.MLIRError as error:
        if not error.error_diagnostics:
            raise
        first = error.error_diagnostics[0]
        raise MLIRError(first.message, source_location(first.location)) from None


def _is_new(op: ir.Operation) -> bool:
    """Return whether a dialect is to be loaded: MLIR dies if it is loaded twice."""
    name = symbol_of(op)
    if name in _texts:
        if _texts[name] == str(op):
            return False
        problem = f"the dialect '{name}' is loaded, by another text"
    elif has_dialect(op.context, name):
        problem = f"there is a dialect '{name}' already"
    else:
        return True
    raise TaichiCompilationError(problem, source_location(op.location))


def _load(module: ir.Module, dialects: dict[str, ir.Operation]) -> None:
    import_module(f"{PROVIDER}.dialects.irdl").load_dialects(module)
    leave_out_classes((*dialects,))  # which the bindings would look for at every op
    for name, op in dialects.items():
        _texts[name] = str(op)
        inner = block_operations(op.regions[0].blocks[0])
        note_ops(name, [symbol_of(o) for o in inner if o.name == Irdl.OPERATION])
