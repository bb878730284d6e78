"""Forms of upstream's dialects that become kernels: derivatives in both modes, and what is
refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import mlirad as ti
from mlirad.mlir import MlirFunction
from mlirad.mlir.run.derivatives import Program
from mlirad.mlir.run.values import Slot, value_of

TEXT = (Path(__file__).parent / "upstream_forms.txt").read_text()
NAMES = re.findall(r"func\.func @(\w+)", TEXT)
INTEGERS = {
    "elements_at_indices": np.array([[3], [0], [3], [1], [2], [3]], np.int64),
    "elements_at_coordinates": np.array([[3, 1], [0, 7], [3, 1], [1, 1], [2, 0], [5, 5]], np.int32),
    "slices_at_coordinates": np.array([[5], [1], [3]], np.int32),
}


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    ti.reset()


def values_of(function: MlirFunction, name: str) -> list[np.ndarray | int]:
    values = []
    for number, parameter in enumerate(function.arguments):
        if name in INTEGERS and parameter.is_array and not parameter.dtype.is_float:
            values.append(INTEGERS[name])
            continue
        text = "2" if not parameter.is_array else "0.4" if not parameter.shape else "random"
        text += f":seed={number}" * (text == "random")
        slot = Slot(f"argument {number}", parameter.dtype, parameter.shape)
        values.append(value_of(text, slot))
    return values


@pytest.mark.parametrize(
    ("arch", "element"),
    [(ti.cpu, "f64"), (ti.cpu, "f32"), (ti.simt, "f64")],
    ids=["x64-f64", "x64-f32", "simt-f64"],
)
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_in_both_modes(name: str, arch: object, element: str) -> None:
    ti.init(arch, default_fp=ti.f64, log_level="error")
    function = ti.mlir.parse(TEXT.replace("f64", element), name)
    comparisons = Program(function, values_of(function, name)).compare(3)
    assert comparisons and all(c.agrees for c in comparisons), "\n".join(map(str, comparisons))


def test_which_buffer_it_is() -> None:
    """Values of a function on buffers that a number of iterations makes the one or the other."""
    ti.init(default_fp=ti.f64)
    a, b = np.arange(4.0), np.full(4, 0.5)
    result = ti.mlir.parse(TEXT, "buffers_change_places")(a, b)
    x, y = np.arange(4.0), np.full(4, 0.5)
    for i in range(3):
        y[i] = np.sin(x[i])
        x, y = y, x
    assert result == pytest.approx(x[1])
    np.testing.assert_allclose([a, b], [y, x])


BFLOATS = """
func.func @f(%a: tensor<4x3xf32>, %b: tensor<3x2xf32>) -> tensor<4x2xf32> {
  %z = arith.constant 0.0 : f32
  %p = arith.truncf %a : tensor<4x3xf32> to tensor<4x3xbf16>
  %q = arith.truncf %b : tensor<3x2xf32> to tensor<3x2xbf16>
  %s = arith.mulf %p, %p : tensor<4x3xbf16>
  %e = tensor.empty() : tensor<4x2xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
  %r = linalg.matmul ins(%s, %q : tensor<4x3xbf16>, tensor<3x2xbf16>)
                     outs(%i : tensor<4x2xf32>) -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}
"""


def rounded(values: np.ndarray) -> np.ndarray:
    """Round to the nearest number of bf16, to even."""
    bits = values.astype(np.float32).view(np.uint32)
    bits = bits + 0x7FFF + ((bits >> 16) & 1)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def test_doubles_are_rounded_to_bf16_once() -> None:
    """A tie goes to the even number, and a little more than a tie goes up."""
    ti.init(arch=ti.cpu)
    function = ti.mlir.parse(
        """
        func.func @f(%x: f64) -> f32 {
          %b = arith.truncf %x : f64 to bf16
          %y = arith.extf %b : bf16 to f32
          return %y : f32
        }
        """
    )
    tie = 1 + 2.0**-8
    assert [function(x) for x in (tie, tie + 2.0**-45, tie + 2.0**-7)] == [
        1,
        1 + 2.0**-7,
        1 + 2.0**-6,
    ]


@pytest.mark.parametrize("arch", [ti.cpu, ti.simt])
def test_numbers_of_bf16(arch: object) -> None:
    """Products are rounded to 16 bits, sums are not; derivatives are those of what is rounded."""
    ti.init(arch, default_fp=ti.f32)
    generator = np.random.default_rng(1)
    a, b = (np.asarray(generator.uniform(-1, 1, s), np.float32) for s in ((4, 3), (3, 2)))
    function = ti.mlir.parse(BFLOATS)
    p, q = rounded(a), rounded(b)
    np.testing.assert_allclose(function(a, b), rounded(p * p) @ q, rtol=1e-6)
    program = Program(function, [a, b])
    head = np.ones((4, 2), np.float32)
    gradients = program.gradients([head, *(np.zeros_like(v) for v in (a, b))])
    np.testing.assert_allclose(gradients[0], 2 * p * (head @ q.T), rtol=2e-2, atol=2e-2)
    np.testing.assert_allclose(gradients[1], rounded(p * p).T @ head, rtol=2e-2, atol=2e-2)


REFUSED = {
    "memory of bf16 that a function takes": (
        """func.func @f(%a: memref<4xbf16>) -> f32 {
  %c1 = arith.constant 1 : index
  %x = memref.load %a[%c1] : memref<4xbf16>
  %r = arith.extf %x : bf16 to f32
  return %r : f32
}""",
        "-:1:1: a memref of 'bf16', expected one of",
    ),
    "a buffer of an iteration": (
        """func.func @f(%a: memref<4xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (memref<4xf64>) {
    %y = memref.alloc() : memref<4xf64>
    %v = memref.load %x[%c1] : memref<4xf64>
    %w = math.sin %v : f64
    memref.store %w, %y[%c1] : memref<4xf64>
    scf.yield %y : memref<4xf64>
  }
  %s = memref.load %r[%c1] : memref<4xf64>
  return %s : f64
}""",
        "-:11:8: a memref that is defined where it is passed on, at -:5:10",
    ),
    "bytes of two types": (
        """func.func @f(%a: f64) -> f32 {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %m = memref.alloc() : memref<64xi8>
  %v = memref.view %m[%c0][] : memref<64xi8> to memref<4xf64>
  %w = memref.view %m[%c4][] : memref<64xi8> to memref<4xf32>
  memref.store %a, %v[%c0] : memref<4xf64>
  %x = memref.load %w[%c0] : memref<4xf32>
  return %x : f32
}""",
        "-:6:8: 'memref.view' of bytes that another view has, at -:5:8",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    ti.init(default_fp=ti.f64)
    text, problem = REFUSED[name]
    with pytest.raises(ti.TaichiCompilationError, match=re.escape(problem)):
        ti.mlir.parse(text)
