"""Loop nodes: parallel at the top of a kernel, serial below, unrolled under `ti.static`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec.structs import replace

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.errors import TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.building.builder import current, mlir_type
from mlirad.frontend.python.building.regions import for_op, if_op, parallel_op, while_op
from mlirad.frontend.python.places.active_elements import activity_test, if_active
from mlirad.frontend.python.places.arrays import array_ref
from mlirad.frontend.python.places.blocks import block_ref
from mlirad.frontend.python.places.place import Place
from mlirad.frontend.python.places.struct_places import as_place, is_unshared_local, make_local
from mlirad.frontend.python.places.variables import (
    SharedVariable,
    Variable,
    make_slot,
    read_slot,
    write_slot,
)
from mlirad.frontend.python.places.views import KernelView
from mlirad.frontend.python.source.assigned_names import assigned_names, resolver
from mlirad.frontend.python.source.jumps import has_jump, has_return, leaves_loop
from mlirad.frontend.python.source.nodes import nodes_in
from mlirad.frontend.python.translation.comprehensions import bind_target
from mlirad.frontend.python.translation.graphs import do_while, is_do_while
from mlirad.frontend.python.translation.loop_names import loop_of_name, name_attribute
from mlirad.frontend.python.translation.loop_nest import Nest, in_memory_order
from mlirad.frontend.python.translation.scopes import Flag, Loop, StaticBreak, StaticContinue
from mlirad.frontend.python.translation.statements import live_flag, visit_block
from mlirad.frontend.python.translation.translator import Static, Translator, handles
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.domains import Bounds, GroupedDomain, NdRange, Range
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.python_numbers import in_range
from mlirad.frontend.python.values.scalar import Expr
from mlirad.ir import build
from mlirad.ir.gpu.blocks import DEFAULT_BLOCK
from mlirad.types import i32, i64

_NO_ELSE = (
    "'else' of a loop is not supported: set a variable before `break`, and test it after the loop"
)


@handles(ast.For)
def _for(t: Translator, node: ast.For) -> None:
    if node.orelse:
        raise TaichiSyntaxError(_NO_ELSE)
    domain = t.visit(node.iter)
    options, t.loop_options = t.loop_options, {}
    if isinstance(domain, Static):
        _unroll(t, node, domain.value)
        return
    nest = _nest(t, node, domain.load() if isinstance(domain, Variable | Place) else domain)
    _check_targets(t, node.target, len(nest.bounds), nest.is_grouped)
    if t.builder.gate is not None and t.depth == t.builder.do_whiles and not t.in_parallel:
        nest = _empty_unless(nest, t.builder.gate.is_open())
    is_inside = bool(
        t.depth or t.conditions or t.in_parallel or any(not loop.static for loop in t.frame.loops)
    )
    is_stepped = isinstance(nest.step, Expr) or nest.step != 1
    named = name_attribute(t, options.get("name"), is_inside=is_inside)
    with loop_of_name(options.get("name"), is_inside=is_inside):
        if is_inside or is_stepped or options.get("serialize") or t.runs_in_order:
            _serial(t, nest, {} if is_inside else named)
        else:
            _parallel(t, in_memory_order(nest, domain), options, named)


def _empty_unless(nest: Nest, condition: Expr) -> Nest:
    """Return a nest that goes over nothing if a condition does not hold."""
    if not nest.bounds:
        raise TaichiSyntaxError("a kernel with checkpoints cannot loop over a field without axes")
    [(low, high), *inner] = nest.bounds
    return replace(nest, bounds=[(low, ex.select(condition, high, low)), *inner])


def _nest(t: Translator, node: ast.For, domain: Any) -> Nest:
    """Bounds, index types and step of a loop over a domain."""
    is_grouped = isinstance(domain, GroupedDomain)
    if isinstance(domain, GroupedDomain):
        domain = domain.domain
    if isinstance(domain, Range):
        dtype = i64 if _is_wide(domain) else t.builder.default_ip
        return Nest(node, [(domain.lower, domain.upper)], [dtype], domain.step, is_grouped)
    bounds = _box(domain)
    dtypes = [i32] * len(bounds)
    axes = domain.axes if isinstance(domain, NdRange) else range(len(bounds))
    ordered = [bounds[axis] for axis in axes]
    return Nest(node, ordered, dtypes, 1, is_grouped, activity_test(domain), axes)


def _box(domain: object) -> list[Bounds]:
    """The bounds of the indices of a loop domain."""
    if isinstance(domain, NdRange):
        return domain.bounds
    arrays = array_ref(domain)
    if isinstance(arrays, KernelView):
        return [(0, arrays.size)]
    if arrays is not None:
        array = arrays.leaves()[0]
        offset = array.offset or (0,) * len(array.shape)
        return [(o, n + o) for n, o in zip(array.shape, offset)]
    block = block_ref(domain)
    if block is not None:
        return [(0, n) for n in block.shape]
    if isinstance(domain, Expr):
        raise TaichiTypeError("cannot loop over a scalar: did you mean range(...)?")
    if isinstance(domain, np.ndarray):
        raise TaichiSyntaxError(
            "cannot loop over an array of NumPy: pass it to a parameter of type ti.types.ndarray()"
        )
    if isinstance(domain, int | float):
        raise TaichiSyntaxError(
            f"cannot loop over the number {domain}: range(n) is a loop over numbers, and a "
            "parameter of type ti.template() takes a field to loop over"
        )
    raise TaichiSyntaxError(
        f"cannot loop over a {type(domain).__name__}; lists are unrolled with ti.static(...), and "
        "range(n) and ti.ndrange(n, m) are loops over numbers"
    )


def _is_wide(domain: Range) -> bool:
    """Return whether indices may be beyond the default integer type."""
    return any(
        bound.dtype.bits == 64 if isinstance(bound, Expr) else not in_range(bound, i32)
        for bound in (domain.lower, domain.upper)
    )


def _check_targets(t: Translator, target: ast.expr, count: int, is_grouped: bool) -> None:
    """Refuse names that are bound already, and a wrong number of them."""
    names = [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]
    for name in names:
        if name != "_" and t.frame.find_local(name) is not None:
            raise TaichiSyntaxError(
                f"Variable '{name}' is already declared in the outer scope and cannot be used as "
                "loop variable"
            )
    is_tuple = isinstance(target, ast.Tuple | ast.List)
    if not is_grouped and count > 1 and len(names) != count:
        raise TaichiSyntaxError(
            "Ndrange for loop with number of the loop variables not equal to the dimension of "
            f"the ndrange is not supported: {len(names)} variables for {count} axes; write `for "
            f"{', '.join('ijklmnop'[:count])} in ...:`, or use ti.grouped for a single vector"
        )
    if is_tuple and len(names) != count:
        grouped = "ti.grouped gives a single vector, `for I in ti.grouped(x):`"
        raise TaichiSyntaxError(
            f"expected {len(names)} values to unpack, got {count}: the loop has {count} "
            f"{'axis' if count == 1 else 'axes'}, and "
            + (grouped if is_grouped else "its index is a single number, `for i in x:`")
        )


def _bind_index(t: Translator, nest: Nest, indices: list[Expr]) -> None:
    target = nest.node.target
    if nest.is_grouped or (len(indices) != 1 and isinstance(target, ast.Name)):
        bind_target(t, target, Matrix.of_shape((len(indices),), list(indices)))
    elif len(indices) == 1 and isinstance(target, ast.Name):
        t.frame.define(target.id, indices[0])
    else:
        bind_target(t, target, indices)
    _let_indices_change(t, nest.node)


def _let_indices_change(t: Translator, node: ast.For) -> None:
    """Make variables of the loop's names that its body assigns: of one iteration, as in Python."""
    frame = t.frame
    names = {name.id for name in ast.walk(node.target) if isinstance(name, ast.Name)}
    if names & frame.source.mutable:
        nodes = nodes_in(*node.body)
        for name in names & assigned_names(nodes, resolver(frame, nodes)):
            frame.define(name, make_local(frame.find_local(name)))


