"""Loops whose iterations may be reversed in any order."""

from __future__ import annotations

from mlirad.analysis.derivatives.activity import Activity
from mlirad.analysis.derivatives.needed import NeededValues
from mlirad.analysis.linear import linear_form
from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind, atomic_kind, is_atomic, is_load, is_store
from mlirad.ir.graph import Graph, Node
from mlirad.ir.ops import Arith
from mlirad.ir.walk import is_defined_in


def any_order(graph: Graph, activity: Activity, needed: NeededValues, loop: Node) -> bool:
    """Return whether adjoints pass from one iteration of `scf.for` to another only through sums.

    So it is where carried values are sums (`c + something` without c), where no history is needed,
    where elements that are stored are touched once, and where an array is either read or added to:
    the adjoint of a read is an addition to what the adjoint of an update reads.
    """
    if needed.moves_memory(loop):
        return False
    body = loop.blocks[0]
    for position, argument in enumerate(body.arguments[1:]):
        if argument in needed.saved:
            return False
        if argument in activity.active and not _is_sum(
            loop, argument, body.terminator.operands[position]
        ):
            return False
    work = [n for n in loop.walk() if n in needed.work]
    stores = [n for n in work if is_store(n)]
    updates = [n for n in work if is_atomic(n)]
    stored, updated = {n.array for n in stores}, {n.array for n in updates}
    loaded = {n.array for n in work if is_load(n)}
    if stored & (loaded | updated) or loaded & updated or len(stores) != len(stored):
        return False
    if any(not _is_addition(n) or n.results[0] in activity.active for n in updates):
        return False
    iv = graph.values[body.arguments[0]]
    return all(_moves(graph, loop, node, iv) for node in stores)


def _is_addition(update: Node) -> bool:
    return atomic_kind(update.op) == AtomicKind.ADD


def _is_sum(loop: Node, argument: int, result: int) -> bool:
    """Return whether a carried value only has something added to it, and is used for nothing
    else."""
    users = [n for n in loop.walk() if argument in n.operands]
    if result == argument:
        return len(users) == 1
    return (
        len(users) == 1
        and users[0].block is loop.blocks[0]
        and _is_sum_step(loop, users[0], result)
    )


def _is_sum_step(loop: Node, user: Node, result: int) -> bool:
    if user.name not in (Arith.ADDF, Arith.SUBF):
        return False
    if user.name == Arith.SUBF and user.operands[1] in loop.blocks[0].arguments:
        return False
    value = user.results[0]
    users = [n for n in loop.walk() if value in n.operands]
    if len(users) != 1 or user.operands.count(user.operands[0]) > 1:
        return False
    if users[0] is loop.blocks[0].terminator:
        return value == result
    return (
        users[0].block is loop.blocks[0]
        and _is_addition_of(users[0], value)
        and _is_sum_step(loop, users[0], result)
    )


def _is_addition_of(user: Node, value: int) -> bool:
    if user.name == Arith.SUBF:
        return user.operands[0] == value and user.operands[1] != value
    return user.name == Arith.ADDF


def _moves(graph: Graph, loop: Node, node: Node, iv: ir.Value) -> bool:
    """Return whether every iteration stores to another element."""
    if node.block is not loop.blocks[0]:
        return False
    for index in node.indices:
        form = linear_form(graph.values[index])
        if form.coefficient(iv) and all(
            not is_defined_in(leaf, loop.op) for leaf in form.without(iv).names
        ):
            return True
    return False
