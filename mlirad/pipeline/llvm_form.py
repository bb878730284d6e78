"""A check that all of a module is in the LLVM dialect: upstream's translation ends the process
where it is not."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator

from mlirad.bindings import ir
from mlirad.errors import MLIRError
from mlirad.ir.ops import Llvm
from mlirad.ir.reports.location import nearest_location
from mlirad.ir.walk import operations

DIALECTS = ("llvm.", "omp.", "nvvm.", "rocdl.")
_SCALAR = r"(?:i\d+|f16|bf16|f32|f64|f80|f128)"
_TYPE = re.compile(
    rf"{_SCALAR}|vector<(?:\[?\d+\]?x)+(?:{_SCALAR}|!llvm\.ptr(?:<\d+>)?)>|!llvm\..*|!omp\..*",
    re.DOTALL,
)
_VECTOR = re.compile(r"vector<\[?(\d+)\]?x(.*)>")
_GROWS: dict[str, Callable[[int, int], bool] | None] = {  # casts, by what is asked of their sizes
    Llvm.BITCAST: None,
    Llvm.TRUNC: operator.gt,
    Llvm.FPTRUNC: operator.gt,
    Llvm.FPEXT: operator.lt,
    Llvm.SITOFP: lambda *_: True,
    Llvm.UITOFP: lambda *_: True,
    Llvm.FPTOSI: lambda *_: True,
    Llvm.FPTOUI: lambda *_: True,
}


def check_llvm_form(root: ir.Operation, reason: str) -> None:
    """Raise MLIRError, with the place and the reason, for an op inside, or a type, that is of
    another dialect, and for casts between types that LLVM does not cast."""
    is_llvm: dict[ir.Type, bool] = {}
    for op in operations(root):
        if not op.name.startswith(DIALECTS):
            raise MLIRError(f"'{op.name}' {reason}", nearest_location(op))
        for type_ in _types(op):
            if type_ not in is_llvm:
                is_llvm[type_] = _TYPE.fullmatch(str(type_)) is not None
            if not is_llvm[type_]:
                raise MLIRError(f"type {type_} of '{op.name}' {reason}", nearest_location(op))
        if op.name in _GROWS and not _casts(op):
            raise MLIRError(f"this '{op.name}' {reason}", nearest_location(op))


def _casts(op: ir.Operation) -> bool:
    """Return whether the types of a cast go together, which upstream does not verify."""
    kind, to_kind = str(op.operands[0].type), str(op.result.type)
    if kind == to_kind:
        return True
    (lanes, size), (to_lanes, to_size) = _shape(kind), _shape(to_kind)
    grows = _GROWS[op.name]
    if grows is None:
        return lanes * size == to_lanes * to_size
    return lanes == to_lanes and grows(size, to_size)


def _shape(type_: str) -> tuple[int, int]:
    """Return how many elements, and the bits of one; 0 bits for pointers."""
    vector = _VECTOR.fullmatch(type_)
    element = vector[2] if vector else type_
    digits = re.fullmatch(r"[a-z]+(\d+)", element)
    return int(vector[1]) if vector else 1, int(digits[1]) if digits else 0


def _types(op: ir.Operation) -> Iterator[ir.Type]:
    yield from (value.type for value in (*op.operands, *op.results))
    for region in op.regions:
        for block in region.blocks:
            yield from (argument.type for argument in block.arguments)
    for name in op.attributes:
        attribute = op.attributes[name]
        if isinstance(attribute, ir.TypeAttr):
            yield ir.TypeAttr(attribute).value
