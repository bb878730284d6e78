"""Names that a piece of a function writes: those that need memory, and those that a loop shares
with its surroundings."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from mlirad.frontend.python.places.place import Place
from mlirad.frontend.python.source.jumps import is_static
from mlirad.frontend.python.source.nodes import children, nodes_in
from mlirad.frontend.python.values.annotations import is_by_reference
from mlirad.frontend.python.values.matrix import Matrix

Resolver = Callable[[str], Any]
Function = Callable[..., object]
_ANYTHING = object()


class Names(Protocol):
    """A mapping of some names to their values."""

    def __contains__(self, name: str, /) -> bool: ...

    def __getitem__(self, name: str, /) -> Any: ...


def _resolve(node: ast.expr, resolve: Resolver) -> Any:
    """The value of a name or a dotted name; `_ANYTHING` if it is not known yet."""
    if isinstance(node, ast.Name):
        return resolve(node.id)
    if isinstance(node, ast.Attribute):
        base = _resolve(node.value, resolve)
        if isinstance(base, Place):
            member = base.member(node.attr)
            return _ANYTHING if member is None else member
        return _ANYTHING if base is _ANYTHING else getattr(base, node.attr, _ANYTHING)
    return _ANYTHING


def resolver(names: Names, nodes: Sequence[ast.AST]) -> Resolver:
    """A resolver over a mapping, then over Python's own names, unless nodes of a function assign to
    them; a name that is assigned once, by `ti.static(name)`, stands for that one."""
    local = Counter(
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    aliases = _static_aliases(nodes)

    def resolve(name: str) -> Any:
        if name in names:
            return names[name]
        if local[name] == 1 and name in aliases and aliases[name] not in aliases:
            return resolve(aliases[name])
        return _ANYTHING if name in local else getattr(builtins, name, _ANYTHING)

    return resolve


def _static_aliases(nodes: Sequence[ast.AST]) -> dict[str, str]:
    """Names that stand for others, by assignments of the form `name = ti.static(other)`."""
    return {
        node.targets[0].id: node.value.args[0].id
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and is_static(node.value)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.args[0], ast.Name)
    }


def _template_parameters(function: Function) -> list[str | None]:
    """Parameter names in order, None for those passed by value."""
    code, annotations = function.__code__, function.__annotations__
    return [
        name if is_by_reference(annotations.get(name)) else None
        for name in code.co_varnames[: code.co_argcount]
    ]


def _written_arguments(
    call: ast.Call, resolve: Resolver, visiting: frozenset[Function] | None
) -> list[str]:
    """The local names that a call may write: the target of an atomic, arguments of parameters by
    reference.

    `visiting` holds the functions that are being looked into; if it is None, none is, and each may
    write.
    """
    if isinstance(call.func, ast.Attribute) and call.func.attr == "fill":
        return [_base(call.func)]
    callee = _resolve(call.func, resolve)
    if callee is _ANYTHING:
        return [_base(argument) for argument in call.args] + _unknown_receiver(call, visiting)
    if getattr(callee, "__name__", "").startswith("atomic_"):
        return [_base(call.args[0])] if call.args else []
    function = getattr(callee, "function", None)
    if (
        function is None
        or not hasattr(type(callee), "source")
        or (visiting is not None and function in visiting)
    ):
        return []
    parameters = _template_parameters(function)
    receiver = _receiver(call, callee)
    if receiver:  # which a method of a struct gets by reference
        parameters[0] = function.__code__.co_varnames[0]
    if not any(parameters):
        return []
    if visiting is None:
        return [_base(argument) for argument in call.args] + [
            _base(keyword.value) for keyword in call.keywords
        ]
    source = callee.source
    nodes = nodes_in(*source.node.body)
    written = assigned_names(nodes, resolver(source.names, nodes), visiting | {function})
    changed = [receiver] if receiver and parameters[0] in written else []
    if receiver or getattr(callee, "owner", None) is not None:
        parameters = parameters[1:]
    return changed + _written_by_position(call, parameters, written)


def _written_by_position(
    call: ast.Call, parameters: Sequence[str | None], written: set[str]
) -> list[str]:
    by_position = [
        _base(argument) for name, argument in zip(parameters, call.args) if name in written
    ]
    return by_position + [
        _base(keyword.value)
        for keyword in call.keywords
        if keyword.arg in written and keyword.arg in parameters
    ]


def _unknown_receiver(call: ast.Call, visiting: frozenset[Function] | None) -> list[str]:
    """The name in front of a method of an object that is not known yet: a struct's may change it,
    and a struct has memory anyhow."""
    func = call.func
    if visiting is None or not isinstance(func, ast.Attribute) or hasattr(Matrix, func.attr):
        return []
    return [_base(func.value)]


def _receiver(call: ast.Call, callee: Any) -> str:
    """The name that a method of a struct is called on; empty for other functions."""
    is_method = getattr(callee, "is_in_class", False) and getattr(callee, "owner", None) is None
    return _base(call.func) if is_method and isinstance(call.func, ast.Attribute) else ""


def _base(node: ast.expr) -> str:
    """The name that a subscripted or dotted expression starts from; empty if there is none."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def assigned_names(
    nodes: Sequence[ast.AST], resolve: Resolver, visiting: frozenset[Function] = frozenset()
) -> set[str]:
    """Names that some nodes assign, update or pass to something that does."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name | ast.Subscript | ast.Attribute):
            if isinstance(node.ctx, ast.Store):
                names.add(_base(node))
        elif isinstance(node, ast.Call):
            names.update(_written_arguments(node, resolve, visiting))
    return names


def changes_once_set(name: str, function: ast.FunctionDef, resolve: Resolver) -> bool:
    """Return whether a function assigns a name twice, updates it, or passes it to what writes to
    it."""
    stores = 0
    for node in nodes_in(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stores += node.id == name
        elif isinstance(node, ast.AugAssign | ast.Subscript | ast.Attribute):
            target = node.target if isinstance(node, ast.AugAssign) else node
            is_store = isinstance(node, ast.AugAssign) or isinstance(node.ctx, ast.Store)
            stores += 2 * (is_store and _base(target) == name)
        elif isinstance(node, ast.Call):
            stores += 2 * (name in _written_arguments(node, resolve, frozenset()))
    return stores > 1


def stored_names(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Names that nodes of a function assign: Python takes them for locals everywhere in it."""
    targets = {
        id(name)
        for node in nodes
        if isinstance(node, ast.comprehension)
        for name in nodes_in(node.target)
    }
    return frozenset(
        node.id
        for node in nodes
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and id(node) not in targets
    )


