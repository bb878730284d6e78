"""The values that registered code computes, with what is wrong with them said at the op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import msgspec

from mlirad.bindings import ir
from mlirad.errors import SourceLocation, TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.custom import apply_region
from mlirad.ir.elementary.terms import Term, Values, emit
from mlirad.ir.foreign_ops.code import Application, Code
from mlirad.ir.reports.location import nearest_location
from mlirad.ir.walk import block_operations, is_defined_in, operations
from mlirad.passes.functions.lower_foreign_ops.code_functions import CodeFunctions

_DIALECTS = {"arith", "math", "scf", "ub", "grad"}
_UPSTREAM = {"memref", "func", "vector", "tensor", "linalg", "affine", "cf", "llvm", "field"}


class Source(msgspec.Struct, frozen=True):
    """Code that an op has: its kind, and where it was registered."""

    code: Code | None
    kind: str  # "derivative", "lowering" ... in messages
    place: SourceLocation
    op: ir.Operation

    def refuse(self, problem: str) -> NoReturn:
        """Raise the error for the op, which names the place of the code."""
        raise TaichiCompilationError(
            f"the {self.kind} of '{self.op.name}' {problem}",
            nearest_location(self.op),
            [(self.place, f"the {self.kind} is registered here")],
        )


def values_of(
    source: Source,
    functions: CodeFunctions,
    application: Application,
    along: Sequence[ir.Value] | None,
    types: Sequence[ir.Type],
) -> list[ir.Value]:
    """Return what code gives, computed at the insertion point, of some types; None stands for 0.

    `along` are the tangents or adjoints, which come behind the operands and results.
    """
    if isinstance(source.code, str):
        values = _of_function(source, functions, application, along)
    elif isinstance(source.code, tuple):
        values = [_of_term(term, application, type_) for term, type_ in zip(source.code, types)]
        values += [None] * (len(source.code) - len(types))
    else:
        values = _of_builder(source, application, along)
    if len(values) != len(types):
        source.refuse(f"gives {_count(values)}, expected {len(types)}: ({_join(types)})")
    filled = [
        b.number(0.0, type_) if v is None and b.is_float(type_) else v
        for v, type_ in zip(values, types)
    ]
    for number, (value, type_) in enumerate(zip(filled, types)):
        if value is None or value.type != type_:
            kind = "nothing" if value is None else f"a value of type '{value.type}'"
            source.refuse(f"gives {kind} as number {number}, expected '{type_}'")
    return [value for value in filled if value is not None]


def _of_term(term: Term | None, application: Application, type_: ir.Type) -> ir.Value | None:
    if term is None:
        return None
    operands, results = application.operands, application.results
    float_type = type_ if b.is_float(type_) else operands[0].type
    values = Values(operands[0], operands.__getitem__, lambda: results[0], float_type, float_type)
    return emit(term, values)


def _of_function(
    source: Source,
    functions: CodeFunctions,
    application: Application,
    along: Sequence[ir.Value] | None,
) -> list[ir.Value | None]:
    name = str(source.code).removeprefix("@")
    function = functions.find(name)
    if function is None:
        source.refuse(f"is '@{name}', and the module has no such function")
    if len(function.regions[0].blocks) > 1:
        source.refuse(f"is '@{name}', which holds branches of 'cf'")
    values = [*application.operands, *([] if along is None else [*application.results, *along])]
    types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs
    if list(types) != [v.type for v in values]:
        expected = _join([v.type for v in values])
        source.refuse(f"is '@{name}', which takes ({_join(types)}), expected ({expected})")
    return [*apply_region(function, 0, values)]


def _of_builder(
    source: Source, application: Application, along: Sequence[ir.Value] | None
) -> list[ir.Value | None]:
    assert callable(source.code)
    try:
        returned = source.code(application, *([] if along is None else [list(along)]))
    except TaichiCompilationError:
        raise
    except Exception as error:
        problem = f"raises {type(error).__name__}: {error}"
        location = nearest_location(source.op)
        related = [(source.place, f"the {source.kind} is registered here")]
        message = f"the {source.kind} of '{source.op.name}' {problem}"
        raise TaichiCompilationError(message, location, related) from error
    if isinstance(returned, ir.Value):
        return [returned]
    if isinstance(returned, ir.OpView | ir.Operation):
        return [*returned.results]
    if returned is None or not isinstance(returned, Sequence):
        source.refuse(f"gives a {type(returned).__name__}, expected values")
    for value in returned:
        if not (value is None or isinstance(value, ir.Value)):
            source.refuse(f"gives a {type(value).__name__}, expected a value")
    return [*returned]


def check_block(source: Source, block: ir.Block, values: Sequence[ir.Value]) -> None:
    """Refuse code that does anything but compute with the values that it is given."""
    owner = block.owner.operation
    for value in values:
        if not is_defined_in(value, owner):
            source.refuse("gives a value from elsewhere, expected one made of its arguments")
    for op in block_operations(block):
        for inner in (op, *operations(op)):
            if inner.name.partition(".")[0] in _UPSTREAM:
                source.refuse(f"makes '{inner.name}', expected ops on numbers and of 'scf'")
            for operand in inner.operands:
                if not is_defined_in(operand, owner):
                    source.refuse(f"makes '{inner.name}' with a value from elsewhere")


def verify(op: ir.Operation, source: Source) -> None:
    """Refuse code that makes ops which are not well formed."""
    problem = ""
    try:
        op.verify()
    except ir.MLIRError as error:
        problem = error.error_diagnostics[0].message
    if problem:
        source.refuse(f"makes what MLIR refuses: {problem}")


def _count(values: Sequence[object]) -> str:
    return f"{len(values)} value{'s' * (len(values) != 1)}"


def _join(types: Sequence[ir.Type]) -> str:
    return ", ".join(map(str, types))
