"""Passes that do not run, because a module has none of the ops that they look for."""

from __future__ import annotations

from importlib import import_module

import pytest

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.ir.graph import in_loops, names_in
from mlirad.passes.rounding import LOOKS_FOR
from mlirad.pipeline.registry import find_pass, looks_for, pass_names
from mlirad.pipeline.runner import VERIFY, compile_pipeline

SOURCE = """
func.func @f(%a: i32, %x: f32) -> (i32, f32) {
  %four = arith.constant 4 : i32
  %quotient = arith.floordivsi %a, %four : i32
  %power = math.expm1 %x : f32
  return %quotient, %power : i32, f32
}"""


def after(passes: str, *, verify: bool = False) -> str:
    """The program behind some passes."""
    with context():
        module = ir.Module.parse(SOURCE)
        compile_pipeline(module.operation, f"builtin.module({passes})", verify_ours=verify)()
        return str(module)


def test_tables_name_passes_of_their_folder() -> None:
    for name in {module.partition(".")[0] for module in map(_module_of, pass_names())}:
        table = getattr(import_module(f"mlirad.passes.{name}"), "LOOKS_FOR", {})
        assert all(_module_of(key).startswith(f"{name}.") for key in table)


def _module_of(name: str) -> str:
    """The module of a pass, in `mlirad.passes`."""
    return find_pass(name).__module__.removeprefix("mlirad.passes.")


@pytest.mark.parametrize("name", [name for name in pass_names() if looks_for(name) is not None])
def test_passes_look_for_ops_that_there_are(name: str) -> None:
    names = looks_for(name)
    assert names
    with context() as current:
        assert all(current.is_registered_operation(name.partition(" in ")[0]) for name in names)


def test_a_pass_runs_only_where_what_it_looks_for_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "floordivsi" not in after("lower-floor-divisions")
    monkeypatch.setitem(LOOKS_FOR, "lower-floor-divisions", ("arith.divsi",))
    assert "floordivsi" in after("lower-floor-divisions")


@pytest.mark.parametrize(
    ("between", "name"),
    [("lower-floor-divisions", "arith.shrsi"), ("arith-expand", "arith.divsi")],
)
def test_names_are_those_that_the_pass_before_has_left(
    between: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VERIFY, raising=False)
    monkeypatch.setitem(LOOKS_FOR, "lower-small-exponentials", (name,))
    idle = "lower-small-exponentials"
    assert "math.expm1" in after(f"{idle},{idle}")
    assert "math.expm1" not in after(f"{idle},{between},{idle}")


def test_tests_find_passes_that_look_for_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VERIFY, raising=False)
    monkeypatch.setitem(LOOKS_FOR, "lower-floor-divisions", ("arith.divsi",))
    with pytest.raises(AssertionError, match="'lower-floor-divisions' does not say all"):
        after("lower-floor-divisions", verify=True)


def test_names_say_which_ops_are_in_serial_loops() -> None:
    source = """
    func.func @f(%n: index, %memory: memref<8xf32>, %x: f32) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      memref.store %x, %memory[%zero] : memref<8xf32>
      scf.for %i = %zero to %n step %one {
        %is_first = arith.cmpi eq, %i, %zero : index
        scf.if %is_first {
          %y = memref.load %memory[%i] : memref<8xf32>
        }
      }
      return
    }"""
    with context():
        names = names_in(ir.Module.parse(source).operation)
    in_serial_loops = {name for name in names if " in " in name}
    expected = ("arith.cmpi", "scf.if", "scf.yield", "memref.load")
    assert in_serial_loops == set(map(in_loops, expected))
    assert {"func.func", "memref.store", "scf.for", "memref.load"} < names
