"""Derivatives that programs give to ops of other dialects: checked against differences, wrong,
missing, constant, replaced."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch_mlir.dialects import arith
from torch_mlir.ir import F32Type, Operation

import mlirad as ti
from mlirad.ir.foreign_ops.registry import FOREIGN_RULES, LOWERINGS
from mlirad.mlir.run.derivatives import Program
from mlirad.mlir.terms import exp, function, r, t, x, y

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))
ti.mlir.load_dialects(FOLDER / "sample.irdl")
SIGNATURES = import_module("sample_rules").SIGNATURES
FUNCTIONS = """
func.func private @widened_product(%x: f32, %y: f64) -> f64 {
  %w = arith.extf %x : f32 to f64
  %r = arith.mulf %w, %y : f64
  return %r : f64
}
func.func private @widened_product_partials(%x: f32, %y: f64) -> (f64, f64) {
  %w = arith.extf %x : f32 to f64
  return %y, %w : f64, f64
}
"""


@pytest.fixture(autouse=True)
def _tables() -> Iterator[None]:
    tables = {id(table): dict(table) for table in (FOREIGN_RULES, LOWERINGS)}
    ti.init()
    yield
    ti.reset()
    for table in (FOREIGN_RULES, LOWERINGS):
        table.clear()
        table.update(tables[id(table)])


def test_every_rule_is_walked() -> None:
    rules = {name for name, rule in FOREIGN_RULES.items() if name.startswith("sample.")}
    assert rules - {"sample.steps"} <= {*SIGNATURES}


@pytest.mark.parametrize(("arch", "dtype"), [("cpu", "f64"), ("cpu", "f32"), ("simt", "f32")])
@pytest.mark.parametrize("name", SIGNATURES)
def test_rules_against_differences(name: str, arch: str, dtype: str) -> None:
    """In reverse and forward mode, and forward over reverse."""
    ti.init(arch=getattr(ti, arch))
    signature, attributes = (text.replace("T", dtype) for text in SIGNATURES[name])
    comparisons = ti.mlir.check_derivative(
        name, signature, attributes=attributes, functions=FUNCTIONS
    )
    assert len(comparisons) >= 4


def test_the_rule_is_what_is_checked() -> None:
    """And not the derivative of the lowering."""
    ti.mlir.derivative("sample.swish", t * r, replace=True)
    with pytest.raises(AssertionError, match=r"derivative of 'sample.swish' differs:\nargument 0"):
        ti.mlir.check_derivative("sample.swish", "(f64) -> f64")


def test_a_wrong_transpose_is_seen() -> None:
    def half(op: Any, along: Any) -> Any:
        return arith.mulf(along[0], arith.constant(along[0].type, 0.5))

    def double(op: Any, along: Any) -> Any:
        return arith.mulf(along[0], arith.constant(along[0].type, 2.0))

    ti.mlir.lowering("sample.unruled", x * 2.0)
    ti.mlir.derivative("sample.unruled", double, half)
    with pytest.raises(AssertionError, match="DIFFERS"):
        ti.mlir.check_derivative("sample.unruled", "(f64) -> f64", order=1)


SQUARES = """
func.func @f(%m: memref<4xf64>) -> f64 {
  %z = arith.constant 0.0 : f64
  %r = affine.for %i = 0 to 4 iter_args(%s = %z) -> f64 {
    %x = affine.load %m[%i] : memref<4xf64>
    %y = "NAME"(%x) : (f64) -> f64
    %q = arith.mulf %x, %y : f64
    %t = arith.addf %s, %q : f64
    affine.yield %t : f64
  }
  return %r : f64
}
"""


def gradient(name: str, values: Any) -> Any:
    program = Program(ti.mlir.parse(SQUARES.replace("NAME", name)), [np.array(values)])
    return program.gradients(program.heads())[0]


def test_a_constant_is_said_to_be_one() -> None:
    """`x * steps(x)`, where steps is 2 or 0.5."""
    assert gradient("sample.steps", [0.0, 0.5, 1.5, 2.0]).tolist() == [0.5, 0.5, 2.0, 2.0]


def test_an_op_without_a_rule_and_a_lowering_is_refused() -> None:
    with pytest.raises(ti.TaichiCompilationError, match=r"6:\d+: 'sample.unruled' has no lowering"):
        ti.mlir.parse(SQUARES.replace("NAME", "sample.unruled"))


def test_rules_of_upstream_dialects() -> None:
    """Which mlirad does not know."""
    ti.mlir.lowering("spirv.GL.Tanh", function("math.tanh")(x))
    ti.mlir.derivative("spirv.GL.Tanh", t * (1.0 + -(r * r)))
    ti.mlir.check_derivative("spirv.GL.Tanh", "(f32) -> f32")
    ti.mlir.lowering("index.add", lambda op: arith.addi(*op.operands))
    text = """
      func.func @f(%m: memref<4xf64>, %k: index) -> f64 {
        %i = index.add %k, %k
        %x = memref.load %m[%i] : memref<4xf64>
        return %x : f64
      }"""
    assert ti.mlir.parse(text)(np.arange(4.0), 1) == 2


@pytest.mark.parametrize("type_", ["tensor<4xf64>", "vector<4xf64>"])
def test_a_lowering_of_tensors_and_vectors(type_: str) -> None:
    ti.mlir.lowering("sample.unruled", lambda op: arith.mulf(op.operands[0], op.operands[0]))
    text = f"""
      func.func @f(%x: {type_}) -> {type_} {{
        %y = "sample.unruled"(%x) : ({type_}) -> {type_}
        return %y : {type_}
      }}"""
    comparisons = Program(ti.mlir.parse(text), [np.arange(1.0, 5.0)]).compare(0)
    assert comparisons and all(comparison.agrees for comparison in comparisons)


ELEMENTS = """
func.func @f(%x: TYPE, %y: TYPE, %k: i32) -> (TYPE, TYPE) {
  %a = "sample.swish"(%x) : (TYPE) -> TYPE
  %b = "sample.scaled"(%k, %y, %k) : (i32, TYPE, i32) -> TYPE
  %radius, %angle = "sample.polar"(%a, %b) : (TYPE, TYPE) -> (TYPE, TYPE)
  %c = "sample.root"(%radius) : (TYPE) -> TYPE
  return %c, %angle : TYPE, TYPE
}
"""


@pytest.mark.parametrize("arch", ["cpu", "simt"])
@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("shape", ["tensor<2x3x", "tensor<?x3x", "vector<2x3x"])
def test_elementwise_ops(shape: str, dtype: str, arch: str) -> None:
    ti.init(arch=getattr(ti, arch))
    function = ti.mlir.parse(ELEMENTS.replace("TYPE", f"{shape}{dtype}>"))
    x, y = (np.linspace(0.2, 1.9, 6, dtype=f"float{dtype[1:]}").reshape(2, 3) for _ in "xy")
    root, angle = function(x, y, 3)
    swish = x / (1 + np.exp(-x))
    np.testing.assert_allclose(root, np.sqrt(np.hypot(swish, 3 * y)), rtol=1e-5)
    np.testing.assert_allclose(angle, np.arctan2(3 * y, swish), rtol=1e-5)
    comparisons = Program(function, [x, y, 3]).compare(0)
    assert len(comparisons) == 6 and all(comparison.agrees for comparison in comparisons)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ("(vector<2xf64>, vector<3xf64>) -> vector<2xf64>", "is elementwise: expected one shape"),
        ("(vector<2xf64>, tensor<2xf64>) -> vector<2xf64>", "of vectors and tensors, expected one"),
        ("(vector<2xf64>, f64) -> f64", "is elementwise: expected one shape"),
        ("(f64, f64) -> tensor<2xf64>", "expected a tensor among its operands"),
        ("(f64, f64) -> vector<32x33xf64>", "expected 1024 elements at most"),
    ],
)
def test_ops_that_are_not_elementwise(types: str, message: str) -> None:
    ti.mlir.parse_dialects(
        "irdl.dialect @loose { irdl.operation @op { %0 = irdl.any %1 = irdl.any %2 = irdl.any "
        "irdl.operands(x: %0, y: %1) irdl.results(r: %2) } }"
    )
    ti.mlir.lowering("loose.op", x * y, elementwise=True)
    first, second = types.partition(")")[0].strip("(").split(", ")
    text = f"""func.func @f(%x: {first}, %y: {second}) {{
      %r = "loose.op"(%x, %y) : {types}
      return
    }}"""
    with pytest.raises(ti.TaichiCompilationError, match=message):
        ti.mlir.parse(text)


def test_a_rule_that_makes_what_mlir_refuses() -> None:
    def mistyped(op: Any, along: Any) -> Any:
        zero = arith.constant(F32Type.get(), 0.0)
        return Operation.create("arith.addf", [along[0].type], [along[0], zero]).result

    ti.mlir.derivative("sample.unruled", mistyped, mistyped)
    with pytest.raises(ti.TaichiCompilationError, match="makes what MLIR refuses") as caught:
        ti.mlir.parse(SQUARES.replace("NAME", "sample.unruled"))
    assert __file__ in str(caught.value)


def test_rules_in_a_circle() -> None:
    """Each is made of the other op."""
    ti.mlir.parse_dialects(
        "irdl.dialect @circle {"
        "  irdl.operation @sine { %0 = irdl.any irdl.operands(x: %0) irdl.results(r: %0) }"
        "  irdl.operation @cosine { %0 = irdl.any irdl.operands(x: %0) irdl.results(r: %0) }"
        "}"
    )
    ti.mlir.lowering("circle.sine", function("math.sin")(x))
    ti.mlir.lowering("circle.cosine", function("math.cos")(x))
    ti.mlir.derivative("circle.sine", t * function("circle.cosine")(x))
    ti.mlir.derivative("circle.cosine", -(t * function("circle.sine")(x)))
    ti.mlir.check_derivative("circle.sine", "(f64) -> f64")
    ti.mlir.check_derivative("circle.cosine", "(f64) -> f64")


DERIVATIVES = """
func.func private @f(%x: f64) -> f64 {
  %y = "sample.unruled"(%x) : (f64) -> f64
  return %y : f64
}
func.func private @first(%x: f64) -> f64 {
  %one = arith.constant 1.0 : f64
  %d = grad.vjp @f {active = [0]} : (f64, f64) -> f64
  %r = func.call_indirect %d(%x, %one) : (f64, f64) -> f64
  return %r : f64
}
func.func private @second(%x: f64) -> f64 {
  %one = arith.constant 1.0 : f64
  %d = grad.jvp @first {active = [0]} : (f64, f64) -> (f64, f64)
  %p, %r = func.call_indirect %d(%x, %one) : (f64, f64) -> (f64, f64)
  return %r : f64
}
func.func private @third(%x: f64) -> f64 {
  %one = arith.constant 1.0 : f64
  %d = grad.vjp @second {active = [0]} : (f64, f64) -> f64
  %r = func.call_indirect %d(%x, %one) : (f64, f64) -> f64
  return %r : f64
}
func.func @f0(%x: f64) -> f64 {
  %r = func.call @NAME(%x) : (f64) -> f64
  return %r : f64
}
"""


def test_a_constant_stays_one_where_derivatives_are_named() -> None:
    """The derivatives of `x * stopped(x)` are `stopped(x)`, 0, 0."""
    ti.mlir.lowering("sample.unruled", x)
    ti.mlir.derivative("sample.unruled", None)
    text = DERIVATIVES.replace(
        "  return %y : f64", "  %p = arith.mulf %x, %y : f64\n  return %p : f64", 1
    )
    values = [
        float(ti.mlir.parse(text.replace("NAME", name), "f0")(0.5))
        for name in ("f", "first", "second", "third")
    ]
    assert values == [0.25, 0.5, 0.0, 0.0]


def test_derivatives_of_rules_of_rules() -> None:
    """Three times by the rule, which is made of the op itself and is not that of the lowering; a
    fourth time is refused."""
    ti.mlir.lowering("sample.unruled", x)
    ti.mlir.derivative("sample.unruled", t * (2.0 * function("sample.unruled")(x)))
    for number, name in enumerate(("f", "first", "second", "third")):
        value = ti.mlir.parse(DERIVATIVES.replace("NAME", name), "f0")(0.5)
        assert value == pytest.approx(2.0**number * 0.5), name
    program = Program(ti.mlir.parse(DERIVATIVES.replace("NAME", "second"), "f0"), [np.array(0.5)])
    assert program.gradients(program.heads())[0] == pytest.approx(4.0)
    last = ti.mlir.parse(DERIVATIVES.replace("NAME", "third"), "f0")
    with pytest.raises(ti.TaichiCompilationError, match="is differentiated more often"):
        Program(last, [np.array(0.5)]).gradients([np.array(1.0), np.array(0.0)])


def test_an_infinite_partial_times_nothing() -> None:
    """0 of an infinity is 0, as for rules of mlirad."""
    ti.mlir.lowering("sample.unruled", x * x)
    ti.mlir.derivative("sample.unruled", partials=(1.0 / x,))
    program = Program(ti.mlir.parse(SQUARES.replace("NAME", "sample.unruled")), [np.zeros(4)])
    assert program.gradients(program.heads())[0].tolist() == [0.0] * 4


# Registration.


@pytest.mark.parametrize(
    ("register", "message"),
    [
        (lambda: ti.mlir.derivative("sample.swish", None), "has a derivative already"),
        (lambda: ti.mlir.lowering("sample.swish", x), "has a lowering already"),
        (lambda: ti.mlir.derivative("arith.mulf", (t, t)), "the ops of 'arith' are mlirad's"),
        (lambda: ti.mlir.derivative("swish", None), "'swish' names no op"),
        (lambda: ti.mlir.derivative("sample.unruled", t * t), "term 0 is not linear"),
        (lambda: ti.mlir.derivative("sample.unruled", x), "term 0 is not linear"),
        (lambda: ti.mlir.derivative("sample.unruled", t + 1.0), "term 0 is not linear"),
        (lambda: ti.mlir.derivative("sample.unruled", 3), "is a int, expected terms"),
        (lambda: ti.mlir.derivative("sample.unruled", None, len), "together with a transposed map"),
        (lambda: ti.mlir.derivative("sample.unruled", t, partials=x), "is a complete derivative"),
        (lambda: ti.mlir.lowering("sample.unruled", r), "that has the result in it"),
        (lambda: ti.mlir.lowering("sample.unruled", x * t), "expected one of operands"),
    ],
)
def test_what_cannot_be_registered(register: Any, message: str) -> None:
    """The error names this file."""
    with pytest.raises(ti.TaichiCompilationError) as caught:
        register()
    line, *_ = str(caught.value).splitlines()  # without the source, which may hold the pattern
    assert line.startswith(__file__) and re.search(message, line)


def test_registering_twice_names_both_places() -> None:
    ti.mlir.derivative("sample.unruled", t)
    with pytest.raises(ti.TaichiCompilationError, match="the first one") as caught:
        ti.mlir.derivative("sample.unruled", t)
    assert str(caught.value).count(__file__) == 2


def test_a_rule_of_an_op_that_is_not_there() -> None:
    ti.mlir.derivative("sample.swihs", t)
    with pytest.raises(ti.TaichiCompilationError, match=r"there is no op 'sample.swihs'; did"):
        ti.mlir.parse(SQUARES.replace("NAME", "sample.swish"))


def test_a_replaced_rule_counts_for_what_is_read_then() -> None:
    before = ti.mlir.parse(SQUARES.replace("NAME", "sample.swish"))
    first = gradient("sample.swish", [1.0, 2.0, 3.0, 4.0])
    ti.mlir.derivative("sample.swish", None, replace=True)
    ti.mlir.lowering("sample.swish", x, replace=True)
    assert gradient("sample.swish", [1.0, 2.0, 3.0, 4.0]).tolist() == [1.0, 2.0, 3.0, 4.0]
    program = Program(before, [np.array([1.0, 2.0, 3.0, 4.0])])
    assert program.gradients(program.heads())[0].tolist() == first.tolist()


def test_threads_and_forks_see_what_was_registered() -> None:
    ti.mlir.lowering("sample.unruled", x * x)
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(gradient("sample.unruled", [1.0] * 4)))
    thread.start()
    thread.join()
    assert results[0].tolist() == [3.0] * 4
    child = os.fork()
    if child == 0:
        os._exit(int(gradient("sample.unruled", [1.0] * 4).tolist() != [3.0] * 4))
    assert os.waitpid(child, 0)[1] == 0


CACHED = """
import sys
import numpy as np
import mlirad as ti
from mlirad import bindings
from mlirad.mlir.run.derivatives import Program
from mlirad.mlir.terms import r, t, x

