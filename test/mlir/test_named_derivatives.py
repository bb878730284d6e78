"""Derivatives that a module asks for by `grad.vjp` and `grad.jvp`, against those of a tape and
central differences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from programs.foreign_functions import KINDS, upstream
from programs.foreign_functions.named import Derivatives, with_caller

import mlirad as ti
from mlirad.dialect import context
from mlirad.mlir.run.derivatives import Program
from mlirad.pipeline.opt.parsing import Reading
from mlirad.pipeline.runner import run_pipeline

NUMBERS = """
func.func private @f(%x: f64, %y: f64) -> (f64, f64) {
  %p = arith.mulf %x, %y : f64
  %s = math.sin %p : f64
  %q = arith.divf %s, %x : f64
  return %s, %q : f64, f64
}
"""
VECTORS = """
func.func private @f(%v: vector<4xf64>, %x: f64) -> (f64, vector<4xf64>) {
  %b = vector.broadcast %x : f64 to vector<4xf64>
  %m = arith.mulf %v, %b : vector<4xf64>
  %e = math.exp %m : vector<4xf64>
  %s = vector.reduction <add>, %e : vector<4xf64> into f64
  return %s, %m : f64, vector<4xf64>
}
"""
TENSORS = """
func.func private @f(%t: tensor<?x3xf64>, %s: tensor<?x3xf64>) -> tensor<?x3xf64> {
  %p = arith.mulf %t, %s : tensor<?x3xf64>
  %q = arith.mulf %p, %t : tensor<?x3xf64>
  %r = math.sin %q : tensor<?x3xf64>
  return %r : tensor<?x3xf64>
}
"""
# a loop overwrites what it reads, so that its reverse undoes its writes
IN_PLACE = """
func.func private @f(%x: f64, %a: memref<?xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m = memref.dim %a, %c0 : memref<?xf64>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> f64 {
    %rr = scf.for %j = %c1 to %m step %c2 iter_args(%t = %s) -> f64 {
      %v = memref.load %a[%j] : memref<?xf64>
      %w = arith.mulf %v, %t : f64
      %u = arith.mulf %w, %v : f64
      memref.store %u, %a[%j] : memref<?xf64>
      %q = math.sin %w : f64
      scf.yield %q : f64
    }
    scf.yield %rr : f64
  }
  return %r : f64
}
"""
# memory of its own, a call, a parallel loop, and a memref that is written to
IN_PARALLEL = """
func.func private @cosine(%v: f64) -> f64 {
  %c = math.cos %v : f64
  return %c : f64
}
func.func private @f(%a: memref<?xf64>, %o: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf64>
  %temporary = memref.alloc(%n) : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = memref.load %a[%i] : memref<?xf64>
    %w = func.call @cosine(%v) : (f64) -> f64
    memref.store %w, %temporary[%i] : memref<?xf64>
    scf.reduce
  }
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %temporary[%i] : memref<?xf64>
    %z = memref.load %a[%c0] : memref<?xf64>
    %w = arith.mulf %v, %v : f64
    %q = arith.mulf %w, %z : f64
    %old = memref.load %o[%i] : memref<?xf64>
    %new = arith.addf %q, %old : f64
    memref.store %new, %o[%i] : memref<?xf64>
  }
  memref.dealloc %temporary : memref<?xf64>
  return
}
"""
PROGRAMS = {
    "numbers": (NUMBERS, []),
    "vectors": (VECTORS, [(4,), ()]),
    "tensors": (TENSORS, [(2, 3), (2, 3)]),
    "in place": (IN_PLACE, [(), (5,), 2]),
    "in parallel": (IN_PARALLEL, [(4,), (4,)]),
}


@pytest.fixture(autouse=True)
def _program() -> Iterator[None]:
    ti.init(default_fp=ti.f64)
    yield
    ti.reset()


def program(name: str, dtype: str) -> tuple[str, list[np.ndarray | int]]:
    """Return a program on numbers of a type, and arguments."""
    text, shapes = PROGRAMS[name]
    generator = np.random.default_rng(1)
    numpy_dtype = {"f32": np.float32, "f64": np.float64}[dtype]
    return text.replace("f64", dtype), [
        shape
        if isinstance(shape, int)
        else np.asarray(generator.uniform(0.3, 1.2, shape), numpy_dtype)
        for shape in shapes or [(), ()]
    ]


def assert_close(values: list[np.ndarray], expected: list[np.ndarray], dtype: str) -> None:
    assert len(values) == len(expected)
    tolerance = {"f32": 1e-5, "f64": 1e-12}[dtype]
    for value, other in zip(values, expected):
        np.testing.assert_allclose(value, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_a_tape(name: str, dtype: str) -> None:
    """The function that `expand-derivatives` makes gives what a tape and forward mode give, and
    the primal memory stays as it was."""
    text, arguments = program(name, dtype)
    derivatives = Derivatives(text.replace("private @f", "@f"), "f", arguments)
    by_tape, by_name = derivatives.reverse(derivatives.heads(seed=3))
    assert_close(by_name, by_tape, dtype)
    expected, along = derivatives.forward(seed=4)
    assert_close(along, expected, dtype)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("kind", ["vjp", "jvp"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_differentiated_again(name: str, kind: str, dtype: str) -> None:
    """Both modes of a function that calls a derivative agree with central differences of it."""
    text, arguments = program(name, dtype)
    function = ti.mlir.parse(with_caller(text, "f", kind), "derivative")
    generator = np.random.default_rng(2)
    count = len(function.arguments) - len(arguments)
    extra = [
        np.asarray(generator.uniform(-1, 1, shape), function.arguments[-1].dtype.numpy)
        for shape in _shapes_behind(function, arguments, count)
    ]
    comparisons = Program(function, [*arguments, *extra]).compare(seed=5)
    assert comparisons
    assert all(comparison.agrees for comparison in comparisons), list(map(str, comparisons))


def _shapes_behind(
    function: ti.mlir.MlirFunction, arguments: list[np.ndarray | int], count: int
) -> list[tuple[int, ...]]:
    """Return shapes for the arguments behind the primal ones: open axes are as long as those of the
    primal arrays."""
    longest = max((a.shape for a in arguments if isinstance(a, np.ndarray)), key=len)
    shapes = [parameter.shape or () for parameter in function.arguments[-count:]]
    return [
        tuple(longest[axis] if extent < 0 else extent for axis, extent in enumerate(shape))
        for shape in shapes
    ]


NESTED = [
    (name, first, second)
    for name in ("numbers", "tensors", "in place", "in parallel")
    for first in ("vjp", "jvp")
    for second in ("vjp", "jvp")
]
# the reverse of what undoes writes needs room that is known only when it has run
NESTED.remove(("in place", "vjp", "vjp"))


@pytest.mark.parametrize(("name", "first", "second"), NESTED)
def test_nested(name: str, first: str, second: str) -> None:
    """A derivative of a function that calls a derivative, made in the module, is what a tape or
    forward mode makes of the inner one."""
    text, arguments = program(name, "f64")
    inner = with_caller(text, "f", first, name="inner")
    function = ti.mlir.parse(inner, "inner")
    count = len(function.arguments) - len(arguments)
    generator = np.random.default_rng(7)
    extra = [
        np.asarray(generator.uniform(-1, 1, shape), np.float64)
        for shape in _shapes_behind(function, arguments, count)
    ]
    derivatives = Derivatives(inner, "inner", [*arguments, *extra])
    if second == "vjp":
        by_tape, by_name = derivatives.reverse(derivatives.heads(seed=3))
    else:
        by_tape, by_name = derivatives.forward(seed=3)
    assert_close(by_name, by_tape, "f64")


def test_room_that_is_not_known_is_refused() -> None:
    """A reverse that undoes writes is reversed only if it is known how many these are."""
    text = with_caller(with_caller(IN_PLACE, "f", "vjp", name="inner"), "inner", "vjp")
    with pytest.raises(ti.TaichiCompilationError, match="whose size is not an affine"):
        ti.mlir.parse(text, "derivative")


def test_third_derivative() -> None:
    """Derivatives nest to any depth: three times `grad.vjp` of `x ** 5`."""
    text = """
