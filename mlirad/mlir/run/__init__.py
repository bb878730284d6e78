"""`mlirad-run`: a function of a file in MLIR, run on arguments of the command line."""

from mlirad.mlir.run.command import main

__all__ = ["main"]