made, count = bindings.ExecutionEngine, 0
def counted(*arguments, **keywords):
    global count
    count += 1
    return made(*arguments, **keywords)
bindings.ExecutionEngine = counted
ti.init(arch=ti.cpu)
ti.mlir.load_dialects(sys.argv[1])
ti.mlir.lowering("sample.swish", x * float(sys.argv[2]))
ti.mlir.derivative("sample.swish", t * float(sys.argv[3]))
program = Program(ti.mlir.parse(sys.argv[4]), [np.ones(4)])
print(program.function(np.ones(4)), *program.gradients(program.heads())[0], count)
"""


@pytest.mark.cpu_code("the machine code that is kept")
@pytest.mark.host("loader", "code is not stored in the cache")
def test_another_rule_is_another_kernel(tmp_path: Path) -> None:
    """Kernels that the cache keeps are of the rule and of the lowering."""

    def run(lowering: float, rule: float) -> list[float]:
        folder = str(tmp_path / "cache")
        environment = {
            **os.environ,
            "MLIRAD_OFFLINE_CACHE": "1",
            "MLIRAD_OFFLINE_CACHE_FILE_PATH": folder,
            "PYTHONPATH": str(FOLDER.parents[2]),
        }
        dialects, text = str(FOLDER / "sample.irdl"), SQUARES.replace("NAME", "sample.swish")
        command = [sys.executable, "-c", CACHED, dialects, str(lowering), str(rule), text]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return [float(word) for word in done.stdout.split()]

    os.chmod(tmp_path, 0o700)
    assert run(2.0, 2.0)[:5] == [8, 4, 4, 4, 4]
    assert run(2.0, 2.0) == [8, 4, 4, 4, 4, 0]  # found
    assert run(2.0, 5.0)[:5] == [8, 7, 7, 7, 7]
    assert run(3.0, 5.0)[:5] == [12, 8, 8, 8, 8]


# Dialects in IRDL.


def test_a_dialect_is_loaded_once() -> None:
    text = "irdl.dialect @once { irdl.operation @op { } }"
    assert ti.mlir.parse_dialects(text) == ["once"]
    assert ti.mlir.parse_dialects(text) == ["once"]
    with pytest.raises(ti.TaichiCompilationError, match="'once' is loaded, by another text"):
        ti.mlir.parse_dialects("irdl.dialect @once { irdl.operation @other { } }")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("irdl.dialect @arith { irdl.operation @op { } }", "there is a dialect 'arith' already"),
        ("irdl.dialect @field { }", "there is a dialect 'field' already"),
        ("func.func @f() { return }", "'func.func' in a text of IRDL"),
        ("irdl.dialect @d { irdl.operation }", r"1:34: custom op .* expected valid"),
    ],
)
def test_texts_that_define_no_dialect(text: str, message: str) -> None:
    with pytest.raises(ti.TaichiCompilationError, match=message):
        ti.mlir.parse_dialects(text)


def test_a_term_of_two_operands_on_points() -> None:
    ti.mlir.parse_dialects(
        "irdl.dialect @two { irdl.operation @op { %0 = irdl.any "
        "irdl.operands(x: %0, y: %0) irdl.results(r: %0) } }"
    )
    ti.mlir.lowering("two.op", exp(x) * y)
    ti.mlir.derivative("two.op", (t * r, t * exp(x)))
    ti.mlir.check_derivative("two.op", "(f64, f64) -> f64", [-1.0, 2.0], [0.5, 0.0])
    with pytest.raises(ti.TaichiRuntimeError, match="points for 1 operands, expected 2"):
        ti.mlir.check_derivative("two.op", "(f64, f64) -> f64", [-1.0, 2.0])
    with pytest.raises(ti.TaichiRuntimeError, match="lists of one length"):
        ti.mlir.check_derivative("two.op", "(f64, f64) -> f64", [-1.0, 2.0], [1.0])
    with pytest.raises(ti.TaichiRuntimeError, match=r"expected \(f64, f64\) -> f64"):
        ti.mlir.check_derivative("two.op", "f64, f64")
