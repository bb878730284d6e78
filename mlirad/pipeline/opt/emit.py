"""A module as text: MLIR, LLVM IR, PTX, a CPU's assembly or AMD's; or as bytecode."""

from __future__ import annotations

from io import BytesIO

from mlirad.bindings import ir
from mlirad.pipeline.llvm_form import check_llvm_form
from mlirad.pipeline.llvm_text import llvm_text
from mlirad.pipeline.opt.printing import Style
from mlirad.pipeline.opt.settings import Form, Settings


def emit(module: ir.Operation, settings: Settings, style: Style) -> str | bytes:
    """The text of a module. Raises MLIRError if it cannot take that form yet."""
    form, chip = settings.emit, settings.chip
    if form is Form.LLVM:
        return _llvm(module)
    if form is Form.ASM:
        return _assembly(module, settings.triple, chip)
    if form is Form.PTX:
        return _ptx(module, chip or "sm_90")
    if form is Form.AMDGPU:
        return _amdgpu(module, chip or "gfx942")
    return _bytecode(module) if form is Form.BYTECODE else style.text(module)


def _bytecode(module: ir.Operation) -> bytes:
    written = BytesIO()
    module.write_bytecode(written)
    return written.getvalue()


def _llvm(module: ir.Operation) -> str:
    check_llvm_form(module, "cannot be translated to LLVM IR, expected the LLVM dialect")
    with module.context:
        return llvm_text(module)


def _assembly(module: ir.Operation, triple: str, chip: str) -> str:
    from mlirad.pipeline.assembly import to_assembly  # needs llvmlite

    return to_assembly(module, triple, chip)


def _ptx(module: ir.Operation, chip: str) -> str:
    from mlirad.pipeline.ptx import to_ptx  # llvmlite is wanted for nothing else

    return to_ptx(module, chip)


def _amdgpu(module: ir.Operation, chip: str) -> str:
    from mlirad.pipeline.amdgpu import to_amdgpu

    return to_amdgpu(module, chip)
