"""PTX, by LLVM's NVPTX target, from a module behind the `cuda` pipeline; CUDA's libdevice has what
LLVM lacks."""

from __future__ import annotations

import re

from mlirad.bindings import ir
from mlirad.errors import TaichiCompilationError
from mlirad.passes.gpu.merge_atomics import MERGED, merge_atomics
from mlirad.pipeline.kernel_llvm import (
    check_that_none_allocates,
    first_call,
    keep_kernels,
    kernels_as_llvm,
    target_machine,
)
from mlirad.pipeline.libdevice import libdevice
from mlirad.pipeline.ptx_writer import llvm

_REASON = "cannot become PTX, expected the module behind the cuda pipeline"
TRIPLE = "nvptx64-nvidia-cuda"
# known to LLVM 22, with atomics that have an order and a scope
CHIPS = (
    "sm_70",
    "sm_72",
    "sm_75",
    "sm_80",
    "sm_86",
    "sm_87",
    "sm_88",
    "sm_89",
    "sm_90",
    "sm_90a",
    "sm_100",
    "sm_100a",
    "sm_100f",
    "sm_101",
    "sm_101a",
    "sm_103",
    "sm_103a",
    "sm_103f",
    "sm_110",
    "sm_110a",
    "sm_120",
    "sm_120a",
    "sm_120f",
    "sm_121",
    "sm_121a",
)


def to_ptx(module: ir.Operation, chip: str) -> str:
    """The PTX of all kernels of a module behind `cuda_stages`.

    Raises TaichiCompilationError for an unknown chip, for kernels that are not lowered yet, or
    that allocate memory, and where a kernel needs libdevice and there is none.
    """
    machine = target_machine(TRIPLE, chip, CHIPS)
    change = merge_atomics if _number(chip) >= 90 else None
    written = kernels_as_llvm(module, TRIPLE, str(machine.target_data), _REASON, change)
    if MERGED in written and _number(chip) == 90:  # later chips have a later PTX
        machine = target_machine(TRIPLE, chip, CHIPS, "+ptx81")
    parsed = llvm.parse_assembly(written)
    check_that_none_allocates(parsed)
    _link_libdevice(parsed, module)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    keep_kernels(set(_KERNEL.findall(written)), parsed, builder)
    builder.getModulePassManager().run(parsed, builder)
    return str(machine.emit_assembly(parsed))


def _number(chip: str) -> int:
    return int(chip.removeprefix("sm_").rstrip("af"))


_KERNEL = re.compile(r'^define [^@]*ptx_kernel [^@]*@"?([\w$]+)', re.MULTILINE)


def _link_libdevice(parsed: llvm.ModuleRef, module: ir.Operation) -> None:
    needed = [f.name for f in parsed.functions if f.is_declaration and f.name.startswith("__nv_")]
    if not needed:
        return
    path = libdevice()
    if path is None:
        raise TaichiCompilationError(
            f"'{needed[0]}' is in CUDA's libdevice, which is not here: install 'mlirad[cuda]'",
            first_call(module, needed[0]),
        )
    library = llvm.parse_bitcode(path.read_bytes())
    library.triple, library.data_layout = parsed.triple, parsed.data_layout
    parsed.link_in(library)
