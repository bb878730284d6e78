"""Loops of many operations: LLVM's vectorizer takes time by the square of their number."""

from __future__ import annotations

import pytest

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.pipeline.runner import run_pipeline


def _written(body: list[str], pipeline: str, at: str = "%i", extent: str = "4096") -> str:
    """A loop of some operations, from %v to %w, behind some passes."""
    head = f"""
func.func @f(%x: memref<4096xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant {extent} : index
  scf.for %i = %c0 to %n step %c1 {{
    %at = affine.apply affine_map<(d0) -> ({at.replace("%i", "d0")})>(%i)
    %v = memref.load %x[%at] : memref<4096xf32>"""
    end = """
    memref.store %w, %x[%at] : memref<4096xf32>
  } {field.any_order}
  return
}"""
    with context():
        module = ir.Module.parse("\n".join([head, *body, end]))
        run_pipeline(module.operation, "builtin.module(lower-affine)")
        run_pipeline(module.operation, pipeline)
        return str(module)


def _products(count: int, last: str = "arith.mulf %v, %v") -> list[str]:
    made = ["%0 = arith.mulf %v, %v {field.derivative} : f32"]
    made += [f"%{k} = arith.mulf %{k - 1}, %v {{field.derivative}} : f32" for k in range(1, count)]
    return [*made, f"%w = {last} : f32".replace("%v", f"%{count - 1}")]


@pytest.mark.parametrize("last", ["arith.mulf %v, %v", "math.sin %v"])
@pytest.mark.parametrize("count, is_ours", [(20, False), (700, True)])
def test_long_bodies_are_vectors_of_ours(count: int, last: str, is_ours: bool) -> None:
    found = _written(_products(count, last), "builtin.module(insert-lanes{width=16})")
    assert ("vector<16xf32>" in found) == is_ours
    assert not is_ours or " : f32" not in found  # 4096 iterations fill vectors: none remain


@pytest.mark.parametrize("last", ["arith.mulf %v, %v", "math.sin %v"])
def test_long_bodies_that_are_dear_with_masks(last: str) -> None:
    """What remains of the loop is scalar."""
    found = _written(
        _products(700, last), "builtin.module(insert-lanes{width=16})", "2 * %i", "2001"
    )
    assert "vector<16xf32>" in found and "disable = true" in found


@pytest.mark.parametrize("extent", ["0", "5", "16", "4090"])
def test_long_bodies_are_there_once(extent: str) -> None:
    found = _written(_products(700), "builtin.module(insert-lanes{width=16})", extent=extent)
    assert found.count("arith.mulf") == 701
    assert ("vector.maskedstore" in found) == (extent in ("5", "4090"))


@pytest.mark.parametrize("count, is_kept", [(20, True), (2100, False)])
def test_signs_of_zeros_in_long_code(count: int, is_kept: bool) -> None:
    found = _written(_products(count), "builtin.module(insert-fast-math)")
    assert ("nsz" in found) == is_kept and "contract" in found
