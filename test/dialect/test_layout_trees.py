"""Layout trees as they are built, and where the fields in them lie."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect import context, snode
from mlirad.dialect.field_layout import Activity, Digits, Kind, Level, layouts, root_sizes

TREE = """
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "a", element = i8, component_shape = []} : () -> ()
    "snode.dense"() ({
      "snode.place"() {sym_name = "x", element = f32, component_shape = [2], adjoint = @x.grad,
                       duals = [@x.dual]} : () -> ()
    }) {axes = [1], extents = [3]} : () -> ()
  }) {axes = [1, 3], extents = [4, 2]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"""


def _built() -> ir.Module:
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        x = snode.place("x", ir.F32Type.get(), [2], adjoint="x.grad", duals=["x.dual"])
        a = snode.place("a", ir.IntegerType.get_signless(8))
        snode.root("S0", [snode.dense([1, 3], [4, 2], [a, snode.dense([1], [3], [x])])])
    return module


def test_what_is_built_is_what_is_written() -> None:
    """The same ops with the same attributes, which the verifier takes."""
    with context(), ir.Location.unknown():
        module = _built()
        assert module.operation.verify()
        assert str(module) == str(ir.Module.parse(TREE))


def test_where_fields_lie() -> None:
    """Children side by side in each cell, each aligned; axes numbered from 0."""
    with context(), ir.Location.unknown():
        module = _built()
        found = layouts(module.operation)
        assert root_sizes(module.operation) == {"S0": 4 * 2 * 28}
    a, x = found["a"], found["x"]
    assert (a.offset, x.offset) == (0, 4)
    assert (a.shape, x.shape) == ((4, 2), (12, 2, 2))
    dense = Kind.DENSE
    assert x.levels == (Level(dense, 0, 4, 56), Level(dense, 1, 2, 28), Level(dense, 0, 3, 8))
    assert x.element_shape == (4, 3, 2, 2)
    assert x.element_strides == (56, 8, 28, 4)


SPARSE = """
"snode.root"() ({
  "snode.pointer"() ({
    "snode.bitmasked"() ({
      "snode.dense"() ({
        "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
      }) {axes = [0, 1], extents = [2, 4]} : () -> ()
    }) {axes = [1], extents = [3], activity = @b} : () -> ()
    "snode.dynamic"() ({
      "snode.dense"() ({
        "snode.place"() {sym_name = "y", element = i32, component_shape = []} : () -> ()
      }) {axes = [5], extents = [2]} : () -> ()
    }) {axes = [5], extents = [10], activity = @d} : () -> ()
  }) {axes = [1, 0], extents = [5, 7], activity = @p} : () -> ()
}) {sym_name = "S0"} : () -> ()
"""


def test_which_elements_are_active() -> None:
    """Cells of sparse blocks lie as those of dense ones; each block has its activity, whose index
    is part of an element's index."""
    with context(), ir.Location.unknown():
        module = ir.Module.parse(SPARSE)
        assert module.operation.verify()
        found = layouts(module.operation)
        dense = layouts(ir.Module.parse(_all_dense(SPARSE)).operation)
    x, y = found["x"], found["y"]
    assert x.element_strides == dense["x"].element_strides
    assert (y.offset, y.element_strides) == (dense["y"].offset, dense["y"].element_strides)
    assert x.shape == (14, 60)
    assert x.activities == (
        Activity(Kind.POINTER, "p", (Digits(0, 2, 7), Digits(1, 12, 5)), None),
        Activity(Kind.BITMASKED, "b", (Digits(0, 2, 7), Digits(1, 4, 15)), None),
    )
    assert y.shape == (7, 5, 20)
    assert y.activities == (
        Activity(Kind.POINTER, "p", (Digits(0, 1, 7), Digits(1, 1, 5)), None),
        Activity(Kind.DYNAMIC, "d", (Digits(0, 1, 7), Digits(1, 1, 5)), Digits(2, 2, 10)),
    )


def _all_dense(text: str) -> str:
    for kind in ("pointer", "bitmasked", "dynamic"):
        text = text.replace(f"snode.{kind}", "snode.dense")
    for name in ("b", "d", "p"):
        text = text.replace(f", activity = @{name}", "")
    return text
