"""Assembly for CPUs, this machine's kind or another, by LLVM, from a module behind the `cpu`
pipeline."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.errors import TaichiCompilationError
from mlirad.pipeline.float_text import spell_floats_as_bits
from mlirad.pipeline.kernel_llvm import target_machine
from mlirad.pipeline.llvm_form import check_llvm_form
from mlirad.pipeline.llvm_text import llvm_text
from mlirad.pipeline.ptx_writer import llvm

_REASON = "cannot become assembly, expected the module behind the cpu pipeline"
_ARM = ("generic", "apple-m1", "cortex-a72", "neoverse-n1", "neoverse-v1")
_X86 = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")
CHIPS = {  # the first is the one that code is for unless a program names another
    "x86_64-linux-gnu": _X86,
    "aarch64-linux-gnu": _ARM,
    "arm64-apple-macosx11.0.0": ("apple-m1",),
}


def to_assembly(module: ir.Operation, triple: str, chip: str) -> str:
    """Return the assembly of a module behind `cpu_stages`, for an operating system on a processor.

    Raises TaichiCompilationError for an unknown triple or chip, and MLIRError for what is not
    lowered yet.
    """
    if triple not in CHIPS:
        expected = ", ".join(CHIPS)
        raise TaichiCompilationError(f"unknown triple '{triple}', expected one of {expected}")
    chips = CHIPS[triple]
    machine = target_machine(triple, chip or chips[0], chips, reloc="pic", codemodel="small")
    check_llvm_form(module, _REASON)
    with module.context:
        parsed = llvm.parse_assembly(spell_floats_as_bits(llvm_text(module)))
    parsed.triple, parsed.data_layout = triple, str(machine.target_data)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(parsed, builder)
    return str(machine.emit_assembly(parsed))
