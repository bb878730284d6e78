"""Loops of many operations: LLVM's vectorizer takes time by the square of their number."""

from __future__ import annotations

import pytest

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.pipeline.runner import run_pipeline


def _written(body: list[str], pipeline: str) -> str:
    """A loop of some operations, from %v to %w, behind some passes."""
    head = """
func.func @f(%x: memref<4096xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 4096 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<4096xf32>"""
    end = """
    memref.store %w, %x[%i] : memref<4096xf32>
  } {field.any_order}
  return
}"""
    with context():
        module = ir.Module.parse("\n".join([head, *body, end]))
        run_pipeline(module.operation, pipeline)
        return str(module)


def _products(count: int, last: str = "arith.mulf %v, %v") -> list[str]:
    made = ["%0 = arith.mulf %v, %v : f32"]
    made += [f"%{k} = arith.mulf %{k - 1}, %v : f32" for k in range(1, count)]
    return [*made, f"%w = {last} : f32".replace("%v", f"%{count - 1}")]


@pytest.mark.parametrize(
    "count, last, is_ours",
    [
        (20, "arith.mulf %v, %v", False),
        (700, "arith.mulf %v, %v", True),
        (700, "math.sin %v", False),
    ],
)
def test_long_bodies_are_vectors_of_ours(count: int, last: str, is_ours: bool) -> None:
    found = _written(_products(count, last), "builtin.module(insert-lanes{width=16})")
    assert ("vector<16xf32>" in found) == is_ours
    assert ("disable = true" in found) == is_ours  # of what remains of the loop


@pytest.mark.parametrize("count, is_kept", [(20, True), (2100, False)])
def test_signs_of_zeros_in_long_code(count: int, is_kept: bool) -> None:
    found = _written(_products(count), "builtin.module(insert-fast-math)")
    assert ("nsz" in found) == is_kept and "contract" in found