func.func private @d0(%x: f64) -> f64 {
  %a = arith.mulf %x, %x : f64
  %b = arith.mulf %a, %a : f64
  %c = arith.mulf %b, %x : f64
  return %c : f64
}
"""
    for order in (1, 2, 3):
        text += f"""
func.func @d{order}(%x: f64) -> f64 {{
  %one = arith.constant 1.0 : f64
  %d = "grad.vjp"() {{callee = @d{order - 1}, active = [0]}} : () -> ((f64, f64) -> f64)
  %r = func.call_indirect %d(%x, %one) : (f64, f64) -> f64
  return %r : f64
}}
"""
    assert ti.mlir.parse(text, "d3")(2.0) == 60 * 4


def test_a_constant_argument_passes_a_derivative_on() -> None:
    """Memory that is constant has no adjoint outside; what passes through it is not lost."""
    text = """
func.func private @f(%x: f64, %slot: memref<f64>) -> f64 {
  memref.store %x, %slot[] : memref<f64>
  %v = memref.load %slot[] : memref<f64>
  %y = arith.mulf %v, %x : f64
  return %y : f64
}
"""
    slot = np.array(5.0)
    back = ti.mlir.parse(with_caller(text, "f", "vjp", [0]), "derivative")
    assert back(3.0, slot, 1.0) == 6
    assert slot == 5
    along = ti.mlir.parse(with_caller(text, "f", "jvp", [0]), "derivative")
    assert list(along(3.0, slot, 1.0)) == [9, 6]
    assert slot == 3


def test_reading_one_memref_twice() -> None:
    """Arguments that are only read may be the same memory: each has an adjoint of its own."""
    text = """
