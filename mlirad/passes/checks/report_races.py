"""Find parallel loops whose iterations read what others write, or what they update: their result
depends on the order in which a machine runs them.

Found are accesses whose affine indices show it, under no condition. A CPU runs the iterations of
one row in order, a GPU none. What was found is left in the module's `field.warnings`.
"""

from __future__ import annotations

from mlirad.analysis.races.overwrite import Overwrites, Place, overwrites_of
from mlirad.analysis.trips import certainly_runs
from mlirad.bindings import ir
from mlirad.dialect.field import is_load
from mlirad.ir.graph import Node, graph_of
from mlirad.ir.reports.location import source_location
from mlirad.ir.reports.loop_names import loop_name
from mlirad.ir.reports.message import Message, add_warnings
from mlirad.ir.reports.remarks import shown_array, shown_place
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import functions

REQUIRES = KERNELS
ONLY_MARKS = True


def report_races(module: ir.Operation) -> None:
    """Report each read of an element that another iteration writes."""
    messages = [
        message
        for function in functions(module)
        if not is_private(function)
        for message in _messages_of(function)
    ]
    add_warnings(module, messages)


def _messages_of(function: ir.Operation) -> list[Message]:
    graph = graph_of(function)
    overwrites = overwrites_of(graph)
    messages = []
    for loop in graph.nodes():
        if is_parallel(loop):
            accesses = [node for node in loop.walk() if node.is_access]
            depth = loop.block.depth
            shared = [node for node in accesses if graph.depth_of(node.array_value) <= depth]
            writes = [node for node in shared if not is_load(node)]
            for load in (node for node in shared if is_load(node)):
                meeting = (write for write in writes if _meet(overwrites, load, write, loop))
                write = next(meeting, None)
                if write is not None:
                    messages.append(_message(load, write, loop_name(loop.op)))
    return messages


def _meet(overwrites: Overwrites, load: Node, write: Node, loop: Node) -> bool:
    return (
        load.array == write.array
        and all(_is_certain(access, loop) for access in (load, write))
        and overwrites.judge(load, write)[0] is Place.OTHER_ITERATION
    )


def _is_certain(node: Node, loop: Node) -> bool:
    """Return whether an access runs in every iteration."""
    return all(certainly_runs(owner.op) for owner in node.owners_within(loop))


def _message(load: Node, write: Node, name: str | None) -> Message:
    loop = "loop" if name is None else f"loop {name!r}"
    text = (
        f"{shown_array(load.array)} is read here and written by another iteration of the same "
        f"parallel {loop}, at {shown_place(write.op)}: what is read depends on the machine, and on "
        "the run (put ti.loop_config(serialize=True) before the loop, or write to another field)"
    )
    return Message(text, source_location(load.op.location))
