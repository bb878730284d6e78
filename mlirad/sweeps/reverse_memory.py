"""Accesses reversed: adjoints of elements, and of what is written to them."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import AtomicKind, atomic_kind, replaces
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.graph import Node
from mlirad.ir.reports.location import source_location
from mlirad.sweeps.adjoints import Adjoints, AdjointSweep
from mlirad.sweeps.recompute import Environment

Element = tuple[ir.Value, list[ir.Value]]


def _element(sweep: AdjointSweep, node: Node, env: Environment) -> Element:
    return sweep.arrays[node.array], [env[i] for i in node.indices]


def load(sweep: AdjointSweep, node: Node, env: Environment, adj: Adjoints) -> None:
    """An update of the element's adjoint."""
    adjoint = adj.pop(node.results[0], None)
    if adjoint is not None and node.array in sweep.arrays:
        field.atomic(adjoint, *_element(sweep, node, env))


def store(sweep: AdjointSweep, node: Node, env: Environment, adj: Adjoints) -> None:
    """The element's adjoint is that of the value, and is 0 before."""
    element = _element(sweep, node, env)
    if node.operands[0] in sweep.activity.varied:
        sweep.add(adj, node.operands[0], field.load(*element))
    field.store(sweep.zero(node.operands[0]), *element)


def atomic(sweep: AdjointSweep, node: Node, env: Environment, adj: Adjoints) -> None:
    """The update, then the value before it, which is a load."""
    type_ = sweep.graph.values[node.operands[0]].type
    element = _element(sweep, node, env)
    kind = atomic_kind(node.op)
    is_active = node.operands[0] in sweep.activity.varied
    if kind == AtomicKind.ADD:
        if is_active:
            sweep.add(adj, node.operands[0], field.load(*element))
    elif kind in (AtomicKind.MIN, AtomicKind.MAX) and not sweep.needed.moves_memory(node):
        claimed = _claim(sweep, node, env, type_, element)
        if is_active:
            sweep.add(adj, node.operands[0], claimed)
    elif kind in (AtomicKind.MIN, AtomicKind.MAX, AtomicKind.MUL):
        _combine(sweep, node, env, adj, kind, element)
    elif replaces(node.op):
        store(sweep, node, env, adj)
    else:
        raise TaichiCompilationError(
            f"atomic_{kind} on a field with a gradient cannot be differentiated",
            source_location(node.op.location),
        )
    old = adj.pop(node.results[0], None)
    if old is not None:
        field.atomic(old, *element)


def _claim(
    sweep: AdjointSweep, node: Node, env: Environment, type_: ir.Type, element: Element
) -> ir.Value:
    """All of the adjoint for the one iteration that supplied the value in memory, nothing for
    the others."""
    zero = b.number(0.0, type_)
    final = field.load(env[node.array_value], element[1])
    supplied = b.compare_floats(b.OEQ, final, env[node.operands[0]])
    claim = b.if_else(supplied, [type_])
    with ir.InsertionPoint(claim.then):
        b.yield_([field.atomic(zero, *element, kind=AtomicKind.EXCHANGE)])
    with ir.InsertionPoint(claim.otherwise):
        b.yield_([zero])
    return claim.results[0]


def _combine(
    sweep: AdjointSweep, node: Node, env: Environment, adj: Adjoints, kind: str, element: Element
) -> None:
    """An update whose value before is at hand: a product, or a choice whose tie goes to the new
    value."""
    if node not in sweep.undo.old:
        raise TaichiCompilationError(
            f"the reverse of atomic_{kind} needs the values that it overwrites: run "
            "check-access-rules first",
            source_location(node.op.location),
        )
    value, old = env[node.operands[0]], sweep.undo.old[node]
    adjoint = field.load(*element)
    if kind == AtomicKind.MUL:
        to_value, to_old = (b.mulf(adjoint, other) for other in (old, value))
    else:
        keeps = b.compare_floats(b.OGT if kind == AtomicKind.MAX else b.OLT, old, value)
        zero = b.number(0.0, value.type)
        to_value = b.select(keeps, zero, adjoint)
        to_old = b.select(keeps, adjoint, zero)
    if node.operands[0] in sweep.activity.varied:
        sweep.add(adj, node.operands[0], to_value)
    field.store(to_old, *element)