func.func private @f(%a: memref<2xf64>, %b: memref<2xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = memref.load %a[%c0] : memref<2xf64>
  %w = memref.load %b[%c1] : memref<2xf64>
  %y = arith.mulf %v, %w : f64
  return %y : f64
}
func.func @g(%a: memref<2xf64>, %da: memref<2xf64>, %db: memref<2xf64>, %dy: f64) {
  %d = "grad.vjp"() {callee = @f, active = [0, 1]}
      : () -> ((memref<2xf64>, memref<2xf64>, memref<2xf64>, memref<2xf64>, f64) -> ())
  func.call_indirect %d(%a, %a, %da, %db, %dy)
      : (memref<2xf64>, memref<2xf64>, memref<2xf64>, memref<2xf64>, f64) -> ()
  return
}
"""
    first, second = np.zeros(2), np.ones(2)
    ti.mlir.parse(text, "g")(np.array([3.0, 4.0]), first, second, 2.0)
    assert first.tolist() == [8, 0]
    assert second.tolist() == [1, 7]


def by_upstream(text: str, arguments: list[np.ndarray | int]) -> list[np.ndarray]:
    """Return what `f` gives, whose derivatives upstream's passes alone lower and run."""
    with context():
        module = Reading(text, "-", is_whole_file=False).module()
        run_pipeline(module.operation, "builtin.module(expand-derivatives)")
        return upstream.outputs(str(module), arguments)


@pytest.mark.parametrize("kind", ["vjp", "jvp"])
@pytest.mark.parametrize("name", ["numbers", "tensors", "in place", "in parallel"])
def test_lowered_by_upstream(name: str, kind: str) -> None:
    """What `expand-derivatives` makes is in upstream's dialects: its lowering gives what ours
    does."""
    text, arguments = program(name, "f64")
    module = with_caller(text.replace("@f(", "@primal("), "primal", kind, name="f")
    function = ti.mlir.parse(module, "f")
    count = len(function.arguments) - len(arguments)
    generator = np.random.default_rng(6)
    extra = [
        np.asarray(generator.uniform(-1, 1, shape), np.float64)
        for shape in _shapes_behind(function, arguments, count)
    ]
    program_ = Program(function, [*arguments, *extra])
    program_.run()
    values = [array.to_numpy() for array in program_.outputs]
    assert_close(by_upstream(module, [*arguments, *extra]), values, "f64")


POWER = """
func.func private @power(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %ends = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %ends -> f64 {
    scf.yield %one : f64
  } else {
    %m = arith.subi %n, %c1 : index
    %p = func.call @power(%x, %m) : (f64, index) -> f64
    %q = arith.mulf %p, %x : f64
    scf.yield %q : f64
  }
  return %r : f64
}
func.func private @slope(%x: f64, %n: index) -> f64 {
  %one = arith.constant 1.0 : f64
  %d = grad.vjp @power {active = [0]} : (f64, index, f64) -> f64
  %r = func.call_indirect %d(%x, %n, %one) : (f64, index, f64) -> f64
  return %r : f64
}
func.func @f(%x: f64, %n: index) -> (f64, f64, f64) {
  %one = arith.constant 1.0 : f64
  %d = grad.jvp @slope {active = [0]} : (f64, index, f64) -> (f64, f64)
  %y, %t = func.call_indirect %d(%x, %n, %one) : (f64, index, f64) -> (f64, f64)
  %b = grad.vjp @slope {active = [0]} : (f64, index, f64) -> f64
  %z = func.call_indirect %b(%x, %n, %one) : (f64, index, f64) -> f64
  return %y, %t, %z : f64, f64, f64
}
"""


def test_recursion() -> None:
    """A function of numbers that calls itself has derivatives that call themselves, of any
    order."""
    values = by_upstream(POWER, [np.array(3.0), 5])
    assert [float(value) for value in values[:3]] == [5 * 81, 20 * 27, 20 * 27]
    ti.init(arch=ti.cpu)  # a GPU has no stack for it
    assert ti.mlir.parse(POWER, "f")(3.0, 5) == [5 * 81, 20 * 27, 20 * 27]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", range(4))
def test_random_functions(kind: str, number: int) -> None:
    """The derivatives of random functions are those of a tape, or refused."""
    function = KINDS[kind](number + 200)
    try:
        derivatives = Derivatives(function.text, "f", function.arguments)
        sides = (derivatives.reverse(derivatives.heads(number)), derivatives.forward(number))
    except (ti.TaichiCompilationError, ti.TaichiRuntimeError) as error:
        pytest.skip(str(error))
    for expected, values in sides:
        scale = 1 + max((np.abs(array).max(initial=0) for array in expected), default=0)
        assert_close(
            [value / scale for value in values],
            [array / scale for array in expected],
            "f32" if function.is_rough else "f64",
        )
