"""A module as text: MLIR, LLVM IR or PTX."""
from __future__ import annotations

from mlirad.bindings import ir
from mlirad.errors import MLIRError
from mlirad.passes._location import source_location
from mlirad.passes._walk import operations

_TRANSLATED = ("llvm.", "omp.", "nvvm.")


def emit(module: ir.Operation, form: str, *, chip: str, locations: bool = False) -> str:
    """The text of a module. Raises MLIRError where it cannot take that form yet."""
    if form == "llvm":
        return _llvm(module)
    if form == "ptx":
        return _ptx(module, chip)
    return f"{str(module.get_asm(enable_debug_info=locations)).rstrip()}\n"


def _llvm(module: ir.Operation) -> str:
    for op in operations(module):  # upstream crashes on what it cannot translate
        if not op.name.startswith(_TRANSLATED):
            raise MLIRError(f"'{op.name}' cannot be translated to LLVM IR, expected the LLVM dialect",
                            source_location(op.location))
    from mlirad.bindings import translate_module_to_llvmir  # takes a while to load

    return str(translate_module_to_llvmir(module))


def _ptx(module: ir.Operation, chip: str) -> str:
    from mlirad.pipeline.ptx import to_ptx  # llvmlite is wanted for nothing else

    return to_ptx(module, chip)
