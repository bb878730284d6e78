"""A random program of `plain`, rewritten: the fields that have one shape become the members of a
field of structs, subscripted by member or by index first."""

from __future__ import annotations

import ast
from random import Random

from programs.plain import SIZE, WIDTH

MEMBERS = {"x": "s", "y": "s", "n": "s", "z": "s", "w": "t", "c": "t"}
DECLARATIONS = f"""
s = ti.types.struct(
    x=ti.f64, inner=ti.types.struct(y=ti.types.vector(2, ti.f64), n=ti.i32), z=ti.f64
).field(shape={SIZE}, needs_grad=True, layout=LAYOUT)
t = ti.types.struct(c=ti.i32, w=ti.f64).field(shape={WIDTH}, needs_grad=True, layout=LAYOUT)
x, y, n, z, w, c = s.x, s.inner.y, s.inner.n, s.z, t.w, t.c
"""


class _Members(ast.NodeTransformer):
    """`x[i]` to `s[i].x` or `s.x[i]`."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.value, ast.Name) or node.value.id not in MEMBERS:
            return node
        member, struct = node.value.id, f"_{MEMBERS[node.value.id]}"
        path = ["inner", member] if member in ("y", "n") else [member]
        place = self.random.randrange(len(path) + 1)  # of the brackets
        value: ast.expr = ast.Name(struct, ast.Load())
        for position in range(len(path) + 1):
            if position == place:
                value = ast.Subscript(value, node.slice, ast.Load())
            if position < len(path):
                value = ast.Attribute(value, path[position], ast.Load())
        assert isinstance(value, ast.Subscript | ast.Attribute)
        value.ctx = node.ctx
        return value


def in_structs(source: str, random: Random, layout: str) -> str:
    """The program with its fields in fields of structs, of a layout."""
    tree = ast.parse(source)
    body: list[ast.stmt] = []
    for statement in tree.body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id in MEMBERS:
            continue
        if isinstance(statement, ast.FunctionDef):
            statement = _Members(random).visit(statement)
        body.append(statement)
    declared = ast.parse(DECLARATIONS.replace("LAYOUT", f"ti.Layout.{layout}")).body
    declared += ast.parse("_s, _t = s, t").body  # which no local hides
    tree.body = [body[0], *declared, *body[1:]]
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
