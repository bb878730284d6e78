"""Memory of a module, `memref.global`, that calls hand on to one another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.mlir.run.command import main

SCALED = """
memref.global "private" @scale : memref<f64> = dense<1.0>
memref.global "private" @calls : memref<2xi64> = dense<0>
func.func @scaled(%x: memref<4xf64>) -> (f64, i64) {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i64
  %two = arith.constant 2.0 : f64
  %s = memref.get_global @scale : memref<f64>
  %c = memref.get_global @calls : memref<2xi64>
  %a = memref.load %s[] : memref<f64>
  %b = arith.mulf %a, %two : f64
  memref.store %b, %s[] : memref<f64>
  %n = memref.load %c[%c1] : memref<2xi64>
  %m = arith.addi %n, %one : i64
  memref.store %m, %c[%c1] : memref<2xi64>
  %v = memref.load %x[%c1] : memref<4xf64>
  %r = arith.mulf %v, %a : f64
  return %r, %m : f64, i64
}
"""
CARRIED = """
memref.global "private" @state : memref<4xf64> = dense<2.0>
func.func @carried(%x: memref<4xf64>) -> f64 {
  %c1 = arith.constant 1 : index
  %t = memref.get_global @state : memref<4xf64>
  %v = memref.load %x[%c1] : memref<4xf64>
  %e = memref.load %t[%c1] : memref<4xf64>
  %p = arith.mulf %v, %e : f64
  memref.store %p, %t[%c1] : memref<4xf64>
  return %p : f64
}
"""


@pytest.fixture(autouse=True, params=["x64", "simt"])
def _program(request: pytest.FixtureRequest) -> Iterator[None]:
    ti.init(request.param, default_fp=ti.f64, log_level="error")
    yield
    ti.reset()


def ndarray(values: Any) -> Any:
    values = np.asarray(values, np.float64)
    array = ti.ndarray(ti.f64, values.shape, needs_grad=True)
    array.from_numpy(values)
    return array


def test_calls_go_on_where_the_last_one_ended() -> None:
    """A gradient is that of the state in which a call began."""
    scaled, x, loss = ti.mlir.parse(SCALED), ndarray(np.arange(4.0) + 1), ndarray(0.0)
    count = ti.ndarray(ti.i64, ())
    for call in range(3):
        with ti.ad.Tape(loss):
            scaled(x, out=[loss, count])
        assert loss.to_numpy() == 2 * 2**call and count.to_numpy() == 1 + call
        assert x.grad.to_numpy().tolist() == [0, 2**call, 0, 0]


def test_a_derivative_that_the_state_would_carry_is_refused() -> None:
    carried, x, loss = ti.mlir.parse(CARRIED), ndarray(np.ones(4)), ndarray(0.0)
    assert [carried(np.full(4, 3.0)) for _ in range(2)] == [6, 18]
    message = r"-:7:8: @state holds what carries a derivative, which calls would pass on"
    with pytest.raises(ti.TaichiCompilationError, match=message), ti.ad.Tape(loss):
        carried(x, out=loss)


def test_differences_are_taken_from_one_state(tmp_path: Path, capfd: Any) -> None:
    file = tmp_path / "scaled.mlir"
    file.write_text(SCALED)
    assert main([str(file), "random:seed=1", "--check"]) == 0
    assert capfd.readouterr().out.endswith("all 3 derivatives agree\n")


def test_an_argument_of_bits_has_the_name_of_its_type(tmp_path: Path, capfd: Any) -> None:
    file = tmp_path / "bits.mlir"
    file.write_text(
        "func.func @bits(%x: memref<3xi1>) -> i1 {\n  %c0 = arith.constant 0 : index\n"
        "  %v = memref.load %x[%c0] : memref<3xi1>\n  return %v : i1\n}\n"
    )
    assert main([str(file), "ones:3xi1"]) == 0
    assert "True" in capfd.readouterr().out
    assert main([str(file), "ones:3xi8"]) == 1


def test_a_write_to_a_constant_is_refused() -> None:
    text = CARRIED.replace('"private"', '"private" constant')
    with pytest.raises(
        ti.TaichiCompilationError, match=r"-:9:3: cannot write to '@state', which is co"
    ):
        ti.mlir.parse(text)
