"""The parts of a kernel that is a graph: loops that end when a counter in memory is 0, sections
that do not depend on one another, which run in order, and checkpoints. Loops within the former are
serial: only the outermost loops of a kernel are parallel, and these are what derivatives know."""

from __future__ import annotations

import ast
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from typing import Any
from warnings import warn

from mlirad.bindings import ir
from mlirad.errors import TaichiSyntaxError
from mlirad.frontend.python.building.regions import while_op
from mlirad.frontend.python.places.arrays import ArrayRef
from mlirad.frontend.python.source.jumps import has_jump
from mlirad.frontend.python.translation.statements import visit_block
from mlirad.frontend.python.translation.translator import Translator, handles
from mlirad.frontend.python.values import scalar as ex


class Part(StrEnum):
    """A kind of a graph, by its name in `qd.graph`."""

    DO_WHILE = "do_while"
    PARALLEL = "parallel"
    CONTEXT = "parallel_context"
    CHECKPOINT = "checkpoint"
    STREAM = "stream_parallel"

    @property
    def public_name(self) -> str:
        """The name that programs call it by."""
        is_graph = self not in (Part.CHECKPOINT, Part.STREAM)
        return f"qd.graph.{self}" if is_graph else f"qd.{self}"


class GraphPart:
    """`qd.graph.do_while(counter)`, `qd.graph.parallel()`, `qd.graph.parallel_context()` or
    `qd.checkpoint(label, yield_on)`, which kernels understand; all but the first do nothing in
    Python."""

    def __init__(self, kind: Part) -> None:
        self.kind = kind
        self.__name__ = kind.value

    def __call__(self, *arguments: object, **keywords: object) -> AbstractContextManager[None]:
        if self.kind is Part.DO_WHILE:
            raise TaichiSyntaxError("'while qd.graph.do_while(counter)' must be a loop in a kernel")
        return nullcontext()


def _kind_of(t: Translator, node: ast.expr) -> Part | None:
    """The kind of a graph that a call names."""
    if not isinstance(node, ast.Call):
        return None
    callee = t.visit(node.func)
    if not isinstance(callee, GraphPart):
        return None
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name == f"graph_{callee.kind}":
        warn(
            f"qd.{name} is deprecated; use qd.graph.{callee.kind}() instead",
            DeprecationWarning,
            stacklevel=2,
        )
    return callee.kind


def _check_place(t: Translator, kind: Part) -> None:
    if not t.builder.is_graph:
        raise TaichiSyntaxError(f"{kind.public_name}() requires @qd.kernel(graph=True)")
    if t.depth != t.builder.do_whiles or t.in_parallel or t.conditions:
        raise TaichiSyntaxError(
            f"{kind.public_name}() must be at the top level of the kernel, or directly in a "
            "do_while: not in another loop or under a condition"
        )


def is_do_while(t: Translator, node: ast.While) -> bool:
    """Return whether a loop is one of a graph."""
    return _kind_of(t, node.test) is Part.DO_WHILE


def do_while(t: Translator, node: ast.While) -> None:
    """Translate a loop that ends behind an iteration after which its counter is 0."""
    _check_place(t, Part.DO_WHILE)
    if t.builder.sections:
        raise TaichiSyntaxError(
            "qd.graph.do_while() cannot appear inside a qd.graph.parallel() section"
        )
    if has_jump(node.body):
        raise TaichiSyntaxError("a qd.graph.do_while loop can only end by its counter")
    counter = _counter(t, node.test)

    def test() -> ir.Value:
        t.builder.do_whiles += 1
        with t.at_run_time(), t.frame.scope():
            visit_block(t, node.body)
        t.builder.do_whiles -= 1
        goes_on = ex.cast(counter.element([]).load() != 0, ex.u1)
        gate = t.builder.gate
        return (goes_on if gate is None else ex.select(gate.is_open(), goes_on, False)).value

    while_op(test, lambda: None)


def _counter(t: Translator, call: Any) -> ArrayRef:
    if len(call.args) != 1 or call.keywords:
        raise TaichiSyntaxError("qd.graph.do_while takes one counter")
    from mlirad.frontend.python.translation.checkpoints import counter_array

    return counter_array(t, call.args[0], "the counter of qd.graph.do_while")