def names_with_assigned_parts(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Names of which nodes of a function assign a part, as in `x[0] = y`."""
    return frozenset(
        _base(node)
        for node in nodes
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    )


def _is_block(node: ast.AST) -> bool:
    """Return whether a node is a branch or a loop of run time, as far as its text says."""
    if isinstance(node, ast.For):
        return not is_static(node.iter)
    return isinstance(node, ast.While) or (isinstance(node, ast.If) and not is_static(node.test))


def names_of_several_blocks(function: ast.FunctionDef) -> frozenset[str]:
    """Names that a function assigns in a block, and again in a branch or loop inside of it."""
    blocks: dict[str, set[tuple[ast.AST, ...]]] = {}

    def walk(node: ast.AST, around: tuple[ast.AST, ...]) -> None:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            blocks.setdefault(node.id, set()).add(around)
        inside = (*around, node) if _is_block(node) else around
        for child in children(node):
            walk(child, inside)

    walk(function, ())
    return frozenset(
        name
        for name, places in blocks.items()
        if any(inner[: len(outer)] == outer != inner for inner in places for outer in places)
    )


def assigned_more_than_once(
    parameters: ast.arguments, nodes: Sequence[ast.AST], resolve: Resolver
) -> set[str]:
    """Names that nodes of a function assign twice, update, or write into: those that need
    memory."""
    counts: Counter[str] = Counter(argument.arg for argument in parameters.args)
    for node in nodes:
        if isinstance(node, ast.Name | ast.Subscript | ast.Attribute):
            if isinstance(node.ctx, ast.Store):
                counts[_base(node)] += 1 if isinstance(node, ast.Name) else 2
        elif isinstance(node, ast.AugAssign):
            counts[_base(node.target)] += 1
        elif isinstance(node, ast.Call):
            counts.update(dict.fromkeys(_written_arguments(node, resolve, None), 2))
    return {name for name, count in counts.items() if count > 1}
