"""LLVM IR of GPU kernels, on the way to the text of any GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from mlirad.bindings import ir
from mlirad.errors import SourceLocation, TaichiCompilationError
from mlirad.ir.ops import Gpu
from mlirad.ir.reports.location import nearest_location
from mlirad.ir.walk import block_operations, operations
from mlirad.pipeline.float_text import spell_floats_as_bits
from mlirad.pipeline.llvm_form import check_llvm_form
from mlirad.pipeline.llvm_text import llvm_text
from mlirad.pipeline.ptx_writer import llvm


def target_machine(
    triple: str, chip: str, chips: Iterable[str], features: str = "", **options: str
) -> llvm.TargetMachine:
    """Return the code generator for a chip, with options of llvmlite. Raises
    TaichiCompilationError for an unknown chip."""
    if chip not in chips:
        raise TaichiCompilationError(f"unknown chip '{chip}', expected one of {', '.join(chips)}")
    _initialize()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(cpu=chip, features=features, opt=3, **options)


@cache
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def kernels_as_llvm(
    module: ir.Operation,
    triple: str,
    data_layout: str,
    reason: str,
    change: Callable[[ir.Operation], None] | None = None,
) -> str:
    """LLVM IR of the contents of every `gpu.module`, behind a last `change`. Raises MLIRError, with
    the reason, for what is not lowered."""
    with module.context, module.location:
        kernels = ir.Module.create()
        kernels.operation.attributes["llvm.target_triple"] = ir.StringAttr.get(triple)
        kernels.operation.attributes["llvm.data_layout"] = ir.StringAttr.get(data_layout)
        for holder in block_operations(module.regions[0].blocks[0]):
            if holder.name != Gpu.MODULE:
                continue
            check_llvm_form(holder, reason)
            for op in block_operations(holder.regions[0].blocks[0]):
                kernels.body.append(op.clone(ip=False))
        if change is not None:
            change(kernels.operation)
        return spell_floats_as_bits(llvm_text(kernels.operation))


def check_that_none_allocates(parsed: llvm.ModuleRef) -> None:
    """A thread's heap is small, slow, and says nothing when it is full: memory is the host's to
    allocate (see `lower-thread-memory`)."""
    for function in parsed.functions:
        if function.is_declaration and function.name in ("malloc", "free"):
            raise TaichiCompilationError(f"a kernel calls '{function.name}', and no GPU code may")


def keep_kernels(kernels: set[str], parsed: llvm.ModuleRef, builder: llvm.PassBuilder) -> None:
    """Drop what no kernel calls, before anything is spent on it."""
    for function in parsed.functions:
        if not function.is_declaration and function.name not in kernels:
            function.linkage = llvm.Linkage.internal
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(parsed, builder)


def first_call(module: ir.Operation, name: str) -> SourceLocation | None:
    """The place of the first call of a function."""
    callee = ir.FlatSymbolRefAttr.get(name, module.context)
    calls = (op for op in operations(module) if "callee" in op.attributes)
    return next((nearest_location(op) for op in calls if op.attributes["callee"] == callee), None)
