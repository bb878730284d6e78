"""PTX, by LLVM's NVPTX target, from a module behind the `cuda` pipeline; CUDA's libdevice has what
LLVM lacks."""

from __future__ import annotations

import re
from functools import cache

from mlirad.bindings import ir
from mlirad.errors import SourceLocation, TaichiCompilationError
from mlirad.ir.ops import Gpu
from mlirad.ir.reports.location import nearest_location
from mlirad.ir.walk import block_operations, operations
from mlirad.passes.gpu.merge_atomics import MERGED, merge_atomics
from mlirad.pipeline.float_text import spell_floats_as_bits
from mlirad.pipeline.libdevice import libdevice
from mlirad.pipeline.llvm_form import check_llvm_form
from mlirad.pipeline.llvm_text import llvm_text
from mlirad.pipeline.ptx_writer import llvm

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
    machine = _machine(chip)
    written = _llvm_ir(module, str(machine.target_data), has_pairs=_number(chip) >= 90)
    if MERGED in written and _number(chip) == 90:  # later chips have a later PTX
        machine = _machine(chip, "+ptx81")
    parsed = llvm.parse_assembly(written)
    _check_that_none_allocates(parsed)
    _link_libdevice(parsed, module)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    _keep(set(_KERNEL.findall(written)), parsed, builder)
    builder.getModulePassManager().run(parsed, builder)
    return str(machine.emit_assembly(parsed))


def _check_that_none_allocates(parsed: llvm.ModuleRef) -> None:
    """A thread's heap is small, slow, and says nothing when it is full: memory is the host's to
    allocate (see `lower-thread-memory`)."""
    for function in parsed.functions:
        if function.is_declaration and function.name in ("malloc", "free"):
            raise TaichiCompilationError(f"a kernel calls '{function.name}', and no GPU code may")


def _number(chip: str) -> int:
    return int(chip.removeprefix("sm_").rstrip("af"))


def _machine(chip: str, features: str = "") -> llvm.TargetMachine:
    if chip not in CHIPS:
        raise TaichiCompilationError(f"unknown chip '{chip}', expected one of {', '.join(CHIPS)}")
    _initialize()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=chip, features=features, opt=3)


@cache
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def _llvm_ir(module: ir.Operation, data_layout: str, *, has_pairs: bool) -> str:
    """LLVM IR of the contents of every `gpu.module`, for a chip that may add two floats at once to
    memory."""
    with module.context, module.location:
        kernels = ir.Module.create()
        kernels.operation.attributes["llvm.target_triple"] = ir.StringAttr.get(TRIPLE)
        kernels.operation.attributes["llvm.data_layout"] = ir.StringAttr.get(data_layout)
        for holder in block_operations(module.regions[0].blocks[0]):
            if holder.name != Gpu.MODULE:
                continue
            check_llvm_form(
                holder, "cannot become PTX, expected the module behind the cuda pipeline"
            )
            for op in block_operations(holder.regions[0].blocks[0]):
                kernels.body.append(op.clone(ip=False))
        if has_pairs:
            merge_atomics(kernels.operation)
        return spell_floats_as_bits(llvm_text(kernels.operation))


def _keep(kernels: set[str], parsed: llvm.ModuleRef, builder: llvm.PassBuilder) -> None:
    """Drop what no kernel calls, before anything is spent on it."""
    for function in parsed.functions:
        if not function.is_declaration and function.name not in kernels:
            function.linkage = llvm.Linkage.internal
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(parsed, builder)


_KERNEL = re.compile(r'^define [^@]*ptx_kernel [^@]*@"?([\w$]+)', re.MULTILINE)


def _link_libdevice(parsed: llvm.ModuleRef, module: ir.Operation) -> None:
    needed = [f.name for f in parsed.functions if f.is_declaration and f.name.startswith("__nv_")]
    if not needed:
        return
    path = libdevice()
    if path is None:
        raise TaichiCompilationError(
            f"'{needed[0]}' is in CUDA's libdevice, which is not here: install 'mlirad[cuda]'",
            _first_call(module, needed[0]),
        )
    library = llvm.parse_bitcode(path.read_bytes())
    library.triple, library.data_layout = parsed.triple, parsed.data_layout
    parsed.link_in(library)


def _first_call(module: ir.Operation, name: str) -> SourceLocation | None:
    callee = ir.FlatSymbolRefAttr.get(name, module.context)
    calls = (op for op in operations(module) if "callee" in op.attributes)
    return next((nearest_location(op) for op in calls if op.attributes["callee"] == callee), None)
