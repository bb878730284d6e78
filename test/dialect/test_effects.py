"""Every op says what it does to memory."""

from __future__ import annotations

from typing import Any

import pytest

from mlirad.bindings import ext, ir
from mlirad.dialect import context
from mlirad.dialect.effects import OfRegions, effects_of
from mlirad.dialect.field import Field
from mlirad.dialect.grad import Grad
from mlirad.dialect.snode import Snode
from mlirad.dialect.te import Te

DECLARATIONS = {"root", "dense", "pointer", "bitmasked", "dynamic", "place"}
OPS = [
    op
    for dialect in (Field, Grad, Snode, Te)
    for op in dialect.operations
    if op.OPERATION_NAME not in {f"snode.{name}" for name in DECLARATIONS}
]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.OPERATION_NAME)
def test_an_op_states_its_effects(op: Any) -> None:
    effects = effects_of(op)
    assert (effects is not None) + (ext.Pure in op._traits) + (OfRegions in op._traits) == 1
    names = {field.name for field in op._fields}
    assert all(not effect.on or effect.on in names for effect in effects or ())


TREE = """
"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @f() -> !field.array<f32, []> {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  return %x : !field.array<f32, []>
}
"""


def test_a_tree_is_a_symbol() -> None:
    with context():
        module = ir.Module.parse(TREE)
        assert ir.SymbolTable(module.operation)["S0"].operation.name == "snode.root"


def test_uses_of_fields_are_uses_of_symbols() -> None:
    with context():
        module = ir.Module.parse(TREE)
        ir.SymbolTable.replace_all_symbol_uses("x", "y", module.operation)
        assert "field = @y" in str(module)


def test_two_trees_have_two_names() -> None:
    with context():
        tree = TREE.partition("func.func")[0]
        with pytest.raises(ir.MLIRError, match="redefinition of symbol named 'S0'"):
            ir.Module.parse(tree + tree.replace('"x"', '"y"'))
