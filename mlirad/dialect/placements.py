"""Agreement of the places in all trees of a module: a verifier sees one tree only."""

from __future__ import annotations

from collections.abc import Iterator

from mlirad.bindings import ir
from mlirad.dialect.snode import duals_of, element_and_shape, places


def conflicting_places(module: ir.Operation) -> Iterator[tuple[ir.Operation, str]]:
    """Each `snode.place` that conflicts with another one, and why: fields of one name, adjoints and
    duals that are shared, or differ from their field in type or shape."""
    fields: dict[str, ir.Operation] = {}
    for place in reversed([*places(module)]):  # in the order of the text
        name = ir.StringAttr(place.attributes["sym_name"]).value
        if name in fields:
            yield place, f"field '{name}' is placed twice"
        fields[name] = place
    owners: dict[str, str] = {}
    for name, place in fields.items():
        for kind, derivative in _derivatives(place):
            problem = _problem(name, place, derivative, fields.get(derivative))
            if derivative in owners:
                problem = f"is that of field '{owners[derivative]}' too"
            owners[derivative] = name
            if problem is not None:
                yield place, f"the {kind} '{derivative}' of field '{name}' {problem}"


def _derivatives(place: ir.Operation) -> Iterator[tuple[str, str]]:
    if "adjoint" in place.attributes:
        yield "adjoint", ir.FlatSymbolRefAttr(place.attributes["adjoint"]).value
    for dual in duals_of(place):
        yield "dual", dual


def _problem(
    name: str, place: ir.Operation, derivative: str, other: ir.Operation | None
) -> str | None:
    if derivative == name:
        return "is the field itself"
    if other is None or element_and_shape(place) == element_and_shape(other):
        return None
    (element, shape), (other_element, other_shape) = map(element_and_shape, (place, other))
    return (
        f"is of {other_element} and shape {list(other_shape)}, expected {element} and {list(shape)}"
    )