@handles(ast.With)
def _with(t: Translator, node: ast.With) -> None:
    item, *inner_items = node.items
    kind = _kind_of(t, item.context_expr)
    if kind is None or kind is Part.DO_WHILE:
        raise TaichiSyntaxError(
            "'with' only supports qd.stream_parallel(), qd.graph.parallel_context(), "
            "qd.graph.parallel() and qd.checkpoint(), and requires a call expression of these"
        )
    if kind is Part.STREAM:
        _stream(t, node)
        return
    _check_place(t, kind)
    call: Any = item.context_expr
    body = node.body
    if inner_items:
        body = [ast.copy_location(ast.With(inner_items, node.body), node)]
    if kind is Part.CHECKPOINT:
        if t.builder.sections:
            raise TaichiSyntaxError(
                "qd.checkpoint() cannot appear inside a qd.graph.parallel() section"
            )
        from mlirad.frontend.python.translation.checkpoints import checkpoint

        checkpoint(t, call, body)
        return
    if call.args or call.keywords or item.optional_vars is not None:
        raise TaichiSyntaxError(f"qd.graph.{kind}() takes no arguments and has no value")
    _section(t, kind, body)


def _stream(t: Translator, node: ast.With) -> None:
    """Translate a part that may run beside those next to it; here they run in order."""
    name, frame = "qd.stream_parallel()", t.frame
    if t.builder.is_graph:
        raise TaichiSyntaxError(
            f"{name} is not compatible with graph=True: use qd.graph.parallel()"
        )
    item: Any = node.items[0]
    if len(node.items) > 1:
        raise TaichiSyntaxError(f"'with {name}' takes a single context manager")
    if item.optional_vars is not None or item.context_expr.args or item.context_expr.keywords:
        raise TaichiSyntaxError(f"{name} takes no arguments; 'with {name} as' is not supported")
    if not frame.is_kernel or not any(node is child for child in frame.source.node.body):
        raise TaichiSyntaxError(f"{name} can only be used inside @qd.kernel, at its top level")
    for statement in frame.source.node.body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not isinstance(statement, ast.With) and not is_text:
            raise TaichiSyntaxError(
                f"either all top-level statements of a kernel are 'with {name}', or none",
                t.place_of(statement),
            )
    visit_block(t, node.body)


def _section(t: Translator, kind: Part, body: list[ast.stmt]) -> None:
    """Translate a section, or what is around sections."""
    sections = t.builder.sections
    if kind is Part.CONTEXT:
        if sections:
            raise TaichiSyntaxError("qd.graph.parallel_context() cannot be nested")
        _check_members(t, body)
    elif sections != [Part.CONTEXT]:
        raise TaichiSyntaxError(
            "qd.graph.parallel() sections cannot be nested"
            if sections
            else "qd.graph.parallel() can only be used directly inside a "
            "qd.graph.parallel_context()"
        )
    sections.append(kind)
    try:
        visit_block(t, body)
    finally:
        sections.pop()


def _check_members(t: Translator, body: list[ast.stmt]) -> None:
    """Refuse what is no section, nor `if` or `for` over what is known while compiling."""
    for statement in body:
        if isinstance(statement, ast.With | ast.Pass):
            continue
        head = getattr(statement, "iter", getattr(statement, "test", None))
        is_static = isinstance(head, ast.Call) and _is_static(t, head)
        if not isinstance(statement, ast.For | ast.If) or not is_static:
            raise TaichiSyntaxError(
                "qd.graph.parallel_context() may only contain 'with qd.graph.parallel():', and "
                "'if' and 'for' with qd.static(...) around it",
                t.place_of(statement),
            )
        _check_members(t, [*statement.body, *statement.orelse])


def _is_static(t: Translator, node: ast.Call) -> bool:
    return getattr(t.visit(node.func), "__name__", "") == "static"


do_while_loop, parallel, parallel_context, checkpoint_part, stream_parallel = map(GraphPart, Part)
