"""The step of a checkpointed loop that runs now, as what it does."""

from __future__ import annotations

from typing import Any

from mlirad.ad.checkpoint.actions import (
    Action,
    LaunchAgain,
    LaunchAlone,
    LaunchOnArrays,
    WriteAgain,
    checksums,
)
from mlirad.ad.recording.target_memory import box_of, memory_of
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.recorder import Target
from mlirad.runtime.memory.memory import Index


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

    def launch(self, launch: Launch) -> None:
        """A part of a kernel is launched."""
        if launch.arrays:
            self.do(LaunchOnArrays(launch.kernel, launch.variant), *launch.values, launch.arrays)
        else:
            self.do(LaunchAgain(launch.kernel, launch.variant), *launch.values)

    def launch_alone(self, launch: Launch) -> None:
        """A kernel is launched inside a function with a gradient of its own, or with none."""
        action, arrays = LaunchAlone(launch.kernel, launch.variant), launch.arrays
        self.do(action, *launch.values, arrays, checksums(arrays))

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
