"""Integer divisions without a value and loops without an end, in functions in MLIR: the process
lives, and `debug=True` says where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.mlir.run.command import main
from mlirad.mlir.run.derivatives import Program

LEAST = -(1 << 31)
# in C's sense, and by 0: what each op gives for 7 by 2, -7 by 2, 7 by 0, the least number by -1
QUOTIENTS = {
    "arith.divsi": (3, -3, 0, LEAST),
    "arith.floordivsi": (3, -4, 0, LEAST),
    "arith.ceildivsi": (4, -3, 0, LEAST),
    "arith.remsi": (1, -1, 0, 0),
    "arith.divui": (3, (1 << 31) - 4, 0, 0),
    "arith.ceildivui": (4, (1 << 31) - 3, 0, 1),
    "arith.remui": (1, 1, 0, LEAST),
}
OPERANDS = np.array([7, -7, 7, LEAST], np.int32), np.array([2, 2, 0, -1], np.int32)
LOOP = """
func.func @divide(%x: memref<4xf64>, %n: memref<4xi32>, %d: memref<4xi32>, %q: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %a = memref.load %n[%i] : memref<4xi32>
    %b = memref.load %d[%i] : memref<4xi32>
    %c = OP %a, %b : i32
    memref.store %c, %q[%i] : memref<4xi32>
    %v = memref.load %x[%i] : memref<4xf64>
    %f = arith.sitofp %c : i32 to f64
    %w = arith.mulf %v, %f : f64
    memref.store %w, %x[%i] : memref<4xf64>
  }
  return
}
"""
TENSORS = """
func.func @divide(%n: tensor<4xi32>, %d: tensor<4xi32>) -> tensor<4xi32> {
  %q = OP %n, %d : tensor<4xi32>
  return %q : tensor<4xi32>
}
"""
VECTORS = TENSORS.replace("tensor<", "vector<")
STEPS = {
    "scf.for": "scf.for %i = %c0 to %c4 step %s {",
    "scf.parallel": "scf.parallel (%i, %j) = (%c0, %c0) to (%c1, %c4) step (%c1, %s) {",
    "scf.forall": "scf.forall (%i) = (0) to (4) step (%s) {",
}
STEP = """
func.func @walk(%x: memref<4xf64>, %s: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  HEAD
    %v = memref.load %x[%i] : memref<4xf64>
    %w = arith.mulf %v, %v : f64
    memref.store %w, %x[%i] : memref<4xf64>
  }
  %r = memref.load %x[%c1] : memref<4xf64>
  return %r : f64
}
"""
MACHINES = [(ti.cpu, "f64"), (ti.cpu, "f32"), (ti.simt, "f64")]
ON_MACHINES = pytest.mark.parametrize(
    ("arch", "element"), MACHINES, ids=["x64-f64", "x64-f32", "simt-f64"]
)


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    ti.reset()


def in_loop(op: str, element: str = "f64") -> Any:
    return ti.mlir.parse(LOOP.replace("OP", op).replace("f64", element))


@ON_MACHINES
@pytest.mark.parametrize("op", QUOTIENTS)
def test_every_divisor_gives_a_value(op: str, arch: Any, element: str) -> None:
    ti.init(arch, log_level="error")
    x, q = np.ones(4, element.replace("f", "float")), np.zeros(4, np.int32)
    in_loop(op, element)(x, *OPERANDS, q)
    assert q.tolist() == [*QUOTIENTS[op]]
    np.testing.assert_array_equal(x, q.astype(x.dtype))
    program = Program(in_loop(op, element), [np.full_like(x, 0.5), OPERANDS[0] % 8, OPERANDS[1], q])
    comparisons = program.compare(1)
    assert len(comparisons) == 3 and all(c.agrees for c in comparisons)


@pytest.mark.parametrize("op", QUOTIENTS)
@pytest.mark.parametrize("text", [TENSORS, VECTORS], ids=["tensors", "vectors"])
def test_of_tensors_and_vectors(op: str, text: str) -> None:
    ti.init(log_level="error")
    quotients = ti.mlir.parse(text.replace("OP", op))(*OPERANDS)
    assert quotients.tolist() == [*QUOTIENTS[op]]


@pytest.mark.parametrize("op", QUOTIENTS)
@pytest.mark.parametrize("text", [LOOP, TENSORS, VECTORS], ids=["loops", "tensors", "vectors"])
def test_a_division_without_a_value_is_an_error_of_debug_mode(op: str, text: str) -> None:
    ti.init(log_level="error", debug=True)
    function, line = ti.mlir.parse(text.replace("OP", op)), text[: text.index("OP")].count("\n") + 1
    arrays = [np.ones(4)] * (text is LOOP), [np.zeros(4, np.int32)] * (text is LOOP)
    cases = [(7, 0)] + [(LEAST, -1)] * (op.endswith("si"))
    for case in cases:
        operands = (np.full(4, number, np.int32) for number in case)
        with pytest.raises(ti.TaichiAssertionError) as error:
            function(*arrays[0], *operands, *arrays[1])
        message = str(error.value)
        assert f"an integer division without a value: {case[0]} by {case[1]}" in message
        assert f"-:{line}:" in message
    plain = (np.full(4, number, np.int32) for number in (7, 2))
    function(*arrays[0], *plain, *arrays[1])


@ON_MACHINES
@pytest.mark.parametrize("head", STEPS)
def test_a_loop_that_would_not_end_has_no_iterations(head: str, arch: Any, element: str) -> None:
    ti.init(arch, log_level="error")
    text = STEP.replace("HEAD", STEPS[head]).replace("f64", element)
    if head == "scf.parallel":
        text = text.replace("%x[%i]", "%x[%j]").replace("  }\n", "    scf.reduce\n  }\n")
    function, numbers = (
        ti.mlir.parse(text),
        np.linspace(1, 2, 4, dtype=element.replace("f", "float")),
    )
    for step in (0, -1, -(1 << 63)):
        x = numbers.copy()
        assert function(x, step) == x[1]
        np.testing.assert_array_equal(x, numbers)
        assert all(c.agrees for c in Program(function, [numbers, step]).compare(2))
    x = numbers.copy()
    function(x, 3)
    np.testing.assert_allclose(x, numbers ** np.array([2, 1, 1, 2]))
    assert all(c.agrees for c in Program(function, [numbers, 3]).compare(2))


WRONG = {
    "scf.for": "{file}:6:3: (kernel=walk) a loop with steps of 0, expected at least 1",
    "arith.divsi": "{file}:9:10: (kernel=divide) an integer division without a value: 7 by 0",
    "constant": "{file}:4:8: an integer division by 0",
}
CONSTANT = """
func.func @divide(%x: memref<4xi32>, %n: i32) -> i32 {
  %z = arith.constant 0 : i32
  %q = arith.remsi %n, %z : i32
  return %q : i32
}
"""


@pytest.mark.parametrize("case", WRONG)
def test_the_command_says_where(case: str, tmp_path: Path, capfd: Any) -> None:
    file = tmp_path / "wrong.mlir"
    arguments = ["random:4xf64", "arange:4xi32", "zeros:4xi32", "zeros:4xi32"]
    text = LOOP.replace("OP", case).replace("%a = memref.load %n[%i] : memref<4xi32>", SEVEN)
    if case == "scf.for":
        text, arguments = STEP.replace("HEAD", STEPS[case]), ["random", "0"]
    elif case == "constant":
        text, arguments = CONSTANT, ["arange", "1"]
    file.write_text(text)
    assert main([str(file), *arguments, "--check"]) == 1
    assert WRONG[case].format(file=file) in capfd.readouterr().err


SEVEN = "%a = arith.constant 7 : i32"


def test_a_constant_divisor_of_0_is_refused() -> None:
    ti.init(log_level="error")
    with pytest.raises(ti.TaichiCompilationError, match=r"-:4:8: an integer division by 0"):
        ti.mlir.parse(CONSTANT)
    for number in ("dense<0>", "dense<[3, 1, 0, 2]>"):
        for text in (TENSORS, VECTORS):
            body = re.sub(r", %d(?= :)", ", %z", text.replace("OP", "arith.divui"))
            shaped = "tensor<4xi32>" if text is TENSORS else "vector<4xi32>"
            line = f"{{\n  %z = arith.constant {number} : {shaped}\n"
            with pytest.raises(ti.TaichiCompilationError, match=r"-:4:8: an integer division by 0"):
                ti.mlir.parse(body.replace("{\n", line, 1))
