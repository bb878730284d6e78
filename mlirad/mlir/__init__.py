"""`ti.mlir`: call and differentiate functions in the textual form of MLIR."""

from typing import TYPE_CHECKING, Any

from mlirad.loading import later
from mlirad.mlir import terms
from mlirad.mlir.function import MlirFunction
from mlirad.mlir.rules import derivative, load_dialects, lowering, parse_dialects
from mlirad.mlir.source import load, parse

if TYPE_CHECKING:
    from mlirad.mlir.run.rule_checks import check_derivative

__all__ = [
    "MlirFunction",
    "check_derivative",
    "derivative",
    "load",
    "load_dialects",
    "lowering",
    "parse",
    "parse_dialects",
    "terms",
]


def __getattr__(name: str) -> Any:
    return later(__name__, {"check_derivative": "run.rule_checks"}, name)
