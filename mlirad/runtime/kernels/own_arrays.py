"""Arrays that launches make for themselves: what a kernel computes on its way and nobody else
sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from mlirad.kernel.module import OwnArray
from mlirad.runtime.executor.executor import Code, PassedArray
from mlirad.runtime.memory.memory import Memory

Extents = tuple[tuple[int, ...], ...]


class MadeArray:
    """An array of a launch: memory of the program's machine."""

    host = None

    def __init__(self, memory: Memory, declared: OwnArray, extents: tuple[int, ...]) -> None:
        self.dims = extents
        self._allocation, elements = memory.array(declared.dtype.numpy, extents)
        self.address = elements.address

    def adjoint(self) -> NoReturn:
        """Raise AssertionError."""
        raise AssertionError("an array of a launch's own has no adjoint")

    def tangent(self, number: int) -> NoReturn:
        """Raise AssertionError."""
        raise AssertionError("an array of a launch's own has no tangents")


class CodeWithOwnArrays(Code):
    """Code that is passed arrays of its own behind the arguments of a launch. Arrays of the last
    extents wait for the next launch: as many as there were launches at once."""

    def __init__(self, code: Code, own_arrays: Sequence[OwnArray], memory: Memory) -> None:
        self.messages = code.messages
        self._code, self._own, self._memory = code, own_arrays, memory
        self._extents: Extents = ()
        self._waiting: list[list[MadeArray]] = []

    def launch(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> tuple[Any, ...]:
        extents = tuple([array.extents(values) for array in self._own])
        if extents != self._extents:
            self._extents, self._waiting = extents, []
        waiting = self._waiting
        try:
            own_arrays = waiting.pop()
        except IndexError:
            own_arrays = [MadeArray(self._memory, *pair) for pair in zip(self._own, extents)]
        results = self._code.launch([*values, *[None] * len(own_arrays)], [*arrays, *own_arrays])
        waiting.append(own_arrays)
        return results

    def ran_last_with(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> bool:
        """Return False: reverses of such kernels are run by tapes, which do not ask."""
        return False
