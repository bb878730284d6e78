"""Fields for the derivatives of those of a module, laid out as they are."""

from __future__ import annotations

from collections.abc import Iterator

from mlirad.bindings import ir
from mlirad.dialect.field import array_of, is_array
from mlirad.dialect.layout_rules import children_of
from mlirad.dialect.snode import duals_of, places, roots
from mlirad.ir.requirements import symbol_of
from mlirad.ir.signature import label_parameters, parameter_attributes
from mlirad.ir.walk import entry_of
from mlirad.types import from_mlir

_ADJOINT, _DUALS, _NEEDS = "adjoint", "duals", "field.needs_grad"


def give_derivatives(module: ir.Operation, function: ir.Operation) -> None:
    """Place an adjoint and a dual of every float field that has none, and have arrays of floats
    that a function takes carry derivatives."""
    derivatives = {name for place in places(module) for name in derivatives_of(place)}
    for tree in roots(module):
        _copy_tree(tree, derivatives, _ADJOINT, "grad")
        _copy_tree(tree, derivatives, _DUALS, "dual")
    labels = parameter_attributes(function)
    for argument, label in zip(entry_of(function).arguments, labels):
        if is_array(argument.type) and from_mlir(array_of(argument.type)[0]).is_float:
            label[_NEEDS] = ir.UnitAttr.get()
    function.attributes["arg_attrs"] = label_parameters(labels)["arg_attrs"]


def adjoints_of(module: ir.Operation) -> dict[str, str]:
    """Return the adjoints of the fields of a module, by their names."""
    return {
        symbol_of(place): ir.FlatSymbolRefAttr(place.attributes[_ADJOINT]).value
        for place in places(module)
        if _ADJOINT in place.attributes
    }


def first_duals_of(module: ir.Operation) -> dict[str, str]:
    """Return the first duals of the fields of a module, by their names."""
    duals = {symbol_of(place): duals_of(place) for place in places(module)}
    return {name: names[0] for name, names in duals.items() if names}


def derivatives_of(place: ir.Operation) -> Iterator[str]:
    """Yield the fields of the derivatives of a field."""
    if _ADJOINT in place.attributes:
        yield ir.FlatSymbolRefAttr(place.attributes[_ADJOINT]).value
    yield from duals_of(place)


def _copy_tree(tree: ir.Operation, derivatives: set[str], kind: str, suffix: str) -> None:
    """Copy a tree, for the derivatives of a kind that its fields lack."""
    lacking = {
        symbol_of(place)
        for place in _places(tree)
        if _is_float(place) and kind not in place.attributes and symbol_of(place) not in derivatives
    }
    if not lacking:
        return
    with ir.InsertionPoint(tree), tree.location:
        copy = tree.clone()
    _rename(copy, lacking, suffix)
    for place in _places(tree):
        if symbol_of(place) in lacking:
            name = ir.FlatSymbolRefAttr.get(f"{symbol_of(place)}.{suffix}")
            place.attributes[kind] = name if kind == _ADJOINT else ir.ArrayAttr.get([name])


def _rename(op: ir.Operation, lacking: set[str], suffix: str) -> None:
    """Have the places of some names, below an op, be those of derivatives; the others go, with the
    blocks that held no more."""
    for child in children_of(op):
        if len(child.regions):
            _rename(child, lacking, suffix)
            if not children_of(child):
                child.erase()
        elif symbol_of(child) not in lacking:
            child.erase()
        else:
            for name in {_ADJOINT, _DUALS} & {*child.attributes}:
                del child.attributes[name]
            child.attributes["sym_name"] = ir.StringAttr.get(f"{symbol_of(child)}.{suffix}")
    if "sym_name" in op.attributes:
        op.attributes["sym_name"] = ir.StringAttr.get(f"{symbol_of(op)}.{suffix}")


def _places(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the places below an op."""
    for child in children_of(op):
        if len(child.regions):
            yield from _places(child)
        else:
            yield child


def _is_float(place: ir.Operation) -> bool:
    return from_mlir(str(ir.TypeAttr(place.attributes["element"]).value)).is_float