def _unroll(t: Translator, node: ast.For, iterable: Any) -> None:
    if (
        not isinstance(iterable, Range | NdRange | GroupedDomain | Matrix)
        and array_ref(iterable) is not None
    ):
        iterable = NdRange(*iterable.shape) if len(iterable.shape) > 1 else range(iterable.shape[0])
    loop = Loop(static=True, depth=t.depth)
    t.frame.loops.append(loop)
    try:
        _unroll_items(t, node, loop, list(iterable))
    finally:
        t.frame.loops.pop()


def _unroll_items(t: Translator, node: ast.For, loop: Loop, items: Sequence[Any]) -> None:
    """Translate iterations one behind the other; those behind a `return` of run time run if it was
    not taken."""
    returns = has_return(node.body)
    for position, item in enumerate(items):
        if not _unroll_item(t, node, item):
            return
        remaining_items = items[position + 1 :]
        flag = live_flag(t) if returns and remaining_items else None
        if flag is not None:

            def unroll_remaining(remaining_items: Sequence[Any] = remaining_items) -> None:
                with t.at_run_time():
                    outer, loop.depth = loop.depth, t.depth
                    _unroll_items(t, node, loop, remaining_items)
                    loop.depth = outer

            if_op(flag.read(), unroll_remaining, is_tail=flag is not t.frame.live)
            return


