"""Reading modules of MLIR, and making kernels on arrays of their functions."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike, fspath

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.te import defines_tensor
from mlirad.dialect.turn import in_turn
from mlirad.errors import MLIRError, TaichiCompilationError, TaichiNameError
from mlirad.ir.foreign_ops.registry import is_of_text, is_registered
from mlirad.ir.ops import Func
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import is_private, refuse, symbol_of
from mlirad.ir.signature import NEEDS_GRAD, drop_marks
from mlirad.ir.walk import block_operations, entry_of, functions, operations
from mlirad.kernel.array_arguments import copy_of
from mlirad.mlir.constants import require_constants
from mlirad.mlir.function import MlirFunction
from mlirad.pipeline.opt.parsing import Reading
from mlirad.pipeline.opt.source_text import decode
from mlirad.pipeline.runner import compile_pipeline
from mlirad.pipeline.stages.functions import DEFINITIONS, function_stages
from mlirad.pipeline.stages.stage import join
from mlirad.te.programs.functions_in_ir import module_of_function


def load(path: str | PathLike[str], entry: str | None = None) -> MlirFunction:
    """Return a function of a module in a file, in the textual form of MLIR.

        f = ti.mlir.load("rosenbrock.mlir")
        value = f(np.array([1.0, 2.0]))

    Args:
        path: the file.
        entry: the name of a public function, which may be omitted if there is only one.

    Raises:
        OSError: the file cannot be read.
        MLIRError, TaichiCompilationError: the text is not a valid program, or the function cannot
            be called with arrays; the message has the line.
        TaichiNameError: the function does not exist.
    """
    return function_of(read_module(path), fspath(path), entry)


def parse(text: str, entry: str | None = None) -> MlirFunction:
    """Return a function of a module that is given as text. Arguments and errors as of `load`.

    square = ti.mlir.parse(
        "func.func @square(%x: f64) -> f64 { %y = arith.mulf %x, %x : f64  return %y : f64 }"
    )
    square(3.0)  # array(9.)
    """
    return function_of(_module(Reading(text, "-", is_whole_file=False)), "-", entry)


def read_module(path: str | PathLike[str]) -> ir.Module:
    """Return the module in a file. Raises OSError if it cannot be read, MLIRError, with the line,
    if it is none."""
    file = fspath(path)
    with open(file, "rb") as opened:
        text = decode(opened.read(), file)
    return _module(Reading(text, file, is_whole_file=True))


@in_turn
def function_of(module: ir.Module, file: str, entry: str | None) -> MlirFunction:
    """Return a function of a module, which becomes a kernel. Raises TaichiCompilationError, with
    the line, if it has no counterpart on arrays, TaichiNameError if there is no such function."""
    with context():
        name = _entry(module, entry, file)
        for op in block_operations(module.body):
            if op.name == Func.FUNC and symbol_of(op) != name:
                op.attributes["sym_visibility"] = ir.StringAttr.get("private")
            elif op.name == Func.FUNC:
                drop_marks(op, NEEDS_GRAD)  # the arrays of a call say what has a gradient
        with module.operation.location:
            raised = _raised(module)
            if raised is not None:
                (function,) = functions(raised.operation)
                return MlirFunction(raised, name, file, module_of_function(function))
            stages = join(function_stages())
            compile_pipeline(module.operation, stages, verify=True, is_foreign=True)()
        _require_lowerings(module.operation)
        require_constants(module.operation)
        _put_first(module, name)
        return MlirFunction(module, name, file)


def _put_first(module: ir.Module, name: str) -> None:
    """Put a function in front of those that it calls."""
    first, *_ = listed = functions(module.operation)
    for function in listed[1:]:
        if symbol_of(function) == name:
            function.move_before(first)


@in_turn
def _module(reading: Reading) -> ir.Module:
    """Read a module; an error of upstream's becomes one of ours, with its place."""
    try:
        with context():
            return reading.module()
    except ir.MLIRError as error:
        first = error.error_diagnostics[0]
        place = source_location(first.location)
        raise MLIRError(first.message, None if place is None else reading.place(place)) from None


def _raised(module: ir.Module) -> ir.Module | None:
    """Return a copy whose only function is definitions of tensors, if that is all it does."""
    copy = copy_of(module)
    shaped = (ir.RankedTensorType, ir.MemRefType)
    has_linalg = any(op.name.startswith("linalg.") for op in operations(module.operation))
    if not any(isinstance(v.type, shaped[: 1 + has_linalg]) for v in _values(copy)):
        return None
    pipeline = f"builtin.module({DEFINITIONS})"
    try:
        compile_pipeline(copy.operation, pipeline, verify=True, is_foreign=True)()
    except (MLIRError, TaichiCompilationError):
        return None  # which the other way says at its line
    listed = functions(copy.operation)
    is_raised = len(listed) == 1 and any(map(defines_tensor, block_operations(entry_of(listed[0]))))
    return copy if is_raised else None


def _values(module: ir.Module) -> Iterator[ir.Value]:
    """Yield what public functions take and give."""
    for function in functions(module.operation):
        if not is_private(function):
            yield from entry_of(function).arguments
            yield from block_operations(entry_of(function))[-1].operands


def _require_lowerings(module: ir.Operation) -> None:
    """Refuse ops that nothing can run."""
    for op in operations(module):
        if is_registered(op.name) or is_of_text(op.name):
            refuse(op, f"'{op.name}' has no lowering, so it cannot run: ti.mlir.lowering gives one")


def _entry(module: ir.Module, entry: str | None, file: str) -> str:
    names = [
        symbol_of(op)
        for op in block_operations(module.body)
        if op.name == Func.FUNC and "sym_visibility" not in op.attributes
    ]
    if entry is None and len(names) == 1:
        return names[0]
    if entry not in names:
        called = "no entry is given" if entry is None else f"there is no public function '{entry}'"
        raise TaichiNameError(f"{file}: {called}, expected one of: {', '.join(names) or 'none'}")
    return entry
