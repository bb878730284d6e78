"""The step of a checkpointed loop that runs now, as what it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.ad.checkpoint.actions import (
    Action,
    LaunchAgain,
    LaunchAlone,
    LaunchOnArrays,
    WriteAgain,
    checksums,
)
from mlirad.ad.tape.entries import box_of, memory_of
from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.lang.recorder import LaunchedKernel, Target
from mlirad.runtime.memory.memory import Index
from mlirad.runtime.variant import Variant


class CurrentStep:
    """Actions with their arguments; a write from Python is one once it is written."""

    def __init__(self) -> None:
        self.actions: list[tuple[Action, tuple[Any, ...]]] = []
        self._writing: tuple[Target, Index | None] | None = None

    def take(self) -> list[tuple[Action, tuple[Any, ...]]]:
        """What was done; from now on, nothing."""
        actions, self.actions = self.actions, []
        return actions

    def do(self, action: Action, *arguments: object) -> None:
        """Something is done."""
        self.actions.append((action, arguments))

    def launch(
        self,
        kernel: LaunchedKernel,
        piece: Variant,
        values: Sequence[Any],
        buffers: tuple[ArrayBuffer, ...],
    ) -> None:
        """One of the pieces of a kernel is launched."""
        if buffers:
            self.do(LaunchOnArrays(kernel, piece), *values, buffers)
        else:
            self.do(LaunchAgain(kernel, piece), *values)

    def launch_alone(
        self,
        kernel: LaunchedKernel,
        variant: Variant,
        values: Sequence[Any],
        buffers: tuple[ArrayBuffer, ...],
    ) -> None:
        """A kernel is launched inside a function with a gradient of its own, or with none."""
        self.do(LaunchAlone(kernel, variant), *values, buffers, checksums(buffers))

    def write(self, target: Target, index: Index | None) -> None:
        """Python is about to write."""
        self._writing = target, index

    def finish_write(self) -> None:
        """What Python was about to write is written."""
        if self._writing is None:
            return
        (target, index), self._writing = self._writing, None
        elements = memory_of(target)[1]
        data = elements.read(box_of(elements, index))
        value = data.item() if data.size == 1 else data
        rank = None if index is None else len(index)
        self.do(WriteAgain(target, rank), *(index or ()), value)