def _unroll_item(t: Translator, node: ast.For, item: Any) -> bool:
    """Translate one iteration; return whether another one may follow."""
    try:
        with t.frame.scope():
            bind_target(t, node.target, item)
            visit_block(t, node.body)
    except StaticContinue:
        return True
    except StaticBreak:
        return False
    return not t.frame.has_returned


def _parallel(
    t: Translator, nest: Nest, options: Mapping[str, int], loop_attributes: Mapping[str, Any]
) -> None:
    lower = [ex.as_index(low) for low, _ in nest.bounds] or [build.index(0)]
    upper = [ex.as_index(high) for _, high in nest.bounds] or [build.index(1)]
    attributes: dict[str, Any] = {
        name: ir.IntegerAttr.get(ir.IntegerType.get_signless(64), options[name])
        for name in ("block_dim", "parallelize")
        if options.get(name)
    }
    attributes |= loop_attributes
    shared = _share_outer_variables(t, nest.node)

    def body(indices: list[ir.Value]) -> None:
        t.in_parallel = True
        loop = Loop(parallel=True, live=Flag() if has_jump(nest.node.body) else None)
        t.frame.loops.append(loop)
        number = partial(_iteration_number, indices, lower, upper)
        scalars = [ex.from_index(i, d) for i, d in zip(indices, nest.dtypes)]
        threads = t.builder.threads(options.get("block_dim") or DEFAULT_BLOCK)
        with t.at_run_time(), t.builder.stream(number), threads, t.frame.scope():
            if_active(nest.active, scalars, lambda: _iteration(t, nest, scalars))
        t.frame.loops.pop()
        t.in_parallel = False

    parallel_op(lower, upper, body, attributes)
    for scope, name, variable, cell in shared:
        scope[name] = variable
        as_place(variable).store(cell.load())


def _iteration(t: Translator, nest: Nest, indices: list[Expr]) -> None:
    _bind_index(t, nest, nest.in_order(indices))
    visit_block(t, nest.node.body)


def _share_outer_variables(
    t: Translator, node: ast.For
) -> list[tuple[dict[str, Any], str, Variable | Place, Variable | Place]]:
    """Locals from outside that iterations update become shared cells; the others are read once,
    before the loop."""
    nodes = nodes_in(*node.body)
    updated = assigned_names(nodes, resolver(t.frame, nodes))
    shared: list[tuple[dict[str, Any], str, Variable | Place, Variable | Place]] = []
    for frame in t.frames:
        for scope in frame.scopes:
            for name, variable in list(scope.items()):
                if frame is t.frame and name in updated and is_unshared_local(variable):
                    cell = make_local(variable.load(), SharedVariable)
                    shared.append((scope, name, variable, cell))
                    scope[name] = cell
    return shared


