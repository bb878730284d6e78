"""The driver's graphs in the stub: a row of launches, with copies of their arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mlirad.runtime.cuda.constants import CUresult
from mlirad.runtime.cuda.sequences.driver_graph import NodeParameters

if TYPE_CHECKING:
    from runtime.cuda.stub import Stub

_FIRST = 0x70000


@dataclass
class Node:
    """A launch of a kernel: its handle, sizes, and the values of its arguments."""

    function: int
    sizes: Sequence[int]
    given: Sequence[bytes]


@dataclass
class Graph:
    """Nodes in order, by handle."""

    nodes: dict[int, Node] = field(default_factory=dict)


class Graphs:
    """The graphs that a stub was asked for, and those that can be launched."""

    def __init__(self, stub: Stub) -> None:
        self._stub = stub
        self.graphs: dict[int, Graph] = {}
        self.executables: dict[int, Graph] = {}
        self._handles = _FIRST

    def _handle(self) -> int:
        self._handles += 1
        return self._handles

    def _node(self, place: int) -> Node:
        parameters = NodeParameters.from_address(place)
        assert not parameters.extra and not parameters.kern and not parameters.ctx
        function, sizes = parameters.func, tuple(parameters.sizes)
        self._stub.check_sizes(sizes)
        return Node(function, sizes, self._stub.arguments_of(function, parameters.kernelParams))

    def create(self) -> int:
        """A graph without nodes."""
        handle = self._handle()
        self.graphs[handle] = Graph()
        return handle

    def add(self, graph: int, before: int, count: int, place: int) -> int:
        """A node behind another."""
        nodes = self.graphs[graph].nodes
        behind = [*(ctypes.c_void_p * count).from_address(before)] if count else []
        assert behind == list(nodes)[-1:], "nodes that may run at once"
        handle = self._handle()
        nodes[handle] = self._node(place)
        return handle

    def instantiate(self, graph: int) -> int:
        """One that can be launched."""
        handle = self._handle()
        self.executables[handle] = Graph(dict(self.graphs[graph].nodes))
        return handle

    def set_parameters(self, executable: int, node: int, place: int) -> None:
        """Other arguments for launches from now on."""
        nodes = self.executables[executable].nodes
        changed = self._node(place)
        if (changed.function, changed.sizes) != (nodes[node].function, nodes[node].sizes):
            self._stub.mistakes.append("other kernels, or sizes, than those of a node")
            self._stub.refuse(CUresult.CUDA_ERROR_INVALID_VALUE)
        nodes[node] = changed

    def launch(self, executable: int) -> None:
        """All nodes, as they are now."""
        for node in list(self.executables[executable].nodes.values()):
            self._stub.launch_later(node.function, node.sizes, node.given)

    def kernels(self) -> set[int]:
        """Those that can still be launched."""
        return {node.function for one in self.executables.values() for node in one.nodes.values()}
