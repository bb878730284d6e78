"""Statement nodes other than loops."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mlirad.errors import TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.building.regions import if_op
from mlirad.frontend.python.places.list_places import store_into
from mlirad.frontend.python.places.place import Place
from mlirad.frontend.python.places.variables import Update, Variable
from mlirad.frontend.python.source.assigned_names import changes_once_set, resolver
from mlirad.frontend.python.source.jumps import may_leave
from mlirad.frontend.python.source.nodes import nodes_in
from mlirad.frontend.python.translation.choices import ReturnValues
from mlirad.frontend.python.translation.conversions import convert_result
from mlirad.frontend.python.translation.expressions import BINARY
from mlirad.frontend.python.translation.printing import emit_assert
from mlirad.frontend.python.translation.scopes import Flag, Frame, StaticBreak, StaticContinue
from mlirad.frontend.python.translation.stack import new_variable
from mlirad.frontend.python.translation.translator import Static, Translator, copy_value, handles
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix, Value
from mlirad.frontend.python.values.struct import Struct
from mlirad.frontend.python.values.struct_type import StructType
from mlirad.types import DataType

if TYPE_CHECKING:
    from typing_extensions import TypeIs

ATOMIC = {
    ast.Add: Update.ADD,
    ast.Sub: Update.SUB,
    ast.BitAnd: Update.AND,
    ast.BitOr: Update.OR,
    ast.BitXor: Update.XOR,
}


def visit_block(t: Translator, statements: Sequence[ast.stmt]) -> None:
    """Translate statements in order; those behind a possible jump run only if it was not
    taken."""
    for position, statement in enumerate(statements):
        t.visit(statement)
        following = statements[position + 1 :]
        if t.frame.has_returned:
            return
        if following and may_leave(statement):
            flag = live_flag(t)
            if flag is None:
                continue

            def visit_following(following: Sequence[ast.stmt] = following) -> None:
                with t.at_run_time():
                    visit_block(t, following)

            if_op(flag.read(), visit_following, is_tail=flag is not t.frame.live)
            return


def live_flag(t: Translator) -> Flag | None:
    """The flag that is set while no jump has left the present block; None if none can."""
    frame = t.frame
    for loop in reversed(frame.loops):
        if loop.live is not None:
            return loop.live
        if not loop.static:
            return None
    return frame.live


def _is_plain_value(value: object) -> TypeIs[Value | Struct]:
    return ex.is_scalar(value) or isinstance(value, Matrix | Struct)


def _is_plain_tuple(value: object) -> bool:
    """Return whether a value is a tuple of values of a kernel."""
    return isinstance(value, tuple) and all(
        _is_plain_value(item) or _is_plain_tuple(item) for item in value
    )


def assign(t: Translator, target: ast.expr, value: Any) -> None:
    """Assign a value to a target; one of `ti.static` stays known while compiling if the name is
    assigned nowhere else."""
    if isinstance(target, ast.Tuple | ast.List):
        items = list(value.value if isinstance(value, Static) else value)
        for element, item in _unpack(t, target.elts, items):
            assign(t, element, Static(item) if isinstance(value, Static) else item)
        return
    if isinstance(value, Static):
        if isinstance(target, ast.Name) and not _may_change(t.frame, target.id):
            t.frame.define_object(target.id, value.value)
            return
        value = value.value
    if isinstance(target, ast.Name):
        _warn_of_hidden_field(t, target.id)
        _assign_name(t, target.id, value)
        return
    place = t.visit_place(target)
    if place is None:
        raise TaichiTypeError(
            "cannot assign to this: assign to local variables and elements of fields"
        )
    store_into(place, value)


def _warn_of_hidden_field(t: Translator, name: str) -> None:
    """Warn of a local that has the name of a field and is never read: the field does not change."""
    source = t.frame.source
    if not hasattr(source.names.get(name), "__kernel_ref__"):
        return
    names = [node for node in nodes_in(source.node) if isinstance(node, ast.Name)]
    if not any(node.id == name and isinstance(node.ctx, ast.Load) for node in names):
        t.builder.warn(
            f"'{name}' is a local here, which is never read, and the field of that name does not "
            f"change: {name}[None] = ... and {name}[i] = ... write to a field"
        )


def _may_change(frame: Frame, name: str) -> bool:
    """Return whether a name that is assigned is assigned or updated elsewhere, too."""
    node = frame.source.node
    resolve = resolver(frame, nodes_in(*node.body))
    return name in frame.source.mutable and changes_once_set(name, node, resolve)


def _unpack(
    t: Translator, targets: Sequence[ast.expr], values: list[Any]
) -> list[tuple[ast.expr, Any]]:
    """The value of each target; one with a star gets a list of the values that are left over."""
    starred = [k for k, target in enumerate(targets) if isinstance(target, ast.Starred)]
    spare = len(values) - len(targets)
    if spare and not (starred and spare >= -1):
        raise TaichiSyntaxError(f"cannot unpack {len(values)} values into {len(targets)} targets")
    if starred:
        k = starred[0]
        many = t.new_objects.note(values[k : k + spare + 1], t.builder.region)
        values = [*values[:k], many, *values[k + spare + 1 :]]
    elements = [target.value if isinstance(target, ast.Starred) else target for target in targets]
    return list(zip(elements, values))


def _assign_name(t: Translator, name: str, value: Any) -> None:
    frame = t.frame
    existing = frame.find_local(name)
    if isinstance(existing, Variable):
        existing.store(Matrix(value) if isinstance(value, list | tuple) else value)
    elif isinstance(existing, Place):
        existing.store(value)
    elif existing is not None and name in frame.source.mutable and _is_plain_value(existing):
        if frame.is_kernel and name in {argument.arg for argument in frame.source.node.args.args}:
            raise TaichiSyntaxError(f'Kernel argument "{name}" is immutable in the kernel')
        raise TaichiSyntaxError(f"'{name}' is a loop index or a constant and cannot be assigned to")
    elif existing is not None and not _is_plain_value(existing) and _is_plain_value(value):
        raise TaichiSyntaxError(
            f"'{name}' names a {type(existing).__name__} and cannot become a variable"
        )
    elif (isinstance(value, list) and name in frame.source.with_parts) or (
        _is_plain_tuple(value) and name in frame.source.in_blocks
    ):
        frame.define(name, new_variable(frame, value))
    elif not _is_plain_value(value):
        frame.define_object(name, value)
    elif name in frame.source.mutable or isinstance(value, Struct):
        frame.define(name, new_variable(frame, value))
    else:
        frame.define(name, ex.expression(value) if ex.is_scalar(value) else copy_value(value))


@handles(ast.Assign)
def _assign(t: Translator, node: ast.Assign) -> None:
    result = t.visit(node.value)
    value = result if isinstance(result, Static) else t.read(result)
    if isinstance(value, tuple):
        value = tuple(copy_value(item) for item in value)
    for target in node.targets:
        assign(t, target, value)


@handles(ast.AnnAssign)
def _ann_assign(t: Translator, node: ast.AnnAssign) -> None:
    if node.value is None:
        raise TaichiSyntaxError("a variable needs a value when it is declared")
    if isinstance(node.target, ast.Name) and t.frame.find_local(node.target.id) is not None:
        raise TaichiSyntaxError(
            f"'{node.target.id}' is already declared: its type cannot be declared again"
        )
    value = t.visit_value(node.value)
    if _is_plain_value(value):
        value = _convert_declared(t, t.visit_value(node.annotation), value)
    assign(t, node.target, value)


def _convert_declared(t: Translator, kind: Any, value: Value | Struct) -> Any:
    """A value in the type that a variable is declared with."""
    if isinstance(kind, StructType):
        return convert_result(t, kind, value)
    if isinstance(value, Struct):
        raise TaichiTypeError("a struct cannot become a scalar or a vector")
    return value.cast(kind) if isinstance(value, Matrix) else ex.cast(value, t.resolve(kind))


@handles(ast.AugAssign)
def _aug_assign(t: Translator, node: ast.AugAssign) -> None:
    place = t.visit_place(node.target)
    value = t.visit_value(node.value)
    if place is None:
        raise TaichiTypeError("cannot update this: update local variables and elements of fields")
    if isinstance(value, list | tuple):
        value = Matrix(value)
    operator = BINARY[type(node.op)]
    if isinstance(node.op, ast.MatMult):
        place.store(operator(place.load(), value))
    else:
        place.update(operator, ATOMIC.get(type(node.op)), value)


@handles(ast.Global, ast.Nonlocal)
def _global(t: Translator, node: ast.Global | ast.Nonlocal) -> None:
    name = node.names[0]
    raise TaichiSyntaxError(
        f"Unsupported statement: the value of '{name}' is a constant of the compiled kernel, "
        f"which cannot assign to it: store it in a field ({name}[None] = ...), or return it"
    )


@handles(ast.Expr)
def _expr(t: Translator, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):
        t.unused = node.value
        t.visit(node.value)


@handles(ast.FunctionDef)
def _function_def(t: Translator, node: ast.FunctionDef) -> None:
    raise TaichiSyntaxError(
        f"Function definition is not allowed in 'ti.{'kernel' if t.frame.is_kernel else 'func'}'. "
        f"Define '{node.name}' outside of it, with @ti.func"
    )


@handles(ast.NamedExpr)
def _named_expr(t: Translator, node: ast.NamedExpr) -> Any:
    value = t.visit_value(node.value)
    assign(t, node.target, value)
    return value


@handles(ast.Pass)
def _pass(t: Translator, node: ast.Pass) -> None:
    return None


@handles(ast.If)
def _if(t: Translator, node: ast.If) -> None:
    test = t.visit(node.test)
    is_static = isinstance(test, Static)
    condition = ex.truth(test.value if is_static else t.read(test))

    def block(statements: Sequence[ast.stmt]) -> None:
        with t.frame.scope():
            visit_block(t, statements)

    def branch(statements: Sequence[ast.stmt]) -> None:
        with t.at_run_time():
            block(statements)

    if is_static:
        visit_block(t, node.body if condition else node.orelse)
    elif isinstance(condition, bool):  # loops under it are serial, as under any other condition
        t.conditions += 1
        try:
            block(node.body if condition else node.orelse)
        finally:
            t.conditions -= 1
    else:
        if_op(
            condition.value,
            lambda: branch(node.body),
            (lambda: branch(node.orelse)) if node.orelse else None,
        )


@handles(ast.Assert)
def _assert(t: Translator, node: ast.Assert) -> None:
    if not t.builder.debug:
        if any(isinstance(child, ast.Call) for child in ast.walk(node.test)):
            t.visit_value(node.test)  # for the effects of the call
        return
    condition = ex.truth(t.visit_value(node.test))
    message = "assertion failed" if node.msg is None else t.visit_value(node.msg)
    emit_assert(condition, message)


@handles(ast.Break)
def _break(t: Translator, node: ast.Break) -> None:
    _leave(t, "break")


@handles(ast.Continue)
def _continue(t: Translator, node: ast.Continue) -> None:
    _leave(t, "continue")


def _leave(t: Translator, word: str) -> None:
    if not t.frame.loops:
        raise TaichiSyntaxError(f"'{word}' outside a loop")
    loop = t.frame.loops[-1]
    if loop.static:
        if t.depth != loop.depth:
            raise TaichiSyntaxError(
                f"You are trying to `{word}` a static `for` loop under a condition known only at "
                "run time: the loop is unrolled at compile time"
            )
        raise StaticBreak if word == "break" else StaticContinue
    if loop.parallel and word == "break":
        raise TaichiSyntaxError(
            "Cannot break in the outermost loop, because it is parallel; put "
            "ti.loop_config(serialize=True) before it"
        )
    assert loop.live is not None
    loop.live.set(False)
    if word == "break":
        assert loop.running is not None
        loop.running.set(False)


@handles(ast.Return)
def _return(t: Translator, node: ast.Return) -> None:
    frame = t.frame
    if any(loop.parallel for loop in frame.loops) or (frame.is_kernel and t.in_parallel):
        cure = (
            "`continue` ends an iteration"
            if node.value is None
            else "put the value into a variable or a field in the loop, and return it after the "
            "loop, or put ti.loop_config(serialize=True) before the loop"
        )
        raise TaichiSyntaxError(
            f"Return inside non-static if/for is not supported in a parallel loop: {cure}"
        )
    value = None if node.value is None else t.visit_value(node.value)
    if frame.is_kernel or frame.return_type is not None:
        value = _typed_result(t, value)
    if (t.depth == 0 and not frame.loops and frame.live is None) or _is_last(t, frame):
        frame.result, frame.has_returned = value, True
        return
    if value is not None:
        frame.result = frame.result or ReturnValues(frame.name)
        frame.result.keep(t, value)
    for loop in frame.loops:
        if loop.static:
            continue
        for flag in (loop.live, loop.running):
            if flag is not None:
                flag.set(False)
    assert frame.live is not None
    frame.live.set(False)


def _is_last(t: Translator, frame: Frame) -> bool:
    return (
        t.depth == frame.entry_anchor.depth
        and frame.live is None
        and all(loop.static for loop in frame.loops)
    )


def _typed_result(t: Translator, value: object) -> Any:
    declared = t.frame.return_type
    if value is None:
        if declared is not None:
            raise TaichiSyntaxError(
                f"'{t.frame.name}' has a return type but does not have a return statement with a "
                "value"
            )
        return None
    if declared is None:
        raise TaichiSyntaxError(
            "A kernel with a return value must be annotated with a return type: "
            f"def {t.frame.name}(...) -> ti.f32:"
        )
    if isinstance(value, Matrix) and not t.frame.is_kernel and _is_scalar_type(declared):
        return value.cast(t.resolve(declared))  # a @ti.func declares the type of the entries
    return convert_result(t, declared, value, warns=t.frame.is_kernel)


def _is_scalar_type(declared: object) -> bool:
    return isinstance(declared, DataType) or declared in (int, float, bool)
