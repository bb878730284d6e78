"""Lowering of a module of kernels, of whatever stage, to what a machine launches."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.noted_trees import module_of_trees
from mlirad.dialect.snode import places
from mlirad.errors import TaichiAssertionError
from mlirad.ir.ops import Gpu
from mlirad.ir.reports.message import MESSAGES, read_message
from mlirad.ir.requirements import is_private, refuse
from mlirad.ir.signature import (
    parameter_attributes,
    result_number_of,
    result_types_of,
    signature_of_function,
)
from mlirad.ir.walk import attributes_of, functions, operations
from mlirad.mlir.run.kernels.entry import entry_function
from mlirad.pipeline.mode import PRIMAL
from mlirad.pipeline.runner import compile_pipeline
from mlirad.pipeline.stages.gpu import OUTLINED
from mlirad.pipeline.stages.legal import illegal
from mlirad.pipeline.stages.plain import INTERFACE, plain_passes
from mlirad.pipeline.stages.stage import Stage, behind, join
from mlirad.runtime.cpu.processor import vector_library
from mlirad.runtime.executor.executor import LoweredKernel
from mlirad.runtime.memory.deferred_writes import read_row_notes
from mlirad.runtime.program import Program
from mlirad.types import DataType, from_mlir

_BOUNDS = "builtin.module(insert-bounds-checks)"
_I64 = from_mlir("i64")


def lower(
    module: ir.Module, name: str, program: Program, *, optimize: bool = False, bounds: bool = False
) -> LoweredKernel:
    """Lower a module in place. Raises TaichiCompilationError if a pass refuses it."""
    root = module.operation
    if bounds and any(op.name.startswith("field.") for op in operations(root)):
        compile_pipeline(root, _BOUNDS, is_foreign=True)()
    if _is_cpu(program):
        vector_library()  # is loaded: a lowered module may call it
    text = _passes(root, program, optimize=optimize)
    compile_pipeline(root, text, verify=True, is_foreign=True)()
    function = entry_function(root, name, "")
    if not all(any(map(_is_label, label)) for label in parameter_attributes(function)):
        refuse(function, f"@{name} has a parameter without a label: nothing says what it is for")
    attributes = root.attributes
    messages = list(ir.ArrayAttr(attributes[MESSAGES])) if MESSAGES in attributes else []
    return LoweredKernel(
        lambda: module,
        name,
        signature_of_function(function),
        _results(root, function),
        [read_message(message) for message in messages],
        TaichiAssertionError,
        row_notes=read_row_notes(module),
    )


def _passes(module: ir.Operation, program: Program, *, optimize: bool) -> str:
    """Return what lowers a module for a program's machine: on a CPU only what has to be lowered
    is, unless its code is to be as that of kernels is."""
    ops = {op.name for op in operations(module)}
    names, is_cpu = {name.partition(".")[0] for name in ops}, _is_cpu(program)
    if (is_cpu and (not optimize or "gpu" in names)) or names <= {"llvm"}:
        return plain_passes(module)
    stages = program.executor.stages(PRIMAL, program.config)
    if all(INTERFACE in f.attributes for f in functions(module) if not is_private(f)):
        return join(behind("memref" if is_cpu or Gpu.LAUNCH in ops else OUTLINED, stages))
    if "te" in names:
        stages = [Stage("tensors", "lower-te-to-field"), *stages]
    elif not [*illegal(module, "normal")]:
        stages = behind("normal", stages)
    return join(stages)


def _is_label(name: str) -> bool:
    return name.startswith("field.")


def _is_cpu(program: Program) -> bool:
    return program.config.arch in ("x64", "arm64")


def _results(module: ir.Operation, function: ir.Operation) -> list[DataType]:
    """Return the types of a kernel's results: which have one address, or one each."""
    together = [
        type_ for label in parameter_attributes(function) for type_ in result_types_of(label)
    ]
    trees = module_of_trees(module)
    separate = {
        number: ir.TypeAttr(place.attributes["element"]).value
        for place in places(trees.operation)
        if (number := result_number_of(attributes_of(place))) is not None
    }
    types = together or [separate[number] for number in sorted(separate)]
    return [_I64 if str(type_) == "index" else from_mlir(str(type_)) for type_ in types]
