"""A row of launches as a graph of the driver's, each behind the one before."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from mlirad.runtime.cuda.functions import Functions
from mlirad.runtime.cuda.sequences.queue import HEAD, Noted


class NodeParameters(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2, as cuda.h has it."""

    _fields_ = [
        ("func", ctypes.c_void_p),
        ("sizes", ctypes.c_uint * 7),  # of the grid, of a block, of shared memory
        ("kernelParams", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kern", ctypes.c_void_p),
        ("ctx", ctypes.c_void_p),
    ]


class RefusedError(Exception):
    """The result of the driver."""

    def __init__(self, result: int) -> None:
        super().__init__(result)
        self.result = result


class DriverGraph:
    """An executable graph, for launches whose words it has. Raises RefusedError, as all of its
    methods do. The context is current."""

    def __init__(self, functions: Functions, noted: Sequence[Noted], words: bytes) -> None:
        self._functions = functions
        self.words = words
        self.kernels = frozenset(launch.function for launch in noted)
        self._graph, self._executable = ctypes.c_void_p(), ctypes.c_void_p()
        self._nodes: list[ctypes.c_void_p] = []
        self._ask("cuGraphCreate", ctypes.byref(self._graph), 0)
        try:
            for launch in noted:
                self._add(launch)
            self._ask("cuGraphInstantiateWithFlags", ctypes.byref(self._executable), self._graph, 0)
        except RefusedError:
            self.destroy()
            raise

    def _ask(self, name: str, *arguments: object) -> None:
        result = self._functions[name](*arguments)
        if result:
            raise RefusedError(result)

    def _add(self, launch: Noted) -> None:
        node, before = ctypes.c_void_p(), self._nodes[-1:]
        behind = ctypes.byref(before[0]) if before else None
        parameters = ctypes.byref(_parameters(launch))
        name = "cuGraphAddKernelNode_v2"
        self._ask(name, ctypes.byref(node), self._graph, behind, len(before), parameters)
        self._nodes.append(node)

    def fits(self, noted: Sequence[Noted], words: bytes) -> list[int] | None:
        """Return the numbers of the launches whose arguments are others; None if that is not all
        that differs."""
        if len(words) != len(self.words) or len(noted) != len(self._nodes):
            return None
        now, then = np.frombuffer(words, np.int64), np.frombuffer(self.words, np.int64)
        places = np.flatnonzero(now != then)
        starts = np.array([launch.at for launch in noted])
        numbers = np.searchsorted(starts, places, "right") - 1
        arities = np.array([launch.arity for launch in noted])
        if (places < starts[numbers] + HEAD + arities[numbers]).any():
            return None
        return [int(number) for number in np.unique(numbers)]

    def update(self, noted: Sequence[Noted], numbers: Sequence[int], words: bytes) -> None:
        """Take other arguments for some launches."""
        self.words = b""
        for number in numbers:
            parameters = ctypes.byref(_parameters(noted[number]))
            name, node = "cuGraphExecKernelNodeSetParams_v2", self._nodes[number]
            self._ask(name, self._executable, node, parameters)
        self.words = words

    def launch_call(self, stream: int) -> Callable[[], int]:
        """Return the call that launches all."""
        return partial(self._functions["cuGraphLaunch"], self._executable, stream)

    def destroy(self) -> None:
        """Give it back: what runs ends before."""
        if self._executable.value is not None:
            self._functions["cuGraphExecDestroy"](self._executable)
        if self._graph.value is not None:
            self._functions["cuGraphDestroy"](self._graph)
        self._graph, self._executable = ctypes.c_void_p(), ctypes.c_void_p()


def _parameters(launch: Noted) -> NodeParameters:
    sizes = (ctypes.c_uint * 7)(*launch.sizes)
    return NodeParameters(launch.function, sizes, launch.arguments, None, None, None)
