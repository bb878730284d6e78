"""Pipelines that run again, on other modules: nothing is left of those that they saw before."""

from __future__ import annotations

import gc

import pytest

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.pipeline.runner import run_pipeline

SOURCE = """
func.func @power(%a: i32, %n: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = arith.addi %a, %zero : i32
  %power = math.ipowi %sum, %n : i32
  return %power : i32
}"""


@pytest.mark.parametrize(
    "text, expected",
    [
        ("convert-math-to-funcs", "call @__mlir_math_ipowi"),
        ("canonicalize,convert-math-to-funcs,convert-scf-to-cf,canonicalize", "@__mlir_math_ipowi"),
        ("canonicalize,func.func(cse,mem2reg)", "math.ipowi %arg0, %arg1"),
    ],
)
def test_modules_that_are_gone(text: str, expected: str) -> None:
    for _ in range(8):
        with context():
            module = ir.Module.parse(SOURCE)
            run_pipeline(module.operation, f"builtin.module({text})")
            assert expected in str(module)
            assert module.operation.verify()
        del module
        gc.collect()