def _serial(t: Translator, nest: Nest, attributes: Mapping[str, ir.Attribute]) -> None:
    """A nest of serial loops; several axes stay several loops. The outermost has attributes."""
    jumps = leaves_loop(nest.node.body)
    if jumps or isinstance(nest.step, Expr) or nest.step < 0:
        _while_form(t, nest)
        return
    stride = build.index(nest.step)

    def translate(axis: int, indices: list[Expr]) -> None:
        if axis == len(nest.bounds):
            loop = Loop(live=Flag() if has_jump(nest.node.body) else None)
            _serial_body(t, nest, indices, loop)
            return
        dtype = nest.dtypes[axis]
        low, high = (ex.as_index(bound) for bound in nest.bounds[axis])
        op = for_op(
            low,
            high,
            stride,
            lambda i: translate(axis + 1, [*indices, ex.from_index(i, dtype)]),
        )
        for name, value in attributes.items() if axis == 0 else ():
            op.attributes[name] = value

    translate(0, [])


def _serial_body(t: Translator, nest: Nest, indices: list[Expr], loop: Loop) -> None:
    t.frame.loops.append(loop)
    with t.at_run_time(), t.frame.scope():
        if_active(nest.active, indices, lambda: _iteration(t, nest, indices), is_serial=True)
    t.frame.loops.pop()


def _while_form(t: Translator, nest: Nest) -> None:
    """A loop that can end early: it runs while no iteration has left it."""
    step, running = nest.step, Flag()

    def translate(axis: int, indices: list[Expr]) -> None:
        if axis == len(nest.bounds):
            _serial_body(t, nest, indices, Loop(live=Flag(), running=running))
            return
        dtype = nest.dtypes[axis]
        # a step beyond the last index may be beyond the type
        counter = dtype if not isinstance(step, Expr) and abs(step) == 1 else i64
        low, stop, stride = [ex.cast(value, counter) for value in (*nest.bounds[axis], step)]
        slot = make_slot(counter)
        write_slot(slot, low.value)
        is_inside = _inside(step, stop, stride)

        def test() -> ir.Value:
            index = read_slot(slot, counter)
            return (is_inside(index) & Expr(running.read(), ex.u1)).value

        def body() -> None:
            index = read_slot(slot, counter)
            translate(axis + 1, [*indices, ex.cast(index, dtype)])
            write_slot(slot, (index + stride).value)

        while_op(test, body)

    translate(0, [])


def _inside(step: Expr | int, stop: Expr, stride: Expr) -> Callable[[Expr], Expr]:
    """The test whether an index comes before the end. A step of 0 never reaches it, so no index
    does: debug mode reports that."""
    if not isinstance(step, Expr):
        return lambda index: index < stop if step > 0 else index > stop
    if current().debug:
        field.assert_((stride != 0).value, "the step of a range is 0, so the loop would never end")
    rises, falls = stride > 0, stride < 0
    return lambda index: (rises & (index < stop)) | (falls & (index > stop))


@handles(ast.While)
def _while(t: Translator, node: ast.While) -> None:
    if node.orelse:
        raise TaichiSyntaxError(_NO_ELSE)
    if is_do_while(t, node):
        do_while(t, node)
        return
    running = Flag() if leaves_loop(node.body) else None

    def test() -> ir.Value:
        with t.at_run_time():
            condition = ex.truth(t.visit_value(node.test))
        value = ex.cast(condition, ex.u1)
        return (value if running is None else value & Expr(running.read(), ex.u1)).value

    def body() -> None:
        t.frame.loops.append(Loop(live=Flag() if has_jump(node.body) else None, running=running))
        with t.at_run_time(), t.frame.scope():
            visit_block(t, node.body)
        t.frame.loops.pop()

    while_op(test, body)


def _iteration_number(
    indices: Sequence[ir.Value], lower: Sequence[ir.Value], upper: Sequence[ir.Value]
) -> ir.Value:
    """The number of an iteration of a box, in row-major order, as i64."""
    result = build.index(0)
    for i, low, high in zip(indices, lower, upper):
        width = build.sub(high, low)
        result = build.add(build.mul(result, width), build.sub(i, low))
    return build.index_cast(result, mlir_type(i64))
