"""Functions of others that call themselves: values and derivatives, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from runtime.cuda.machine import stub_the_driver

import mlirad as ti
from mlirad.mlir.run.derivatives import Program
from mlirad.runtime.executors import EXECUTORS

# the entry itself calls itself
POWER = """
func.func @f(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %ends = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %ends -> f64 {
    scf.yield %one : f64
  } else {
    %m = arith.subi %n, %c1 : index
    %p = func.call @f(%x, %m) : (f64, index) -> f64
    %q = arith.mulf %p, %x : f64
    scf.yield %q : f64
  }
  return %r : f64
}
"""
# two functions that call each other, with a third one, several results and blocks
PAIR = """
func.func private @helper(%x: f64) -> f64 {
  %q = math.cos %x : f64
  return %q : f64
}
func.func private @even(%x: f64, %y: f64, %n: i32) -> (f64, f64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ends = arith.cmpi sle, %n, %c0 : i32
  cf.cond_br %ends, ^end, ^more
^end:
  %s = math.sin %y : f64
  return %x, %s : f64, f64
^more:
  %m = arith.subi %n, %c1 : i32
  %xx = math.sin %x : f64
  %r:2 = func.call @odd(%xx, %y, %m) : (f64, f64, i32) -> (f64, f64)
  %q = arith.mulf %r#0, %r#1 : f64
  %t = func.call @helper(%q) : (f64) -> f64
  return %t, %r#1 : f64, f64
}
func.func private @odd(%x: f64, %y: f64, %n: i32) -> (f64, f64) {
  %c1 = arith.constant 1 : i32
  %m = arith.subi %n, %c1 : i32
  %z = arith.mulf %x, %y : f64
  %h = func.call @helper(%y) : (f64) -> f64
  %r:2 = func.call @even(%z, %h, %m) : (f64, f64, i32) -> (f64, f64)
  return %r#1, %r#0 : f64, f64
}
"""
IN_PARALLEL = (
    PAIR
    + """
func.func @f(%a: memref<?xf64>, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %a, %c0 : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%m) step (%c1) {
    %v = memref.load %a[%i] : memref<?xf64>
    %r:2 = func.call @even(%v, %v, %n) : (f64, f64, i32) -> (f64, f64)
    %s = arith.mulf %r#0, %r#1 : f64
    memref.store %s, %a[%i] : memref<?xf64>
    scf.reduce
  }
  return
}
"""
)
# values that a loop carries; each iteration overwrites what it reads
IN_A_LOOP = (
    POWER.replace("@f", "@power")
    + """
func.func @f(%a: memref<?xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %m = memref.dim %a, %c0 : memref<?xf64>
  %r = scf.for %i = %c0 to %m step %c1 iter_args(%s = %one) -> f64 {
    %v = memref.load %a[%i] : memref<?xf64>
    %z = arith.mulf %v, %s : f64
    %w = func.call @power(%z, %n) : (f64, index) -> f64
    memref.store %w, %a[%i] : memref<?xf64>
    %t = math.cos %w : f64
    scf.yield %t : f64
  }
  return %r : f64
}
"""
)
PROGRAMS = {
    "power": (POWER, [(), 4]),
    "in parallel": (IN_PARALLEL, [(5,), 4]),
    "in a loop": (IN_A_LOOP, [(3,), 3]),
}


@pytest.fixture(autouse=True)
def _program() -> Iterator[None]:
    yield
    ti.reset()


@pytest.mark.parametrize("machine", ["x64", "simt"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_both_modes(name: str, dtype: str, machine: str) -> None:
    """Reverse and forward mode of what calls itself agree with central differences."""
    ti.init(arch=getattr(ti, machine), default_fp=getattr(ti, dtype))
    text, shapes = PROGRAMS[name]
    generator = np.random.default_rng(1)
    element = {"f32": np.float32, "f64": np.float64}[dtype]
    arguments = [
        shape if isinstance(shape, int) else np.asarray(generator.uniform(0.5, 1.5, shape), element)
        for shape in shapes
    ]
    program = Program(ti.mlir.parse(text.replace("f64", dtype), "f"), arguments)
    comparisons = program.compare(seed=5)
    assert comparisons
    assert all(comparison.agrees for comparison in comparisons), list(map(str, comparisons))


@pytest.mark.parametrize("machine", ["x64", "simt"])
def test_what_is_as_deep_as_may_be(machine: str) -> None:
    ti.init(arch=getattr(ti, machine), default_fp=ti.f64)
    power = ti.mlir.parse(POWER)
    x, loss = (ti.ndarray(ti.f64, (), needs_grad=True) for _ in range(2))
    x.fill(1.0)
    with ti.ad.Tape(loss):
        power(x, 1023, out=loss)
    assert x.grad.to_numpy() == 1023


@pytest.mark.parametrize("machine", ["x64", "simt"])
def test_what_is_too_deep_fails(machine: str) -> None:
    ti.init(arch=getattr(ti, machine), default_fp=ti.f64)
    with pytest.raises(ti.TaichiRuntimeError, match="calls itself more than 1024 calls deep"):
        ti.mlir.parse(POWER)(1.0, 1500)


def test_second_derivatives_are_asked_for_by_name() -> None:
    """A derivative of a derivative's calls is refused with its line; `grad.jvp` of what has
    `grad.vjp` in it is one."""
    ti.init(arch=ti.cpu, default_fp=ti.f64)  # a GPU has no stack for it
    slope = """
func.func private @slope(%x: f64, %n: index) -> f64 {
  %one = arith.constant 1.0 : f64
  %r = grad.vjp @f(%x, %n, %one) {active = [0]} : (f64, index, f64) -> f64
  return %r : f64
}
func.func @slopes(%x: f64, %n: index) -> (f64, f64) {
  %one = arith.constant 1.0 : f64
  %r:2 = grad.jvp @slope(%x, %n, %one) {active = [0]} : (f64, index, f64) -> (f64, f64)
  return %r#0, %r#1 : f64, f64
}
"""
    function = ti.mlir.parse(POWER + slope, "slopes")
    assert function(2.0, 3) == [12, 12]
    comparisons = Program(function, [np.array(2.0), 3]).compare(seed=5)
    assert all(comparison.agrees for comparison in comparisons), list(map(str, comparisons))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        # of integers alone
        (
            """func.func @f(%n: index) -> index {
  %c2 = arith.constant 2 : index
  %r = func.call @f(%c2) : (index) -> index
  return %r : index
}""",
            3,
        ),
        # of memory
        (
            """func.func @f(%a: memref<?xf64>, %n: index) {
  func.call @f(%a, %n) : (memref<?xf64>, index) -> ()
  return
}""",
            2,
        ),
    ],
)
def test_other_recursion_is_refused(text: str, line: int) -> None:
    with pytest.raises(ti.TaichiCompilationError) as raised:
        ti.mlir.parse(text)
    assert re.search(r"a call of '@f' that cannot be inlined: it is recursive", str(raised.value))
    assert raised.value.source is not None
    assert raised.value.source.line == line


def test_a_gpu_has_no_stack_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused with the line of the call; on a stub of the driver."""
    monkeypatch.setitem(EXECUTORS, "cuda", EXECUTORS["cuda"])
    stub_the_driver()
    ti.init(arch=ti.cuda, default_fp=ti.f64)
    text, _ = PROGRAMS["in parallel"]
    with pytest.raises(ti.TaichiCompilationError, match=r":\d+:\d+: '\w+' calls itself, for which"):
        ti.mlir.parse(text, "f")(np.ones(4), 2)
