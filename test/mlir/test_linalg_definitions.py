"""Functions over tensors that become definitions of `te`: derivatives in every mode, and what stays
loops."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from linalg_programs import PROGRAMS

import mlirad as ti
from mlirad.mlir import MlirFunction
from mlirad.mlir.run.derivatives import Program
from mlirad.mlir.run.values import Slot, value_of


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    ti.reset()


def program_of(text: str, element: str) -> Program:
    function = ti.mlir.parse(re.sub(r"(?<=x)T\b|\bT\b", element, text), "f")
    assert function.definitions is not None
    return Program(function, values_of(function, 7))


def values_of(function: MlirFunction, seed: int) -> list[np.ndarray | int]:
    """Return random arguments."""
    return [
        value_of(f"random:seed={k + seed}", Slot(f"argument {k}", p.dtype, p.shape))
        for k, p in enumerate(function.arguments)
    ]


@pytest.mark.parametrize(
    ("arch", "element"),
    [(ti.cpu, "f64"), (ti.cpu, "f32"), (ti.simt, "f64")],
    ids=["x64-f64", "x64-f32", "simt-f64"],
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_in_both_modes(name: str, arch: object, element: str) -> None:
    ti.init(arch, default_fp=ti.f64, log_level="error")
    comparisons = program_of(PROGRAMS[name], element).compare(3)
    assert comparisons and all(c.agrees for c in comparisons), "\n".join(map(str, comparisons))


LOOPS = {
    "a product that is added": """func.func @f(%a: memref<5x4xf64>, %b: memref<4x3xf64>,
    %c: memref<5x3xf64>) {
  linalg.matmul ins(%a, %b : memref<5x4xf64>, memref<4x3xf64>) outs(%c : memref<5x3xf64>)
  return
}""",
    "elements that change places": """func.func @f(%a: memref<4x4xf64>) {
  %h = memref.alloc() : memref<4x4xf64>
  memref.copy %a, %h : memref<4x4xf64> to memref<4x4xf64>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
    ins(%h : memref<4x4xf64>) outs(%h : memref<4x4xf64>) {
  ^bb0(%x: f64, %o: f64):
    %t = arith.mulf %x, %x : f64
    linalg.yield %t : f64
  }
  memref.copy %h, %a : memref<4x4xf64> to memref<4x4xf64>
  return
}""",
    "buffers that change places": """func.func @f(%a: memref<4xf64>, %b: memref<4xf64>) {
  %h = memref.alloc() : memref<4xf64>
  linalg.copy ins(%a : memref<4xf64>) outs(%h : memref<4xf64>)
  memref.copy %b, %a : memref<4xf64> to memref<4xf64>
  linalg.exp ins(%h : memref<4xf64>) outs(%b : memref<4xf64>)
  return
}""",
    "what a buffer held, as it is": """func.func @f(%a: memref<4xf64>, %b: memref<4xf64>,
    %c: memref<4xf64>) {
  memref.copy %a, %b : memref<4xf64> to memref<4xf64>
  linalg.exp ins(%c : memref<4xf64>) outs(%a : memref<4xf64>)
  return
}""",
    "a recurrence": """func.func @f(%a: tensor<4x3xf64>, %s: tensor<4xf64>) -> tensor<4xf64> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
       ins(%a : tensor<4x3xf64>) outs(%s : tensor<4xf64>) {
  ^bb0(%x: f64, %o: f64):
    %p = arith.mulf %x, %o : f64
    %t = arith.addf %o, %p : f64
    linalg.yield %t : f64
  } -> tensor<4xf64>
  return %r : tensor<4xf64>
}""",
    "a maximum that passes over NaN": """func.func @f(%a: tensor<4x3xf64>) -> tensor<4xf64> {
  %z = arith.constant -2.0 : f64
  %e = tensor.empty() : tensor<4xf64>
  %i = linalg.fill ins(%z : f64) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %r = linalg.reduce {arith.maxnumf} ins(%a : tensor<4x3xf64>) outs(%i : tensor<4xf64>)
    dimensions = [1]
  return %r : tensor<4xf64>
}""",
}


@pytest.mark.parametrize("name", LOOPS)
def test_what_is_made_of_loops(name: str) -> None:
    ti.init(default_fp=ti.f64, log_level="error")
    function = ti.mlir.parse(LOOPS[name])
    assert function.definitions is None
    comparisons = Program(function, values_of(function, 0)).compare(1)
    assert all(comparison.agrees for comparison in comparisons)
