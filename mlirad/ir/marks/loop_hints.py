"""Hints on loops for LLVM."""

from __future__ import annotations

from mlirad.bindings import ir

_ROLLED = "#llvm.loop_annotation<unroll = <disable = true>>"
_SCALAR = "#llvm.loop_annotation<vectorize = <disable = true>>"


def keep_scalar(loop: ir.Operation) -> None:
    """Keep LLVM from making vector code of a loop."""
    loop.attributes["loop_annotation"] = ir.Attribute.parse(_SCALAR)


def keep_rolled(loop: ir.Operation) -> None:
    """Keep LLVM from unrolling a loop."""
    loop.attributes["loop_annotation"] = ir.Attribute.parse(_ROLLED)
