"""Layout trees as an attribute of a module: what is left of them behind the pass that gives fields
addresses, so that a module of any stage says where its fields lie.

    module attributes {field.trees = [{op = "root", sym_name = "S0", body = [
      {op = "place", sym_name = "x", element = f32, component_shape = []}]}]}
"""

from __future__ import annotations

from collections.abc import Iterable

from mlirad.bindings import ir
from mlirad.dialect.layout_rules import children_of
from mlirad.dialect.snode import roots

TREES = "field.trees"
_OP, _BODY, _PREFIX = "op", "body", "snode."


def note_trees(module: ir.Operation) -> None:
    """Note the trees of a module, behind those that are noted."""
    trees = [_noted(tree) for tree in roots(module)]
    if trees:
        module.attributes[TREES] = ir.ArrayAttr.get([*_notes(module), *trees])


def module_of_trees(module: ir.Operation) -> ir.Module:
    """Return a module that has the trees of another, and those noted there."""
    location = module.location
    with module.context, location:
        trees = ir.Module.create(location)
        with ir.InsertionPoint(trees.body):
            _declare(_notes(module))
            for tree in roots(module):
                tree.clone()
    return trees


def _notes(module: ir.Operation) -> list[ir.Attribute]:
    return list(ir.ArrayAttr(module.attributes[TREES])) if TREES in module.attributes else []


def _noted(op: ir.Operation) -> ir.Attribute:
    attributes: dict[str, ir.Attribute] = {name: op.attributes[name] for name in op.attributes}
    attributes[_OP] = ir.StringAttr.get(op.name.removeprefix(_PREFIX))
    if len(op.regions):
        attributes[_BODY] = ir.ArrayAttr.get([_noted(child) for child in children_of(op)])
    return ir.DictAttr.get(attributes)


def _declare(notes: Iterable[ir.Attribute]) -> None:
    """Make the ops of notes at the insertion point."""
    for note in notes:
        attributes = {item.name: item.attr for item in ir.DictAttr(note)}
        name = _PREFIX + ir.StringAttr(attributes.pop(_OP)).value
        body = attributes.pop(_BODY, None)
        op = ir.Operation.create(name, attributes=attributes, regions=int(body is not None))
        if body is not None:
            block = ir.Block.create_at_start(op.regions[0], [])
            with ir.InsertionPoint(block):
                _declare(ir.ArrayAttr(body))
