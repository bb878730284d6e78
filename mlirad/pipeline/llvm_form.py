"""Whether a module is in the LLVM dialect, wholly: upstream's translation ends the process where it
is not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlirad.bindings import ir
from mlirad.errors import MLIRError
from mlirad.ir.location import nearest_location
from mlirad.ir.walk import operations

_DIALECTS = ("llvm.", "omp.", "nvvm.")
_SCALAR = r"(?:i\d+|f16|bf16|f32|f64|f80|f128)"
_TYPE = re.compile(
    rf"{_SCALAR}|vector<(?:\[?\d+\]?x)+(?:{_SCALAR}|!llvm\.ptr(?:<\d+>)?)>|!llvm\..*|!omp\..*",
    re.DOTALL,
)


def check_llvm_form(root: ir.Operation, reason: str) -> None:
    """Raise MLIRError, with the place and the reason, for an op inside, or a type, that is of
    another dialect."""
    known: dict[ir.Type, bool] = {}
    for op in operations(root):
        if not op.name.startswith(_DIALECTS):
            raise MLIRError(f"'{op.name}' {reason}", nearest_location(op))
        for type_ in _types(op):
            if type_ not in known:
                known[type_] = _TYPE.fullmatch(str(type_)) is not None
            if not known[type_]:
                raise MLIRError(f"type {type_} of '{op.name}' {reason}", nearest_location(op))


def _types(op: ir.Operation) -> Iterator[ir.Type]:
    yield from (value.type for value in (*op.operands, *op.results))
    for region in op.regions:
        for block in region.blocks:
            yield from (argument.type for argument in block.arguments)
    for name in op.attributes:
        attribute = op.attributes[name]
        if isinstance(attribute, ir.TypeAttr):
            yield ir.TypeAttr(attribute).value
