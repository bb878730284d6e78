"""Assembly for AMD's GPUs, by LLVM's AMDGPU target, from a module behind the `rocm` pipeline; the
library ocml of ROCm has what LLVM lacks."""

from __future__ import annotations

import re
from functools import cache

from mlirad.bindings import ir
from mlirad.errors import SourceLocation, TaichiCompilationError
from mlirad.ir.elementary.vector_math import FUNCTIONS
from mlirad.ir.ops import Llvm
from mlirad.ir.reports.location import nearest_location
from mlirad.ir.walk import operations
from mlirad.pipeline.kernel_llvm import (
    check_that_none_allocates,
    first_call,
    keep_kernels,
    kernels_as_llvm,
    target_machine,
)
from mlirad.pipeline.ocml import controls, ocml
from mlirad.pipeline.ptx_writer import llvm

TRIPLE = "amdgcn-amd-amdhsa"
CHIPS = ("gfx90a", "gfx942", "gfx1100")
_REASON = "cannot become AMD's code, expected the module behind the rocm pipeline"
_INTRINSIC = re.compile(r"llvm\.(\w+)\.(?:v\d+)?(f16|f32|f64)(?:\..*)?")
_ELEMENTARY = {*FUNCTIONS.values(), "pow", "powi", "sincos"}
_EXPONENTIALS = ("exp", "exp2", "log", "log2", "log10")  # of f16 and f32
_KERNEL = re.compile(r'^define [^@]*amdgpu_kernel [^@]*@"?([\w$]+)', re.MULTILINE)


def to_amdgpu(module: ir.Operation, chip: str) -> str:
    """The assembly of all kernels of a module behind `rocm_stages`.

    Raises TaichiCompilationError for an unknown chip, for kernels that are not lowered yet, or
    that allocate memory, and where a kernel calls a function that is not here.
    """
    machine = _machine(chip)
    return str(machine.emit_assembly(_optimized(module, chip, machine)))


def to_amdgpu_object(module: ir.Operation, chip: str) -> bytes:
    """Return the code as an ELF file, assembled by LLVM."""
    machine = _machine(chip)
    return bytes(machine.emit_object(_optimized(module, chip, machine)))


def _machine(chip: str) -> llvm.TargetMachine:
    machine = target_machine(TRIPLE, chip, CHIPS)
    _bound_unrolling()
    return machine


@cache
def _bound_unrolling() -> None:
    """Have loops over a block's memory unrolled as others are: LLVM would unroll tiles whole, which
    have no space in the registers of gfx1100. It takes an option once in a process."""
    llvm.set_option("mlirad", "-amdgpu-unroll-threshold-local=300")


def _optimized(module: ir.Operation, chip: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    data_layout = str(machine.target_data)
    written = kernels_as_llvm(module, TRIPLE, data_layout, _REASON, _check_allocations)
    parsed = llvm.parse_assembly(written)
    check_that_none_allocates(parsed)
    _check_intrinsics(parsed, module)
    _link_ocml(parsed, module, chip)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    keep_kernels(set(_KERNEL.findall(written)), parsed, builder)
    builder.getModulePassManager().run(parsed, builder)
    return parsed


def _check_allocations(kernels: ir.Operation) -> None:
    """Refuse memory of threads that is not private: LLVM would end the process."""
    for op in operations(kernels):
        if op.name == Llvm.ALLOCA and str(op.results[0].type) != "!llvm.ptr<5>":
            raise TaichiCompilationError(f"this '{op.name}' {_REASON}", nearest_location(op))


def _check_intrinsics(parsed: llvm.ModuleRef, module: ir.Operation) -> None:
    """Refuse elementary functions as LLVM's intrinsics: LLVM has no code for them and ends the
    process, or, for sines, inaccurate one."""
    for function in parsed.functions:
        if not _has_code(function.name):
            name = function.name.split(".")[1]
            place = _first_use(module, f"llvm.intr.{name}")
            raise TaichiCompilationError(f"LLVM has no code for '{function.name}'", place)


def _has_code(name: str) -> bool:
    intrinsic = _INTRINSIC.fullmatch(name)
    if intrinsic is None or intrinsic[1] not in _ELEMENTARY:
        return True
    return intrinsic[1] in _EXPONENTIALS and intrinsic[2] != "f64"


def _first_use(module: ir.Operation, name: str) -> SourceLocation | None:
    return next((nearest_location(op) for op in operations(module) if op.name == name), None)


def _link_ocml(parsed: llvm.ModuleRef, module: ir.Operation, chip: str) -> None:
    """Link the library, if a kernel calls it. Raises TaichiCompilationError, with the place of the
    first call, for a function that is not here."""
    path = ocml()
    missing = _missing(parsed)
    if path is not None and any(name.startswith("__ocml_") for name in missing):
        for library in (llvm.parse_bitcode(path.read_bytes()), llvm.parse_assembly(controls(chip))):
            library.triple, library.data_layout = parsed.triple, parsed.data_layout
            parsed.link_in(library)
        missing = _missing(parsed)
    if missing:
        name = missing[0]
        where = "ROCm's library ocml" if name.startswith("__ocml_") else "a library"
        raise TaichiCompilationError(
            f"'{name}' is in {where}, which is not here", first_call(module, name)
        )


def _missing(parsed: llvm.ModuleRef) -> list[str]:
    """The functions that are called and are not there."""
    return [f.name for f in parsed.functions if f.is_declaration and not f.name.startswith("llvm.")]
