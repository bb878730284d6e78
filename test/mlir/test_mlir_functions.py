"""Functions in textual MLIR, called and differentiated from Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.mlir.run.derivatives import Program

SUM = """
func.func @sum(%x: memref<?xf64>, %s: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %z) -> f64 {
    %v = memref.load %x[%i] : memref<?xf64>
    %w = math.sin %v : f64
    %p = arith.mulf %w, %s : f64
    memref.store %p, %x[%i] : memref<?xf64>
    %q = arith.mulf %p, %v : f64
    %b = arith.addf %a, %q : f64
    scf.yield %b : f64
  }
  return %r : f64
}
"""
LAYER = """
func.func @layer(%a: tensor<4x8xf64>, %w: tensor<8x3xf64>) -> tensor<4x3xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<4x3xf64>
  %i = linalg.fill ins(%z : f64) outs(%e : tensor<4x3xf64>) -> tensor<4x3xf64>
  %m = linalg.matmul ins(%a, %w : tensor<4x8xf64>, tensor<8x3xf64>)
                     outs(%i : tensor<4x3xf64>) -> tensor<4x3xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
       ins(%m : tensor<4x3xf64>) outs(%e : tensor<4x3xf64>) {
  ^bb0(%x: f64, %o: f64):
    %t = math.tanh %x : f64
    linalg.yield %t : f64
  } -> tensor<4x3xf64>
  return %r : tensor<4x3xf64>
}
"""


@pytest.fixture(autouse=True)
def _program() -> Any:
    ti.init(default_fp=ti.f64)
    yield
    ti.reset()


def ndarray(values: Any) -> Any:
    values = np.asarray(values, np.float64)
    array = ti.ndarray(ti.f64, values.shape, needs_grad=True)
    array.from_numpy(values)
    return array


def test_what_a_function_writes_and_gives() -> None:
    x = np.linspace(0.1, 1.0, 7)
    written = x.copy()
    result = ti.mlir.parse(SUM)(written, 2.0)
    np.testing.assert_allclose(written, 2 * np.sin(x))
    assert result.shape == () and result == pytest.approx((2 * np.sin(x) * x).sum())


def test_gradients_through_memory_that_is_overwritten() -> None:
    """In an argument, and in a number."""
    values = np.linspace(0.1, 1.0, 7)
    x, s, loss = ndarray(values), ndarray(2.0), ndarray(0.0)
    with ti.ad.Tape(loss):
        ti.mlir.parse(SUM)(x, s, out=loss)
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * (np.sin(values) + values * np.cos(values)))
    np.testing.assert_allclose(s.grad.to_numpy(), (np.sin(values) * values).sum())


def test_a_layer_on_tensors() -> None:
    """Of which buffers are shared by what is computed one after the other."""
    generator = np.random.default_rng(1)
    a, w = generator.standard_normal((4, 8)), generator.standard_normal((8, 3))
    layer, expected = ti.mlir.parse(LAYER), np.tanh(a @ w)
    np.testing.assert_allclose(layer(a, w), expected)
    inputs, weights, output, loss = ndarray(a), ndarray(w), ndarray(np.zeros((4, 3))), ndarray(0.0)

    @ti.kernel
    def add(values: ti.types.ndarray(), total: ti.types.ndarray()):
        for i, j in values:
            total[None] += values[i, j]

    with ti.ad.Tape(loss):
        layer(inputs, weights, out=output)
        add(output, loss)
    slope = 1 - expected**2
    np.testing.assert_allclose(inputs.grad.to_numpy(), slope @ w.T)
    np.testing.assert_allclose(weights.grad.to_numpy(), a.T @ slope)


def test_a_file_with_several_functions(tmp_path: Path) -> None:
    file = tmp_path / "two.mlir"
    file.write_text(SUM + LAYER)
    assert ti.mlir.load(file, "sum")(np.ones(2), 1.0) == pytest.approx(2 * np.sin(1.0))
    with pytest.raises(ti.TaichiNameError, match=r"two\.mlir: no entry is given, expected one of"):
        ti.mlir.load(file)
    with pytest.raises(ti.TaichiNameError, match=r"no public function 'mean'.*sum, layer"):
        ti.mlir.load(file, "mean")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((np.ones(2),), "expected 2 arguments, got 1"),
        ((np.ones(2, np.float32), 1.0), "argument 0 is of float32, expected f64"),
        ((np.ones((2, 2)), 1.0), r"argument 0 has the shape \(2, 2\), expected \(\?\)"),
        ((3.0, 1.0), "argument 0 is a float, expected an array"),
        ((np.ones(2), "a"), "argument 1 is a str, expected an array"),
    ],
)
def test_arguments_that_do_not_fit(arguments: tuple[Any, ...], problem: str) -> None:
    with pytest.raises(ti.TaichiRuntimeTypeError, match=f"@sum: {problem}"):
        ti.mlir.parse(SUM)(*arguments)


def test_a_field_is_no_array() -> None:
    """Of a view of it, the gradient would be lost."""
    x, loss = ti.field(ti.f64, 4, needs_grad=True), ndarray(0.0)
    with (
        pytest.raises(ti.TaichiRuntimeTypeError, match="@sum: argument 0 is a field"),
        ti.ad.Tape(loss),
    ):
        ti.mlir.parse(SUM)(x, 1.0, out=loss)


def test_arrays_that_share_memory() -> None:
    copy = ti.mlir.parse(
        """func.func @copy(%x: memref<4xf64>, %y: memref<4xf64>) {
             memref.copy %x, %y : memref<4xf64> to memref<4xf64>
             return
           }"""
    )
    memory = np.arange(6.0)
    copy(memory[:4], target := np.zeros(4))
    np.testing.assert_array_equal(target, memory[:4])
    with pytest.raises(ti.TaichiRuntimeTypeError, match="argument 0 and argument 1 share memory"):
        copy(memory[:4], memory[2:])


def test_an_extent_that_would_be_negative() -> None:
    """A size is known when the function is called."""
    function = ti.mlir.parse(
        """func.func @f(%n: index) -> memref<?xf64> {
             %c8 = arith.constant 8 : index
             %m = arith.subi %c8, %n : index
             %r = memref.alloc(%m) : memref<?xf64>
             return %r : memref<?xf64>
           }"""
    )
    assert function(3).shape == (5,)
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"result 0 would have the shape \(-1,\)"):
        function(9)


SCRATCH = """
func.func @f(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.alloc(%n) : memref<?xf64>
  linalg.fill ins(%x : f64) outs(%m : memref<?xf64>)
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> f64 {
    %v = memref.load %m[%i] : memref<?xf64>
    %t = arith.mulf %s, %v : f64
    scf.yield %t : f64
  }
  return %r : f64
}
"""


@pytest.mark.parametrize("size", [0, 2])
def test_memory_that_may_be_empty(size: int) -> None:
    """An allocation of no elements, and arrays of none."""
    for comparison in Program(ti.mlir.parse(SCRATCH), [np.array(0.7), size]).compare(0):
        assert comparison.agrees, comparison
    copy = ti.mlir.parse(
        """func.func @copy(%x: memref<?xf64>, %k: f64) -> (memref<?xf64>, f64) {
             %c0 = arith.constant 0 : index
             %n = memref.dim %x, %c0 : memref<?xf64>
             %m = memref.alloc(%n) : memref<?xf64>
             memref.copy %x, %m : memref<?xf64> to memref<?xf64>
             %s = arith.mulf %k, %k : f64
             return %m, %s : memref<?xf64>, f64
           }"""
    )
    for comparison in Program(copy, [np.ones(size), np.array(0.7)]).compare(0):
        assert comparison.agrees, comparison


def test_allocations_that_are_too_large() -> None:
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"-:\d+:\d+: @f: a buffer would have"):
        ti.mlir.parse(SCRATCH)(1.0, 10**14)
    square = ti.mlir.parse(
        """func.func @f(%n: index) -> memref<?x?x?xf64> {
             %m = memref.alloc(%n, %n, %n) : memref<?x?x?xf64>
             return %m : memref<?x?x?xf64>
           }"""
    )
    with pytest.raises(ti.TaichiRuntimeError, match=r"-:\d+:\d+: @f: result 0"):
        square(2**30)
    scratch = ti.mlir.parse(
        """func.func @f(%n: index) -> f64 {
             %k = arith.constant 1.0 : f64
             %m = memref.alloc(%n, %n) : memref<?x?xf64>
             memref.store %k, %m[%n, %n] : memref<?x?xf64>
             %v = memref.load %m[%n, %n] : memref<?x?xf64>
             return %v : f64
           }"""
    )
    with pytest.raises(ti.TaichiRuntimeError, match=r"@f: a buffer: .* do not fit"):
        scratch(2**26)


def test_text_that_is_no_program() -> None:
    with pytest.raises(ti.TaichiCompilationError, match="a memref of 'bf16'"):
        ti.mlir.parse("func.func @f(%x: memref<4xbf16>) { return }")
    with pytest.raises(ti.TaichiCompilationError, match="expected"):
        ti.mlir.parse("func.func @f(")
