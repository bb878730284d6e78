"""Accesses, and beside them those of the tangents of their elements."""

from __future__ import annotations

from mlirad.analysis.derivatives.activity import is_stopped
from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.ir import build as b
from mlirad.ir.graph import Node
from mlirad.ir.marks.rounding import round_like
from mlirad.sweeps.tangents import TangentSweep


def _element(sweep: TangentSweep, node: Node, array: ir.Value) -> tuple[ir.Value, list[ir.Value]]:
    return array, sweep.values(node.indices)


def load(sweep: TangentSweep, node: Node) -> None:
    """The element, and its tangents."""
    sweep.clone(node)
    if node.array in sweep.arrays and not is_stopped(node) and sweep.active(node.results):
        sweep.tangents[node.results[0]] = [
            field.load(*_element(sweep, node, array)) for array in sweep.arrays[node.array]
        ]


def store(sweep: TangentSweep, node: Node) -> None:
    """The store, and those of the tangents."""
    sweep.clone(node)
    for array, tangent in zip(
        sweep.arrays.get(node.array, []), sweep.tangents_of(node.operands[0])
    ):
        field.store(tangent, *_element(sweep, node, array))


def atomic(sweep: TangentSweep, node: Node) -> None:
    """A sum's tangents are sums. Other updates choose between tangents, which is done where
    nothing interferes."""
    if node.array not in sweep.arrays:
        sweep.clone(node)
        return
    kind = field.atomic_kind(node.op)
    if kind != field.AtomicKind.ADD:
        _combine(sweep, node, kind)
        return
    sweep.clone(node)
    result, is_read = node.results[0], bool(sweep.active(node.results)) and not is_stopped(node)
    if node.operands[0] not in sweep.tangents and not is_read:
        return
    results = [
        field.atomic(tangent, *_element(sweep, node, array))
        for array, tangent in zip(sweep.arrays[node.array], sweep.tangents_of(node.operands[0]))
    ]
    if is_read:
        sweep.tangents[result] = results


def _combine(sweep: TangentSweep, node: Node, kind: str) -> None:
    place = _element(sweep, node, sweep.env[node.array_value])
    old, value = field.load(*place), sweep.env[node.operands[0]]
    field.store(round_like(b.combine(kind, old, value), node.op), *place)
    sweep.env[node.results[0]] = old
    results = []
    for array, tangent in zip(sweep.arrays[node.array], sweep.tangents_of(node.operands[0])):
        slot = _element(sweep, node, array)
        before = field.load(*slot)
        field.store(_combined_tangent(kind, old, value, before, tangent), *slot)
        results.append(before)
    if not is_stopped(node):
        sweep.tangents[node.results[0]] = results


def alloca(sweep: TangentSweep, node: Node) -> None:
    """A local array, and as many for its tangents as there are directions."""
    sweep.clone(node)
    array = sweep.graph.values[node.results[0]]
    if array in sweep.activity.local and sweep.activity.is_active_local(array):
        sweep.arrays[array] = [node.op.clone().results[0] for _ in range(sweep.count)]


def _combined_tangent(
    kind: str, old: ir.Value, value: ir.Value, before: ir.Value, tangent: ir.Value
) -> ir.Value:
    """The tangent of what an update leaves, as `build.combine` computes it."""
    if kind == field.AtomicKind.EXCHANGE:
        return tangent
    if kind == field.AtomicKind.MUL:
        return b.addf(b.mulf(before, value), b.mulf(old, tangent))
    keeps = b.compare_floats(b.OGT if kind == field.AtomicKind.MAX else b.OLT, old, value)
    return b.select(keeps, before, tangent)
