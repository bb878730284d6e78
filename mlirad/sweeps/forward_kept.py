"""Stacks and logs that an earlier reverse keeps: the tangents have their own."""

from __future__ import annotations

from mlirad.analysis.derivatives.activity import stack_of
from mlirad.dialect import grad
from mlirad.dialect.grad import log_parts
from mlirad.ir.graph import Node
from mlirad.ir.walk import attributes_of
from mlirad.sweeps.tangents import TangentSweep


def alloc(sweep: TangentSweep, node: Node) -> None:
    """A stack, and those of its tangents."""
    sweep.clone(node)
    stack = ("stack", node.results[0])
    if sweep.activity.is_active_local(stack):
        element = grad.stack_element(sweep.graph.values[node.results[0]].type)
        trips = sweep.env[node.operands[0]]
        sweep.arrays[stack] = [grad.alloc(element, trips) for _ in range(sweep.count)]


def push(sweep: TangentSweep, node: Node) -> None:
    """A value, and its tangents."""
    sweep.clone(node)
    for stack, tangent in zip(
        sweep.arrays.get(stack_of(node), []), sweep.tangents_of(node.operands[0])
    ):
        grad.push(tangent, stack, sweep.env[node.operands[2]])


def pop(sweep: TangentSweep, node: Node) -> None:
    """A value, and its tangents."""
    sweep.clone(node)
    if stack_of(node) in sweep.arrays and sweep.active(node.results):
        sweep.tangents[node.results[0]] = [
            grad.pop(stack, sweep.env[node.operands[1]]) for stack in sweep.arrays[stack_of(node)]
        ]


def free(sweep: TangentSweep, node: Node) -> None:
    """The end of the stacks."""
    sweep.clone(node)
    for stack in sweep.arrays.get(stack_of(node), []):
        grad.free(stack)


def open_(sweep: TangentSweep, node: Node) -> None:
    """A log, and those of its tangents."""
    sweep.clone(node)
    if sweep.activity.logged.get(node.results[0]) in sweep.arrays:
        log_arguments = log_parts(sweep.graph.values[node.results[0]].type)
        sweep.arrays["log", node.results[0]] = [
            grad.open_(*log_arguments) for _ in range(sweep.count)
        ]


def record(sweep: TangentSweep, node: Node) -> None:
    """An overwritten element, and its tangents."""
    sweep.clone(node)
    for log, tangent in zip(
        sweep.arrays.get(("log", node.operands[1]), []), sweep.tangents_of(node.operands[0])
    ):
        grad.record(tangent, log, sweep.values(node.operands[2:]), attributes_of(node.op))


def undo(sweep: TangentSweep, node: Node) -> None:
    """Logs of tangents are as long as the log of their primal: its marks are theirs."""
    sweep.clone(node)
    logs = sweep.arrays.get(("log", node.operands[0]), [])
    for log, array in zip(logs, sweep.arrays.get(sweep.activity.logged[node.operands[0]], [])):
        grad.undo(log, sweep.env[node.operands[1]], array, attributes_of(node.op))


def close(sweep: TangentSweep, node: Node) -> None:
    """The end of the logs."""
    sweep.clone(node)
    for log in sweep.arrays.get(("log", node.operands[0]), []):
        grad.close(log)
