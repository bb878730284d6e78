"""Comprehensions, which run while compiling, and the binding of loop targets."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from mlirad.errors import TaichiSyntaxError
from mlirad.frontend.python.translation.translator import Translator, handles


@handles(ast.ListComp, ast.GeneratorExp)
def _list_comp(t: Translator, node: ast.ListComp | ast.GeneratorExp) -> list[Any]:
    results: list[Any] = []
    _expand(t, node.generators, lambda: results.append(t.visit_value(node.elt)))
    return t.new_objects.note(results, t.builder.region)


@handles(ast.DictComp)
def _dict_comp(t: Translator, node: ast.DictComp) -> dict[Any, Any]:
    results: dict[Any, Any] = {}
    _expand(
        t,
        node.generators,
        lambda: results.update({t.visit_value(node.key): t.visit_value(node.value)}),
    )
    return t.new_objects.note(results, t.builder.region)


def _expand(t: Translator, generators: list[ast.comprehension], note: Callable[[], None]) -> None:
    if not generators:
        note()
        return
    generator = generators[0]
    for item in t.visit_value(generator.iter):
        with t.frame.scope():
            bind_target(t, generator.target, item)
            if all(t.visit_value(test) for test in generator.ifs):
                _expand(t, generators[1:], note)


def bind_target(t: Translator, target: ast.expr, value: Any) -> None:
    """Bind the names of a loop target to the items of a value."""
    if isinstance(target, ast.Name):
        t.frame.define(target.id, value)
        return
    if not isinstance(target, ast.Tuple | ast.List):
        raise TaichiSyntaxError("a loop target must be a name or a tuple of names")
    items = list(value)
    if len(items) != len(target.elts):
        raise TaichiSyntaxError(f"expected {len(target.elts)} values to unpack, got {len(items)}")
    for element, item in zip(target.elts, items):
        bind_target(t, element, item)
