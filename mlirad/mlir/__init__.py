"""Functions in MLIR's textual form, called and differentiated from Python."""

from mlirad.mlir.function import MlirFunction
from mlirad.mlir.source import load, parse

__all__ = ["MlirFunction", "load", "parse"]
